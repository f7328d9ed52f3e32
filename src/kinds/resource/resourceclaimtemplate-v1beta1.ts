/** ResourceClaimTemplate in v1beta1, whose requests have no part of their own for exact ones. */
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { ObjectMeta } from '../../schema/object-meta.ts'
import type { Ref } from '../../schema/refs.ts'
import { message } from '../../schema/types.ts'
import { ResourceClaimSpec, servedPath, servedSpec, storedSpec } from './claim-shapes-v1beta1.ts'
import { ResourceClaimTemplate, validateTemplate } from './resourceclaimtemplate.ts'

const ResourceClaimTemplateSpec = message('ResourceClaimTemplateSpec', {
  metadata: [1, ObjectMeta.orEmpty(), 'Labels and annotations of the claims.'],
  spec: [2, ResourceClaimSpec.orEmpty(), 'The spec of the claims.'],
})

export const ResourceClaimTemplateV1beta1 = defineKind({
  group: 'resource.{group_domain}',
  version: 'v1beta1',
  kind: 'ResourceClaimTemplate',
  scope: 'Namespaced',
  names: ResourceClaimTemplate.def.names,
  doc: 'The template of claims that are created for pods.',
  lifecycle: { introduced: '1.32', deprecated: '1.35', removed: '1.38' },
  spec: ResourceClaimTemplateSpec,

  conversion: {
    storedVersion: ResourceClaimTemplate,
    toStored: o => ({ ...o, spec: { ...o.spec, spec: storedSpec(o.spec.spec) } }),
    fromStored: (o: ResourceClaimTemplate) => ({ ...o, spec: { ...o.spec, spec: servedSpec(o.spec.spec) } }),
    validate: (o: ResourceClaimTemplate, at: Ref<ResourceClaimTemplate>, ctx) => validateTemplate(o, at, { ...ctx, servedPath }),
  },
})

/** An object of the kind ResourceClaimTemplateV1beta1. */
export type ResourceClaimTemplateV1beta1 = ObjectOf<typeof ResourceClaimTemplateV1beta1>
