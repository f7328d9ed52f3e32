/** ResourceClaimTemplate is the template of claims that are created for pods. */
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { type AnyObject, ObjectMeta } from '../../schema/object-meta.ts'
import { type FieldError, invalid, type Ref, withValue } from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import { message, type Static } from '../../schema/types.ts'
import { meansTheSame } from '../rules/compare.ts'
import { internalRepresentation } from '../rules/internal-representation.ts'
import { validateTemplateMeta } from '../rules/persistent-volume/claim-rules.ts'
import { adminRequestOf, validateAdminAccess } from './admin-access.ts'
import { claimFeatures } from './claim-features.ts'
import { validateClaimSpec } from './claim-rules.ts'
import { ResourceClaimSpec } from './claim-shapes.ts'
import { dropDisabled } from './features.ts'
import { all, inOrder, type ServedPath } from './findings.ts'

const ResourceClaimTemplateSpec = message('ResourceClaimTemplateSpec', {
  metadata: [1, ObjectMeta.orEmpty(), 'Labels and annotations of the claims.'],
  spec: [2, ResourceClaimSpec.orEmpty(), 'The spec of the claims.'],
})

export const ResourceClaimTemplate = defineKind({
  group: 'resource.{group_domain}',
  version: 'v1',
  kind: 'ResourceClaimTemplate',
  scope: 'Namespaced',
  names: { plural: 'resourceclaimtemplates' },
  doc: 'The template of claims that are created for pods.',
  lifecycle: { introduced: '1.34' },
  otherVersions: {
    v1beta2: { introduced: '1.33', deprecated: '1.36', removed: '1.39' },
  },
  spec: ResourceClaimTemplateSpec,

  prepareForCreate: (o, ctx) => dropDisabled(claimFeatures, o.spec.spec, undefined, ctx),
  prepareForUpdate: (o, old, ctx) => dropDisabled(claimFeatures, o.spec.spec, old.spec.spec, ctx),
  validate: (o, at, ctx) => validateTemplate(o, at, ctx),

  deletion: { returns: 'object' },
  columns: { Age: age },
})

/** An object of the kind ResourceClaimTemplate. */
export type ResourceClaimTemplate = ObjectOf<typeof ResourceClaimTemplate>

type Specified = { spec: Static<typeof ResourceClaimTemplateSpec> }

/** Rules for a template that was sent in any version. */
export function* validateTemplate(
  { metadata, spec }: Pick<AnyObject, 'metadata'> & Specified,
  at: Ref<Specified>,
  ctx: RequestContext & { readonly old?: Specified; readonly servedPath?: ServedPath },
): Iterable<FieldError> {
  const admin = adminRequestOf(spec.spec.devices.requests ?? [])
  if (admin && !ctx.old) yield* validateAdminAccess(admin, metadata.namespace ?? '', ctx)
  yield* validateTemplateMeta(spec.metadata, at.spec.metadata)
  const isChanged = ctx.old !== undefined && !meansTheSame(ResourceClaimTemplateSpec, spec, ctx.old.spec)
  const shown = isChanged ? internalRepresentation(ResourceClaimTemplateSpec, spec) : null
  yield* inOrder(
    all(
      validateClaimSpec(spec.spec, at.spec.spec, { gate: ctx.gate, isStored: ctx.old !== undefined }),
      isChanged ? [invalid(withValue(at.spec, shown), 'field is immutable')] : [],
    ),
    ctx.servedPath,
  )
}
