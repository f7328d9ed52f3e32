/** StorageClass configures the provisioning of volumes for the claims that name it. */
import { deepEqual } from '../../lib/json-value.ts'
import { age, NAME_DOC } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { validateLabelKey } from '../../schema/meta-rules.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { duplicate, type FieldError, invalid, type Ref, required, unsupported, withValue } from '../../schema/refs.ts'
import { atomic, bool, mapOf, message, type Static, string } from '../../schema/types.ts'
import { isDefaultStorageClass, newestDefault } from '../rules/default-class.ts'
import { deprecatedNodeLabel } from '../rules/pod/scheduling/node-labels.ts'
import { validateDriver, validateParameters } from './parameter-rules.ts'

const TopologySelectorLabelRequirement = message('TopologySelectorLabelRequirement', {
  key: [1, string.always(), 'A label of nodes.'],
  values: [2, atomic(string).always(), 'Its values, of which one must match.'],
})
type Requirement = Static<typeof TopologySelectorLabelRequirement>

const TopologySelectorTerm = message('TopologySelectorTerm', {
  matchLabelExpressions: [1, atomic(TopologySelectorLabelRequirement), 'Requirements that all must match.'],
}).atomic()
type Term = Static<typeof TopologySelectorTerm>

const RECLAIM_POLICIES = ['Delete', 'Retain']
const BINDING_MODES = ['Immediate', 'WaitForFirstConsumer']

export const StorageClass = defineKind({
  group: 'storage.{group_domain}',
  version: 'v1',
  kind: 'StorageClass',
  scope: 'Cluster',
  names: { plural: 'storageclasses', short: ['sc'] },
  doc: 'How volumes are made for the claims that name it.',
  fields: {
    provisioner: [2, string.always(), 'The provisioner that creates the volumes. Cannot change.'],
    parameters: [3, mapOf(string), 'Parameters for the provisioner. Cannot change.'],
    reclaimPolicy: [
      4,
      string.listed('Delete', 'Recycle', 'Retain').optional().default('Delete'),
      'The treatment of a volume after its claim is deleted: Delete or Retain. Cannot change.',
    ],
    mountOptions: [5, atomic(string), 'Options for mounting its volumes; not checked.'],
    allowVolumeExpansion: [6, bool.optional(), 'Whether its volumes may grow.'],
    volumeBindingMode: [
      7,
      string.listed('Immediate', 'WaitForFirstConsumer').optional().default('Immediate'),
      'When claims are bound: Immediate, or WaitForFirstConsumer to wait for a pod. Cannot change.',
    ],
    allowedTopologies: [8, atomic(TopologySelectorTerm), 'On which nodes volumes may be made; all when empty.'],
  },

  *validate(o, at, { old }) {
    const { provisioner, parameters, reclaimPolicy, volumeBindingMode, allowedTopologies } = o
    if (provisioner) yield* validateDriver(provisioner, at.provisioner)
    yield* validateParameters(parameters, at.parameters)
    if (reclaimPolicy && !RECLAIM_POLICIES.includes(reclaimPolicy)) yield unsupported(at.reclaimPolicy, ...RECLAIM_POLICIES)
    if (!BINDING_MODES.includes(volumeBindingMode)) yield unsupported(at.volumeBindingMode, ...BINDING_MODES)
    yield* validateTopologies(allowedTopologies ?? [], at.allowedTopologies)
    if (!provisioner) yield required(at.provisioner)
    // The error does not show the refused value.
    for (const field of ['provisioner', 'parameters', 'reclaimPolicy', 'volumeBindingMode'] as const)
      if (old && !deepEqual(o[field] ?? {}, old[field] ?? {})) yield invalid(withValue(at[field], null), 'field is immutable')
  },
  *warn({ allowedTopologies }) {
    for (const [i, { matchLabelExpressions }] of (allowedTopologies ?? []).entries())
      for (const [j, { key }] of (matchLabelExpressions ?? []).entries()) {
        const advice = deprecatedNodeLabel(key)
        if (advice !== undefined) yield `allowedTopologies[${i}].matchLabelExpressions[${j}].key: ${advice}`
      }
  },

  deletion: { returns: 'object' },

  columns: {
    Name: [
      'string',
      ({ metadata: { name } }, { list }) => (isInForce(name, list) ? `${name} (default)` : name),
      NAME_DOC,
      { format: 'name' },
    ],
    Provisioner: ['string', o => o.provisioner, 'provisioner indicates the type of the provisioner.'],
    ReclaimPolicy: [
      'string',
      o => o.reclaimPolicy,
      'reclaimPolicy controls the reclaimPolicy for dynamically provisioned PersistentVolumes of this storage class. Defaults to Delete.',
    ],
    VolumeBindingMode: [
      'string',
      o => o.volumeBindingMode,
      'volumeBindingMode indicates how PersistentVolumeClaims should be provisioned and bound.  When unset, VolumeBindingImmediate is used. This field is only honored by servers that enable the VolumeScheduling feature.',
    ],
    AllowVolumeExpansion: [
      'string',
      o => o.allowVolumeExpansion ?? false,
      'allowVolumeExpansion shows whether the storage class allow volume expand.',
    ],
    Age: age,
  },
})

/** An object of the kind StorageClass. */
export type StorageClass = ObjectOf<typeof StorageClass>

/** Whether this class is the default among all listed ones. */
const isInForce = (name: string | undefined, list: readonly AnyObject[] | undefined): boolean =>
  list !== undefined && newestDefault(list, isDefaultStorageClass)?.metadata.name === name

/** Terms are valid and unique. */
function* validateTopologies(terms: readonly Term[], at: Ref<Term[]>): Iterable<FieldError> {
  const seen = new Set<string>()
  for (const [i, term] of terms.entries()) {
    const itemAt = at[i]!.matchLabelExpressions
    const valuesOf = new Map<string, ReadonlySet<string>>()
    for (const [j, requirement] of (term.matchLabelExpressions ?? []).entries()) {
      yield* validateRequirement(requirement, itemAt[j]!)
      if (valuesOf.has(requirement.key)) yield duplicate(itemAt[j]!.key)
      valuesOf.set(requirement.key, new Set(requirement.values ?? []))
    }
    const meaning = JSON.stringify([...valuesOf].map(([key, values]) => [key, [...values].sort()]).sort())
    // A term without requirements counts as a duplicate: it means the same as no term.
    if (seen.has(meaning) || valuesOf.size === 0) yield duplicate(withValue(itemAt, ''))
    seen.add(meaning)
  }
}

function* validateRequirement({ key, values }: Requirement, at: Ref<Requirement>): Iterable<FieldError> {
  if (!values?.length) yield required(at.values)
  const seen = new Set<string>()
  for (const [i, value] of (values ?? []).entries()) {
    if (seen.has(value)) yield duplicate(at.values[i]!)
    seen.add(value)
  }
  yield* validateLabelKey(at.key, key)
}
