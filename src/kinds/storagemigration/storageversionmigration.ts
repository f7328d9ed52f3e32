/** StorageVersionMigration rewrites the stored objects of a resource in the current storage version. */

import { deepEqual } from '../../lib/json-value.ts'
import { isDNS1035Label, isDNS1123Subdomain } from '../../lib/names.ts'
import { NAME_DOC } from '../../schema/columns.ts'
import { isConditionTrue } from '../../schema/conditions.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { type FieldError, invalid, type Ref, required, withValue } from '../../schema/refs.ts'
import { keyed, message, type Static, string } from '../../schema/types.ts'
import { Condition, validateConditions } from '../rules/meta.ts'

const GroupResource = message('GroupResource', {
  group: [1, string.always(), 'API group; empty for the core group.'],
  resource: [2, string.always(), 'Plural name of the resource.'],
})

const StorageVersionMigrationSpec = message('StorageVersionMigrationSpec', {
  resource: [1, GroupResource.orEmpty().expected(), 'The resource whose objects are migrated. Cannot change.'],
})

const StorageVersionMigrationStatus = message('StorageVersionMigrationStatus', {
  conditions: [1, keyed(Condition, 'type').mergedBy('type'), 'Whether it runs, succeeded or failed.'],
  resourceVersion: [2, string, 'The version of the resource when the migration was first seen. Cannot change once set.'],
})
type Status = Static<typeof StorageVersionMigrationStatus>

export const StorageVersionMigration = defineKind({
  group: 'storagemigration.{group_domain}',
  version: 'v1',
  kind: 'StorageVersionMigration',
  scope: 'Cluster',
  names: { plural: 'storageversionmigrations' },
  doc: 'Rewrites stored objects in the version that is stored today.',
  lifecycle: { introduced: '1.37' },
  gate: 'StorageVersionMigrator',
  otherVersions: {
    v1beta1: { introduced: '1.35', deprecated: '1.37', removed: '1.40', replacement: 'v1' },
  },
  spec: StorageVersionMigrationSpec,
  status: StorageVersionMigrationStatus,
  storedAs: { version: 'v1beta1' },
  allowUnconditionalUpdate: false,

  *validate(
    {
      spec: {
        resource: { group, resource },
      },
    },
    { spec: { resource: at } },
  ) {
    if (!resource) yield required(at.resource, 'resource is required to be set')
    else yield* joined(at.resource, isDNS1035Label(resource))
    if (group) yield* joined(at.group, isDNS1123Subdomain(group))
  },
  *validateUpdate({ spec }, old, { spec: at }) {
    // kube-apiserver shows the spec with the field name of its internal type.
    if (!deepEqual(spec, old.spec)) yield invalid(withValue(at, { Resource: spec.resource }), 'field is immutable')
  },

  subresources: {
    status: {
      keepsMetadata: true,
      *validate({ status }, { status: at }, { old: stored }) {
        const { resourceVersion, conditions } = status
        const old = stored?.status ?? {}
        if (resourceVersion && !/^[1-9]\d*$/.test(resourceVersion))
          yield invalid(at.resourceVersion, `resource version is not well formed: ${resourceVersion}`)
        yield* validateConditions(conditions, at.conditions)
        if (old.resourceVersion && old.resourceVersion !== resourceVersion) yield invalid(at.resourceVersion, 'field is immutable')
        const all = withValue(at.conditions, conditions ?? null)
        if (holds(status, 'Succeeded') && holds(status, 'Failed'))
          yield invalid(all, 'Both success and failed conditions cannot be true at the same time')
        if (holds(old, 'Succeeded') && !holds(status, 'Succeeded'))
          yield invalid(all, 'Success condition cannot be set to false once it is true')
        if (holds(old, 'Failed') && !holds(status, 'Failed')) yield invalid(all, 'Failed condition cannot be set to false once it is true')
      },
      *validateUpdate() {},
    },
  },

  columns: {
    Name: ['string', o => o.metadata.name, NAME_DOC],
    Resource: ['string', ({ spec: { resource: r } }) => (r.group ? `${r.resource}.${r.group}` : r.resource), 'GroupResource to migrate'],
    Status: [
      'string',
      o => o.status.conditions?.findLast(c => c.status === 'True' && STATES.includes(c.type))?.type ?? 'Unknown',
      'Status of the migration',
    ],
  },
})

/** An object of the kind StorageVersionMigration. */
export type StorageVersionMigration = ObjectOf<typeof StorageVersionMigration>

const STATES = ['Running', 'Failed', 'Succeeded']
const holds = ({ conditions = [] }: Status, type: string) => isConditionTrue(conditions, type)

function* joined(at: Ref<string>, faults: readonly string[]): Iterable<FieldError> {
  if (faults.length > 0) yield invalid(at, faults.join(','))
}
