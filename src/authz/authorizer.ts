/** The interface of authorizers. */
import type { Cancellation } from '../lib/cancellation.ts'
import type { Attributes, Decision, RulesFound } from '../schema/access.ts'
import type { User } from '../schema/user.ts'

export interface Authorizer {
  authorize(user: User, attributes: Attributes, request: { readonly signal: Cancellation }): Decision | Promise<Decision>
}

/** Lists a user's permissions, where an authorizer can. */
export interface RuleResolver {
  rulesFor(user: User, namespace: string): RulesFound
}
