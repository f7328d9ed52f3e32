/** Users by client certificate: the common name is the user, organisations are groups, and the subject may carry a uid. */
import type { User } from '../schema/kind.ts'
import type { Authentication, Authenticator, Credentials } from './authenticator.ts'

/** What a connection knows of its client's certificate. */
export type ClientCertificate = {
  /** Whether the client certificate authority vouched for it in the handshake. */
  readonly trusted: boolean
  readonly commonName: string
  readonly organizations: readonly string[]
  readonly uid?: string
  /** Milliseconds since the epoch between which it holds. */
  readonly notBefore: number
  readonly notAfter: number
}

/** Connections outlive certificates, so the dates are checked at every request. */
export class CertificateAuthenticator implements Authenticator {
  readonly #now: () => number
  readonly #users = new WeakMap<ClientCertificate, User>()

  constructor(now: () => number) {
    this.#now = now
  }

  authenticate({ certificate }: Credentials): Authentication {
    if (certificate === undefined) return { outcome: 'none' }
    if (!certificate.trusted) return { outcome: 'invalid', reason: 'client certificate is not signed by a trusted authority' }
    const now = this.#now()
    if (now < certificate.notBefore || now > certificate.notAfter)
      return { outcome: 'invalid', reason: 'client certificate has expired or is not yet valid' }
    if (certificate.commonName === '') return { outcome: 'none' }
    const { commonName: name, organizations: groups, uid } = certificate
    let user = this.#users.get(certificate)
    if (user === undefined) this.#users.set(certificate, (user = { name, groups, ...(uid !== undefined && { uid }) }))
    return { outcome: 'user', user }
  }
}
