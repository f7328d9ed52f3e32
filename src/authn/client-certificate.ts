/** Authenticates client certificates: the common name is the user, organizations are groups, and the subject may contain a uid. */
import { goPrint } from '../lib/go-text.ts'
import { podOfUnits } from '../lib/pod-unit.ts'
import { readAccountUser } from '../lib/service-account-name.ts'
import type { User } from '../schema/user.ts'
import { ClaimError, checkStillThere, type FindBound, podExtra } from './account-claims.ts'
import { type Authentication, type Authenticator, type ClientCertificate, CREDENTIAL_ID, type Credentials } from './authenticator.ts'

export type CertificateParts = {
  readonly now: () => number
  readonly find: FindBound
  /** Whether the UID of a user is taken from the certificate; by default it is. */
  readonly hasUids?: boolean
  /** Called with the remaining validity of a request's certificate, in milliseconds. */
  readonly seen?: (remainingMs: number) => void
}

/** Connections can outlast certificates, and certificates the objects they were issued for, so all of it is checked at every request. */
export class CertificateAuthenticator implements Authenticator {
  readonly #parts: CertificateParts
  readonly #users = new WeakMap<ClientCertificate, User>()

  constructor(parts: CertificateParts) {
    this.#parts = parts
  }

  authenticate({ certificate }: Credentials): Authentication {
    if (certificate === undefined) return { outcome: 'none' }
    if (!certificate.trusted) return { outcome: 'invalid', reason: certificate.problem ?? 'x509: certificate signed by unknown authority' }
    const now = this.#parts.now()
    this.#parts.seen?.(certificate.notAfter - now)
    if (now < certificate.notBefore || now > certificate.notAfter)
      return { outcome: 'invalid', reason: 'client certificate has expired or is not yet valid' }
    if (certificate.commonName === '') return { outcome: 'none' }
    const { hasUids = true } = this.#parts
    const [uid, ...more] = certificate.uids
    if (hasUids && more.length > 0)
      return { outcome: 'invalid', reason: `expected 1 UID, but found multiple: ${goPrint([...certificate.uids])}` }
    if (hasUids && uid === '') return { outcome: 'invalid', reason: 'UID cannot be an empty string' }
    const problem = uid === undefined ? undefined : this.#problemOfAccount(certificate, uid)
    if (problem !== undefined) return { outcome: 'invalid', reason: problem }
    let user = this.#users.get(certificate)
    if (user === undefined) this.#users.set(certificate, (user = userOf(certificate, uid, hasUids)))
    return { outcome: 'user', user }
  }

  /**
   * Why a certificate of a service account is no longer valid. kube-apiserver accepts a certificate until it expires; since this server
   * signs the certificates of pods, they end with the account and the pod here, as tokens do. A certificate without a uid cannot be about
   * an account that was replaced: its approver meant the name.
   */
  #problemOfAccount({ commonName, units = [] }: ClientCertificate, uid: string): string | undefined {
    const named = readAccountUser(commonName)
    if (!named) return undefined
    const { now, find } = this.#parts
    try {
      checkStillThere({ namespace: named.namespace, account: { name: named.name, uid }, pod: podOfUnits(units) }, { now: now(), find })
      return undefined
    } catch (error) {
      if (error instanceof ClaimError) return error.message
      throw error
    }
  }
}

function userOf(
  { commonName: name, organizations: groups, sha256, units = [] }: ClientCertificate,
  uid: string | undefined,
  hasUid: boolean,
): User {
  const pod = uid === undefined || !readAccountUser(name) ? undefined : podOfUnits(units)
  return {
    name,
    groups,
    ...(hasUid && uid !== undefined && { uid }),
    extra: { [CREDENTIAL_ID]: [`X509SHA256=${sha256}`], ...(pod && podExtra(pod)) },
  }
}
