/** Names that are reserved for webhooks and policies from manifest files. */

import { type FieldError, invalid, type Ref } from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'

/** Refuses such a name. */
export function* validateNotStatic(name: string | undefined, at: Ref<string>, ctx: RequestContext): Iterable<FieldError> {
  if (ctx.gate('ManifestBasedAdmissionControlConfig') && isStatic(name, ctx)) yield invalid(at, problem(ctx))
}

/** Warns about such a name, if it is already stored. */
export function* warnAboutStatic(name: string | undefined, ctx: RequestContext): Iterable<string> {
  if (isStatic(name, ctx)) yield `metadata.name: ${problem(ctx)}`
}

/** The suffix of such names. */
export const staticSuffix = (groupDomain: string): string => `.static.${groupDomain}`

const isStatic = (name: string | undefined, { groupDomain }: RequestContext) => name?.endsWith(staticSuffix(groupDomain)) ?? false
const problem = ({ groupDomain }: RequestContext) =>
  `names ending with "${staticSuffix(groupDomain)}" are reserved for static manifest-based configurations and cannot be managed via the API`
