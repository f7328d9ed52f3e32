/** ControllerRevision is a snapshot of state that a controller can roll back to. */
import { deepEqual, isObject } from '../../lib/json-value.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import type { ObjectMeta } from '../../schema/object-meta.ts'
import { invalid, required, withValue } from '../../schema/refs.ts'
import { int64, raw } from '../../schema/types.ts'

export const ControllerRevision = defineKind({
  group: 'apps',
  version: 'v1',
  kind: 'ControllerRevision',
  scope: 'Namespaced',
  names: { plural: 'controllerrevisions' },
  doc: 'A snapshot of state that a controller can go back to.',
  fields: {
    data: [2, raw.always(), 'The state, in a format that only its controller interprets. Cannot change.'],
    revision: [3, int64.always().omittable(), 'Counts the snapshots of one controlled object.'],
  },

  *validate({ data, revision }, at, { old }) {
    if (revision < 0) yield invalid(at.revision, 'must be greater than or equal to 0')
    if (old !== undefined) {
      if (!deepEqual(data, old.data)) yield invalid(withValue(at.data, data ?? null), 'field is immutable')
    } else if (data === undefined || data === null) yield required(at.data, 'data is mandatory')
    else if (!isObject(data)) yield required(at.data, 'data must be a valid JSON object')
  },

  columns: {
    Controller: ['string', o => formatController(o.metadata), 'Controller of the object'],
    Revision: ['string', o => o.revision, 'Revision indicates the revision of the state represented by Data.'],
    Age: age,
  },
})

/** An object of the kind ControllerRevision. */
export type ControllerRevision = ObjectOf<typeof ControllerRevision>

/** `daemonset.apps/name` for the controller among the owners, if any. */
function formatController({ ownerReferences = [] }: ObjectMeta): string {
  const owner = ownerReferences.find(({ controller }) => controller)
  if (!owner) return '<none>'
  const [group] = owner.apiVersion.includes('/') ? owner.apiVersion.split('/') : ['']
  return `${owner.kind.toLowerCase()}${group ? `.${group}` : ''}/${owner.name}`
}
