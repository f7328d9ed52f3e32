/** Authenticates users that a front proxy names in headers. The proxy is authenticated by its client certificate. */
import { linesOf, unescapeKey } from '../lib/header-lines.ts'
import type { Authentication, Authenticator, Credentials } from './authenticator.ts'

/** Names of headers, in lower case. */
export type RequestHeaderSettings = {
  /** Allowed common names of proxies; empty allows any. */
  readonly allowedNames: readonly string[]
  readonly usernameHeaders: readonly string[]
  readonly uidHeaders: readonly string[]
  readonly groupHeaders: readonly string[]
  readonly extraHeaderPrefixes: readonly string[]
}

export class RequestHeaderAuthenticator implements Authenticator {
  readonly #settings: RequestHeaderSettings
  readonly #now: () => number

  constructor(settings: RequestHeaderSettings, now: () => number) {
    this.#settings = settings
    this.#now = now
  }

  authenticate({ certificate, request }: Credentials): Authentication {
    if (certificate === undefined || request === undefined) return { outcome: 'none' }
    // This certificate is for users, and another authenticator verifies it.
    if (!certificate.isProxy) return { outcome: 'none' }
    const now = this.#now()
    if (now < certificate.notBefore || now > certificate.notAfter)
      return { outcome: 'invalid', reason: 'x509: certificate has expired or is not yet valid' }
    const { allowedNames, usernameHeaders, uidHeaders, groupHeaders, extraHeaderPrefixes } = this.#settings
    if (allowedNames.length > 0 && !allowedNames.includes(certificate.commonName))
      return { outcome: 'invalid', reason: `x509: subject with cn=${certificate.commonName} is not in the allowed list` }
    const lines = [...linesOf(request)]
    const valuesOf = (names: readonly string[]) =>
      names.flatMap(name => lines.filter(([field, value]) => field === name && value !== '').map(([, value]) => value))
    const [name] = valuesOf(usernameHeaders)
    if (name === undefined) return { outcome: 'none' }
    const [uid] = valuesOf(uidHeaders)
    const extra = new Map<string, string[]>()
    for (const prefix of extraHeaderPrefixes)
      for (const [field, value] of lines) {
        if (!field.startsWith(prefix)) continue
        const key = unescapeKey(field.slice(prefix.length))
        extra.set(key, [...(extra.get(key) ?? []), value])
      }
    return {
      outcome: 'user',
      user: {
        name,
        groups: valuesOf(groupHeaders),
        ...(uid !== undefined && { uid }),
        ...(extra.size > 0 && { extra: Object.fromEntries(extra) }),
      },
    }
  }
}
