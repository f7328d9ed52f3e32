/** Certificates that expire: of the server, of files and in objects. */
import { X509Certificate } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Check, Finding, Fix, NamedCertificate } from './findings.ts'

const DAY = 24 * 3600_000
/** Those of the server are renewed long before; somebody has to have time for the others. */
const SOON_MS = 30 * DAY

const PEM = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

/** The certificates in a text. One that cannot be read is left out: whoever uses it says so. */
export function certificatesIn(name: string, text: string): NamedCertificate[] {
  return (text.match(PEM) ?? []).flatMap(pem => {
    try {
      const { subject, validFrom, validTo } = new X509Certificate(pem)
      const iso = (date: string) => new Date(date).toISOString()
      return [{ name, subject: subject.replaceAll('\n', ', '), notBefore: iso(validFrom), notAfter: iso(validTo) }]
    } catch {
      return []
    }
  })
}

/** The certificates in the folder pki of a data directory. */
export function certificatesOf(dataDir: string): NamedCertificate[] {
  const folder = join(dataDir, 'pki')
  try {
    return readdirSync(folder)
      .filter(name => name.endsWith('.pem'))
      .sort()
      .flatMap(name => certificatesIn(`pki/${name}`, readFileSync(join(folder, name), 'utf8')))
  } catch {
    return []
  }
}

export type ExpiryParts = { readonly check?: Check; readonly advice?: string; readonly fix?: Fix }

/** Certificates that have expired, soon will, or are not valid yet. */
export function expiryFindings(certificates: readonly NamedCertificate[], now: Date, parts: ExpiryParts = {}): Finding[] {
  const { check = 'certificates', ...more } = parts
  return certificates.flatMap(({ name, subject, notBefore, notAfter }): Finding[] => {
    const left = Date.parse(notAfter) - now.getTime()
    const about = { check, subject: name, ...more }
    if (left <= 0) return [{ ...about, level: 'problem', message: `the certificate of ${subject} expired on ${notAfter}` }]
    if (Date.parse(notBefore) > now.getTime())
      return [{ ...about, level: 'problem', message: `the certificate of ${subject} is not valid before ${notBefore}` }]
    if (left > SOON_MS) return []
    return [
      { ...about, level: 'warning', message: `the certificate of ${subject} expires in ${Math.floor(left / DAY)} days, on ${notAfter}` },
    ]
  })
}
