/** Users by client certificate: the common name is the user, organizations are groups, and the subject may carry a uid. */
import { goPrint } from '../lib/go-text.ts'
import type { User } from '../schema/user.ts'
import { type Authentication, type Authenticator, type ClientCertificate, CREDENTIAL_ID, type Credentials } from './authenticator.ts'

/** Connections can outlast certificates, so the dates are checked at every request. */
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
    const [uid, ...more] = certificate.uids
    if (more.length > 0) return { outcome: 'invalid', reason: `expected 1 UID, but found multiple: ${goPrint([...certificate.uids])}` }
    if (uid === '') return { outcome: 'invalid', reason: 'UID cannot be an empty string' }
    let user = this.#users.get(certificate)
    if (user === undefined) this.#users.set(certificate, (user = userOf(certificate, uid)))
    return { outcome: 'user', user }
  }
}

const userOf = ({ commonName: name, organizations: groups, sha256 }: ClientCertificate, uid: string | undefined): User => ({
  name,
  groups,
  ...(uid !== undefined && { uid }),
  extra: { [CREDENTIAL_ID]: [`X509SHA256=${sha256}`] },
})
