/** CSIStorageCapacity shows the capacity that a driver has left for a storage class in one topology segment. */
import { deepEqual } from '../../lib/json-value.ts'
import { nameIsDNSSubdomain } from '../../lib/names.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { hasErrors, invalid, invalidEach, refTo } from '../../schema/refs.ts'
import { quantity, string } from '../../schema/types.ts'
import { LabelSelector, validateLabelSelector } from '../rules/meta.ts'
import { validateNonNegativeQuantity } from '../rules/pod/resources/resource-rules.ts'
import { deprecatedNodeLabel } from '../rules/pod/scheduling/node-labels.ts'

export const CSIStorageCapacity = defineKind({
  group: 'storage.{group_domain}',
  version: 'v1',
  kind: 'CSIStorageCapacity',
  scope: 'Namespaced',
  names: { plural: 'csistoragecapacities' },
  doc: 'The capacity that a driver has left for a storage class.',
  fields: {
    nodeTopology: [2, LabelSelector, 'From which nodes the storage can be reached; none when absent. Cannot change.'],
    storageClassName: [3, string.always(), 'The class of storage. Cannot change.'],
    capacity: [4, quantity.optional(), 'The available capacity.'],
    maximumVolumeSize: [5, quantity.optional(), 'The largest volume that can be made.'],
  },
  allowUnconditionalUpdate: false,

  *validate(o, at, { old }) {
    const { nodeTopology, storageClassName, capacity } = o
    const before = old?.nodeTopology
    const allowInvalidValues = before !== undefined && hasErrors(validateLabelSelector(before, refTo(before)))
    yield* validateLabelSelector(nodeTopology, at.nodeTopology, { allowInvalidValues })
    yield* invalidEach(at.storageClassName, nameIsDNSSubdomain(storageClassName))
    if (capacity !== undefined) yield* validateNonNegativeQuantity(capacity, at.capacity)
    if (!old) return
    if (!deepEqual(nodeTopology, old.nodeTopology)) yield invalid(refTo(nodeTopology ?? null, 'nodeTopology'), 'field is immutable')
    if (storageClassName !== old.storageClassName) yield invalid(at.storageClassName, 'field is immutable')
  },
  *warn({ nodeTopology }) {
    for (const [i, { key }] of (nodeTopology?.matchExpressions ?? []).entries()) {
      const advice = deprecatedNodeLabel(key)
      if (advice !== undefined) yield `nodeTopology.matchExpressions[${i}].key: ${key} is ${advice}`
    }
    for (const label of Object.keys(nodeTopology?.matchLabels ?? {})) {
      const advice = deprecatedNodeLabel(label)
      if (advice !== undefined) yield `nodeTopology.matchLabels.${label}: ${advice}`
    }
  },
})

/** An object of the kind CSIStorageCapacity. */
export type CSIStorageCapacity = ObjectOf<typeof CSIStorageCapacity>
