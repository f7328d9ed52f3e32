/** Validation rules, as kinds declare them: they yield field errors and nothing else. */

import type { InParts } from '../lib/in-parts.ts'
import type { NameRole } from '../lib/names.ts'
import type { FieldError, Ref } from './refs.ts'
import type { RequestContext } from './request-context.ts'

/** Rules for a whole object; on updates `old` is the stored one. */
export type Rule<O> = (o: O, at: Ref<O>, ctx: RequestContext & { readonly old?: O }) => Iterable<FieldError>

/** Rules that can take long, in parts: others may run between them. They come after all other rules, and receive their errors. */
export type LongRule<O> = (o: O, ctx: LongRuleContext<O>) => InParts<readonly FieldError[]>
type LongRuleContext<O> = RequestContext & { readonly old?: O; readonly found?: readonly FieldError[] }

/** Rules for a change. */
export type UpdateRule<O> = (o: O, old: O, at: Ref<O>, ctx: RequestContext) => Iterable<FieldError>

/** The errors of a name, or of the prefix of a generated one. */
export type NameRule = (name: string, role?: NameRole) => readonly string[]
