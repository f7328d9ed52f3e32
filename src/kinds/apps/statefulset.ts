/** StatefulSet keeps pods that each have a name and storage of their own. */
import { nameIsDNSLabel } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { defineKind } from '../../schema/kind.ts'
import { refTo } from '../../schema/refs.ts'
import { selectorText } from '../shapes/meta.ts'
import { dropDisabledTemplateFields } from '../shapes/pod/features.ts'
import { warnAboutClaim } from '../shapes/pod/volumes/volume-warnings.ts'
import { containersColumn, imagesColumn, validateCollisions, warnAboutTemplate } from '../shapes/workload.ts'
import { validateStatefulSetChange, validateStatefulSetSpec, validateStatefulSetStatus } from './statefulset-rules.ts'
import { StatefulSetSpec, StatefulSetStatus } from './statefulset-shapes.ts'

const MAX_UNAVAILABLE = 'MaxUnavailableStatefulSet'

export const StatefulSet = defineKind({
  group: 'apps',
  version: 'v1',
  kind: 'StatefulSet',
  scope: 'Namespaced',
  names: { plural: 'statefulsets', short: ['sts'], categories: ['all'] },
  doc: 'Keeps pods that each have a name and storage of their own.',
  spec: StatefulSetSpec.expected(),
  status: StatefulSetStatus,
  name: nameIsDNSLabel,
  generation: true,

  prepareForCreate({ spec }, ctx) {
    if (!ctx.gate(MAX_UNAVAILABLE)) delete spec.updateStrategy.rollingUpdate?.maxUnavailable
    dropDisabledTemplateFields(spec.template, undefined, ctx.gate)
  },
  prepareForUpdate({ spec }, old, ctx) {
    if (!ctx.gate(MAX_UNAVAILABLE) && old.spec.updateStrategy.rollingUpdate?.maxUnavailable === undefined)
      delete spec.updateStrategy.rollingUpdate?.maxUnavailable
    dropDisabledTemplateFields(spec.template, old.spec.template, ctx.gate)
  },
  validateUpdate: ({ spec }, old, { spec: at }) => validateStatefulSetChange(spec, old.spec, at),
  validate: ({ spec }, { spec: at }, { old, gate }) => validateStatefulSetSpec(spec, at, { old: old?.spec, gate }),
  *warn({ metadata, spec }, old) {
    if (old === undefined || metadata.generation !== old.metadata.generation)
      yield* warnAboutTemplate(spec.template, refTo(spec.template, 'spec.template'))
    // The path differs between creates and updates; clients have been told so.
    const part = old === undefined ? '' : '.Spec'
    for (const [i, claim] of (spec.volumeClaimTemplates ?? []).entries())
      yield* warnAboutClaim(claim.spec, refTo(claim.spec, `spec.volumeClaimTemplates[${i}]${part}`))
    if (spec.revisionHistoryLimit < 0)
      yield 'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended'
  },

  subresources: {
    status: {
      validate: ({ status }, { status: at }) => validateStatefulSetStatus(status, at),
      validateUpdate: ({ status }, old, { status: at }) => validateCollisions(status, old.status, at),
    },
    scale: {
      replicas: o => o.spec.replicas,
      setReplicas(o, replicas) {
        o.spec.replicas = replicas
      },
      observed: o => o.status.replicas,
      selector: o => selectorText(o.spec.selector),
    },
  },

  columns: {
    Ready: ['string', o => `${o.status.readyReplicas ?? 0}/${o.spec.replicas}`, 'Number of the pod with ready state'],
    Age: age,
    Containers: containersColumn,
    Images: imagesColumn,
  },
})
