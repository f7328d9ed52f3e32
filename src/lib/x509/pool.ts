/** A set of certificates in which issuers are looked up. Certificates are parsed when first needed. */
import { pemBlocks } from '../pem.ts'
import { type Certificate, readCertificate, subjectIn } from './certificate.ts'
import { DerError } from './der-reader.ts'

type Entry = { readonly der: Buffer; read?: Certificate | 'unreadable' }

export class CertificatePool {
  readonly #bySubject = new Map<string, Entry[]>()

  /** Certificates that cannot be parsed are left out. */
  constructor(certificates: Iterable<Buffer>) {
    for (const der of certificates) {
      const subject = subjectIn(der)
      if (subject === undefined) continue
      const same = this.#entriesOf(subject)
      if (same.some(entry => entry.der.equals(der))) continue
      this.#bySubject.set(keyOf(subject), [...same, { der }])
    }
  }

  has({ subject, raw }: Certificate): boolean {
    return this.#entriesOf(subject).some(({ der }) => der.equals(raw))
  }

  /** The possible issuers of a certificate by name, the most likely first. Only the signature proves that one is the issuer. */
  issuersOf({ issuer, authorityKeyId }: Certificate): Certificate[] {
    const named = this.#entriesOf(issuer).flatMap(entry => certificateOf(entry) ?? [])
    if (named.length < 2) return named
    const rank = ({ subjectKeyId }: Certificate): number => {
      const [asked, own] = [authorityKeyId?.length ?? 0, subjectKeyId?.length ?? 0]
      if (asked === 0 || own === 0) return asked === own ? 0 : 1
      return authorityKeyId!.equals(subjectKeyId!) ? 0 : 2
    }
    return named.sort((a, b) => rank(a) - rank(b))
  }

  #entriesOf(subject: Buffer): Entry[] {
    return this.#bySubject.get(keyOf(subject)) ?? []
  }
}

const keyOf = (name: Buffer): string => name.toString('latin1')

function certificateOf(entry: Entry): Certificate | undefined {
  if (entry.read === undefined)
    try {
      entry.read = readCertificate(entry.der)
    } catch (error) {
      if (!(error instanceof DerError)) throw error
      entry.read = 'unreadable'
    }
  return entry.read === 'unreadable' ? undefined : entry.read
}

/** The certificates of a string in PEM. */
export function poolOfPem(pem: string): CertificatePool {
  const { blocks } = pemBlocks(pem)
  return new CertificatePool(blocks.filter(({ label, headers }) => label === 'CERTIFICATE' && headers.size === 0).map(({ bytes }) => bytes))
}
