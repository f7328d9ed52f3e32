/** The credential behind a session: kept from the login, and authenticated again at every use. */
import type { Authenticator, Cancellable, ClientCertificate } from '../../authn/authenticator.ts'
import { type MaybePromise, whenDone } from '../../lib/maybe-promise.ts'
import type { User } from '../../schema/user.ts'

/** A bearer token or a client certificate; plain JSON, since processes of one server hand it to each other. */
export type Credential = { readonly authorization?: string; readonly certificate?: ClientCertificate }

export const tokenCredential = (token: string): Credential => ({ authorization: `Bearer ${token}` })

/** A front proxy may name users in headers: here its certificate is that of any other client. */
export const certificateCredential = (certificate: ClientCertificate): Credential => ({ certificate: { ...certificate, isProxy: false } })

/** The user whom a credential authenticates now; undefined for none, and for the anonymous user. */
export function userOf(credential: Credential, authenticator: Authenticator, request: Cancellable): MaybePromise<User | undefined> {
  const { authorization, certificate } = credential
  return whenDone(authenticator.authenticate({ authorization, certificate }, request), found =>
    found.outcome === 'user' && !found.user.groups.includes(UNAUTHENTICATED) ? found.user : undefined,
  )
}

const UNAUTHENTICATED = 'system:unauthenticated'
