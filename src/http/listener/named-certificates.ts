/** Certificates for certain names of the server: which one a handshake presents, as Go's TLS chooses. */
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { SecureContext } from 'node:tls'
import type { TlsMaterial } from './listen.ts'

/** A certificate and its key, in PEM, and the names it is for; none for those in the certificate. */
export type NamedCertificate = { readonly cert: string; readonly key: string; readonly names: readonly string[] }

export class NamedContexts {
  readonly #usual: TlsMaterial
  readonly #byName = new Map<string, TlsMaterial>()
  readonly #all: readonly { readonly material: TlsMaterial; readonly certificate: X509Certificate }[]
  readonly #contexts = new Map<TlsMaterial, SecureContext>()
  readonly #contextOf: (material: TlsMaterial) => SecureContext
  readonly #hasAddresses: boolean
  #presented: TlsMaterial

  constructor(usual: TlsMaterial, contextOf: (material: TlsMaterial) => SecureContext) {
    this.#usual = usual
    this.#presented = usual
    this.#contextOf = contextOf
    const named = (usual.named ?? []).map(({ cert, key, names }) => {
      const certificate = new X509Certificate(cert)
      return { material: { ...usual, cert, key }, certificate, names }
    })
    this.#all = [{ material: usual, certificate: new X509Certificate(usual.cert) }, ...named]
    // Given names take precedence over those in certificates, and earlier certificates over later ones.
    for (const { material, certificate, names } of named.toReversed())
      if (names.length === 0) for (const name of namesIn(certificate)) this.#byName.set(name, material)
    for (const { material, names } of named.toReversed()) for (const name of names) this.#byName.set(name, material)
    this.#hasAddresses = [...this.#byName.keys()].some(name => isIP(name) !== 0)
  }

  /** The context for a client that names the server. */
  ofName(name: string): SecureContext {
    const lower = name.toLowerCase()
    const found = this.#byName.get(lower) ?? this.#byName.get(['*', ...lower.split('.').slice(1)].join('.'))
    return this.#context(found ?? this.#all.find(({ certificate }) => certificate.checkHost(lower))?.material ?? this.#usual)
  }

  /** The certificate for the next handshake of a client that names no server; undefined if it is the same as for the previous one. */
  ofAddress(address: string): TlsMaterial | undefined {
    if (!this.#hasAddresses) return undefined
    const next = this.#byName.get(address.replace(/^::ffff:(?=\d+\.)/, '')) ?? this.#usual
    if (next === this.#presented) return undefined
    this.#presented = next
    return next
  }

  #context(material: TlsMaterial): SecureContext {
    let context = this.#contexts.get(material)
    if (context === undefined) this.#contexts.set(material, (context = this.#contextOf(material)))
    return context
  }
}

/** The DNS names in a certificate: its common name, unless that is an address, and its alternative names. */
function namesIn({ subject, subjectAltName = '' }: X509Certificate): string[] {
  const [, common = ''] = /^CN=(.*)$/m.exec(subject) ?? []
  const isName = isIP(common) === 0 && (common === '*' || HOST.test(common.replace(/^\*\./, '')))
  return [...(isName ? [common] : []), ...[...subjectAltName.matchAll(/(?:^|, )DNS:([^,]+)/g)].map(([, name = '']) => name)]
}

const HOST = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
