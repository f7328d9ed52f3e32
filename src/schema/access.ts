/** Authentication and authorization as kinds may use them: token reviews, access reviews, and tokens of service accounts. */

import type { Cancellation } from '../lib/cancellation.ts'
import type { FieldTerms, LabelTerms } from './selectors.ts'
import type { User } from './user.ts'

/** The attributes of a request for authorization, known from method and path alone, whether or not the resource exists. */
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
    /** What a list, watch or deletion of many is narrowed to, as written or taken apart. */
    readonly fieldSelector?: string | FieldTerms
    readonly labelSelector?: string | LabelTerms
  }
}

/** What authorizers decided; `error` tells what went wrong on the way, if anything. */
export type Decision =
  | { readonly verdict: 'allow'; readonly reason?: string; readonly error?: string }
  | { readonly verdict: 'deny'; readonly reason: string; readonly error?: string }
  | { readonly verdict: 'no-opinion'; readonly reason?: string; readonly error?: string }

/** What a user may do, as far as it can be expressed as rules. */
export type RulesFound = {
  readonly resourceRules: readonly {
    readonly verbs: readonly string[]
    readonly apiGroups?: readonly string[]
    readonly resources?: readonly string[]
    readonly resourceNames?: readonly string[]
  }[]
  readonly nonResourceRules: readonly { readonly verbs: readonly string[]; readonly nonResourceURLs?: readonly string[] }[]
  /** Whether more may be allowed than the rules say. */
  readonly incomplete: boolean
  /** What went wrong while they were gathered. */
  readonly problem?: string
}

/** The result of checking a bearer token; `audiences` are those of the asked ones that it is meant for. */
export type TokenFinding =
  | { readonly outcome: 'user'; readonly user: User; readonly audiences: readonly string[] }
  | { readonly outcome: 'none' }
  | { readonly outcome: 'invalid'; readonly reason: string }

/** What a token is to say of the account that it is for, beside when and by whom it was made. */
export type TokenClaims = {
  readonly subject: string
  readonly audiences: readonly string[]
  /** When it is made, in seconds since the epoch, and how many of them it holds. */
  readonly issued: number
  readonly seconds: number
  /** Claims of Kubernetes about the account and what the token is bound to. */
  readonly bound: object
}

type Cancellable = { readonly signal: Cancellation }

export interface Access {
  /** Who bears a token, as the server itself would find out for a request that carries it. No audiences asks for those of the server. */
  authenticate(token: string, audiences: readonly string[], request: Cancellable): Promise<TokenFinding>
  /** Whether a user may do something. */
  authorize(user: User, attributes: Attributes, request: Cancellable): Decision | Promise<Decision>
  /** What a user may do in a namespace. */
  rulesFor(user: User, namespace: string): RulesFound
  /** The audiences that the server itself accepts tokens for. */
  readonly audiences: readonly string[]
  /** How long tokens hold at most, where that is limited, and whether those that pods reload may hold longer than they were asked for. */
  readonly tokenLifetime?: { readonly mostSeconds: number | undefined; readonly isExtended: boolean }
  /** Signs a token that the server will believe. */
  issueToken(claims: TokenClaims): Promise<string>
  /** An object as it is stored; not to be changed. The namespace is empty for those of the cluster. */
  find(resource: { readonly group: string; readonly version: string; readonly plural: string }, namespace: string, name: string): any
}
