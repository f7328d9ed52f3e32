/** Authentication and authorization for kinds: token reviews, access reviews, and service account tokens. */

import type { Cancellation } from '../lib/cancellation.ts'
import type { FieldTerms, LabelTerms } from './selectors.ts'
import type { User } from './user.ts'

/** The authorization attributes of a request, derived from method and path alone, whether or not the resource exists. */
export type Attributes = {
  /** `get`, `list`, `watch`, `create` …; for other paths the method in lower case. */
  readonly verb: string
  readonly path: string
  readonly resource?: {
    readonly group: string
    readonly version: string
    readonly plural: string
    readonly subresource: string
    readonly namespace: string
    readonly name: string
    /** The selectors of a list, watch or deletecollection, as written or parsed. */
    readonly fieldSelector?: string | FieldTerms
    readonly labelSelector?: string | LabelTerms
  }
}

/** The decision of the authorizers; `error` is set if one of them failed. */
export type Decision =
  | { readonly verdict: 'allow'; readonly reason?: string; readonly error?: string }
  | { readonly verdict: 'deny'; readonly reason: string; readonly error?: string }
  | { readonly verdict: 'no-opinion'; readonly reason?: string; readonly error?: string }

/** A user's permissions, as far as they can be expressed as rules. */
export type RulesFound = {
  readonly resourceRules: readonly {
    readonly verbs: readonly string[]
    readonly apiGroups?: readonly string[]
    readonly resources?: readonly string[]
    readonly resourceNames?: readonly string[]
  }[]
  readonly nonResourceRules: readonly { readonly verbs: readonly string[]; readonly nonResourceURLs?: readonly string[] }[]
  /** Whether more may be allowed than the rules cover. */
  readonly incomplete: boolean
  /** The error that occurred while the rules were collected. */
  readonly problem?: string
}

/** The result of verifying a bearer token; `audiences` are the requested ones that it is valid for. */
export type TokenFinding =
  | { readonly outcome: 'user'; readonly user: User; readonly audiences: readonly string[] }
  | { readonly outcome: 'none' }
  | { readonly outcome: 'invalid'; readonly reason: string }

/** The content of a service account token, beside its time and issuer. */
export type TokenClaims = {
  readonly subject: string
  readonly audiences: readonly string[]
  /** The time of issue, in seconds since the epoch, and the lifetime in seconds. */
  readonly issued: number
  readonly seconds: number
  /** Kubernetes' claims about the account and the bound objects. */
  readonly bound: object
}

type Cancellable = { readonly signal: Cancellation }

export interface Access {
  /** The user of a token, as for a request with that token. Without audiences, those of the server apply. */
  authenticate(token: string, audiences: readonly string[], request: Cancellable): Promise<TokenFinding>
  /** Whether a user may perform an action. */
  authorize(user: User, attributes: Attributes, request: Cancellable): Decision | Promise<Decision>
  /** The rules of a user in a namespace. */
  rulesFor(user: User, namespace: string): RulesFound
  /** The audiences that the server itself accepts tokens for. */
  readonly audiences: readonly string[]
  /** The maximum lifetime of tokens, if limited, and whether tokens that pods reload may live longer than requested. */
  readonly tokenLifetime?: { readonly mostSeconds: number | undefined; readonly isExtended: boolean }
  /** Signs a token that this server accepts. */
  issueToken(claims: TokenClaims): Promise<string>
  /** A stored object, which must not be changed. The namespace is empty for cluster-scoped objects. */
  find(resource: { readonly group: string; readonly version: string; readonly plural: string }, namespace: string, name: string): any
}
