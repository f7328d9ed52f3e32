/** Permissions of users that plugins ask for beyond that of the request itself. */
import type { PolicyRule } from '../kinds/rbac/policy-rule.ts'
import type { Step } from '../lib/step.ts'
import type { Attributes } from '../schema/access.ts'
import type { User } from '../schema/user.ts'

/** Whether a user may do something. */
export type May = (user: User, attributes: Attributes) => Step<boolean>

/** The reason of the authorizer against a request, which may be empty; undefined where it is allowed. */
export type ReasonAgainst = (user: User, attributes: Attributes) => Step<string | undefined>

/** The message of the rejection for a user without permission; undefined for one with it. */
export type RefusalOf = (user: User, attributes: Attributes) => Step<string | undefined>

export type RoleRef = { readonly kind: string; readonly name: string }

/** Roles as they are stored. */
export interface Roles {
  /** All rules that hold for a user in a namespace, or in the whole cluster when it is empty, and the roles among them that are not there. */
  ofUser(user: User, namespace: string): { readonly rules: readonly PolicyRule[]; readonly missing: readonly RoleRef[] }
  /** The rules of the role that a binding in a namespace refers to; undefined when it is not there. */
  referred(role: RoleRef, namespace: string): readonly PolicyRule[] | undefined
}
