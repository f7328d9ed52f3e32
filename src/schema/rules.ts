/** Validation rules, as kinds declare them: they yield field errors, and nothing where others may run. */

import type { NameRole } from '../lib/names.ts'
import type { FieldError, FieldErrors, Ref } from './refs.ts'
import type { RequestContext } from './request-context.ts'

/** Rules on a whole object; on updates `old` is the stored one. `found` are the errors of rules before, such as those about metadata. */
export type Rule<O> = (o: O, at: Ref<O>, ctx: RequestContext & { readonly old?: O }, found?: readonly FieldError[]) => FieldErrors

/** Rules for a change. */
export type UpdateRule<O> = (o: O, old: O, at: Ref<O>, ctx: RequestContext) => Iterable<FieldError>

/** The errors of a name, or of the prefix of a generated one. */
export type NameRule = (name: string, role?: NameRole) => readonly string[]
