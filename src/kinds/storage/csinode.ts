/** CSINode lists the storage drivers that run on a node. */
import { isQualifiedName } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import {
  duplicate,
  type FieldError,
  invalid,
  invalidEach,
  type Ref,
  required,
  tooLong,
  tooMany,
  unsupported,
  withValue,
} from '../../schema/refs.ts'
import { atomic, int32, keyed, message, type Static, string, time } from '../../schema/types.ts'
import { meansTheSame } from '../rules/compare.ts'
import { conditionReasonFaults } from '../rules/meta.ts'
import { ACCESS_MODES } from '../rules/persistent-volume/claim-rules.ts'
import { validateCSIDriverName } from '../rules/pod/volumes/volume-rules.ts'
import { validateNonNegative } from '../rules/text-rules.ts'

const VolumeNodeResources = message('VolumeNodeResources', {
  count: [1, int32.optional(), 'How many volumes of the driver the node can have; any number when absent.'],
})

const CSINodeDriver = message('CSINodeDriver', {
  name: [1, string.always(), 'Name of the driver.'],
  nodeID: [2, string.always(), 'The name that the driver has for the node.'],
  topologyKeys: [3, atomic(string).always().omittable(), 'Labels of the topology of the node for the driver.'],
  allocatable: [4, VolumeNodeResources, 'How many volumes there can be.'],
})
type CSINodeDriver = Static<typeof CSINodeDriver>

const CSINodeSpec = message('CSINodeSpec', {
  drivers: [1, keyed(CSINodeDriver, 'name').mergedBy('name').always(), 'The drivers on the node.'],
})
type CSINodeSpec = Static<typeof CSINodeSpec>

const StorageHealthCondition = message('StorageHealthCondition', {
  status: [
    1,
    string.listed('StorageDegraded', 'StorageUnreachable').always(),
    'How healthy the storage is: StorageDegraded or StorageUnreachable.',
  ],
  reason: [2, string.always(), 'A CamelCase reason.'],
  message: [3, string, 'The same for people.'],
  accessMode: [
    4,
    string.listed('ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod').optional(),
    'The access mode that the limit applies to; all if unset.',
  ],
  volumeMode: [5, string.listed('Block', 'Filesystem').optional(), 'The volume mode that the limit applies to; all if unset.'],
  lastTransitionTime: [6, time, 'When that last changed.'],
})
type StorageHealthCondition = Static<typeof StorageHealthCondition>

const StorageHealth = message('StorageHealth', {
  name: [1, string.always(), 'Name of the driver.'],
  healthConditions: [2, atomic(StorageHealthCondition), 'Problems of its storage, seen from the node.'],
})
type StorageHealth = Static<typeof StorageHealth>

const CSINodeStatus = message('CSINodeStatus', {
  storageHealth: [1, keyed(StorageHealth, 'name').mergedBy('name'), 'How healthy storage is, by driver.'],
})

const MAX_NODE_ID_BYTES = 256

export const CSINode = defineKind({
  group: 'storage.{group_domain}',
  version: 'v1',
  kind: 'CSINode',
  scope: 'Cluster',
  names: { plural: 'csinodes' },
  doc: 'The storage drivers that run on a node.',
  spec: CSINodeSpec.always(),
  status: CSINodeStatus,
  allowUnconditionalUpdate: false,

  *validate({ spec }, { spec: at }, { old, gate }) {
    yield* validateDrivers(spec.drivers ?? [], at.drivers)
    if (old) yield* validateKeptDrivers(spec, old.spec, at, { mayCountChange: gate('MutableCSINodeAllocatableCount') })
  },

  deletion: { returns: 'object' },

  subresources: {
    status: {
      keepsMetadata: true,
      prepareForUpdate({ status }, old, { gate }) {
        if (!gate('CSIVolumeHealth') && !old.status.storageHealth?.length) delete status.storageHealth
      },
      *validate({ status }, { status: at }) {
        const seen = new Set<string>()
        for (const [i, health] of (status.storageHealth ?? []).entries()) {
          if (seen.has(health.name)) yield duplicate(withValue(at.storageHealth[i]!, health.name))
          seen.add(health.name)
          yield* validateHealth(health, at.storageHealth[i]!)
        }
      },
    },
  },

  columns: {
    Drivers: ['integer', o => o.spec.drivers?.length ?? 0, 'Drivers indicates the number of CSI drivers registered on the node'],
    Age: age,
  },
})

/** An object of the kind CSINode. */
export type CSINode = ObjectOf<typeof CSINode>

function* validateDrivers(drivers: readonly CSINodeDriver[], at: Ref<CSINodeDriver[]>): Iterable<FieldError> {
  const seen = new Set<string>()
  for (const [i, { name, nodeID, topologyKeys, allocatable }] of drivers.entries()) {
    const itemAt = at[i]!
    yield* validateCSIDriverName(name, itemAt.name)
    if (!nodeID) yield required(itemAt.nodeID)
    if (Buffer.byteLength(nodeID) > MAX_NODE_ID_BYTES) yield invalid(itemAt.nodeID, `must be ${MAX_NODE_ID_BYTES} characters or less`)
    yield* validateNonNegative(allocatable?.count, itemAt.allocatable.count)
    if (seen.has(name)) yield duplicate(itemAt.name)
    seen.add(name)
    yield* validateTopologyKeys(topologyKeys ?? [], itemAt)
  }
}

/** Errors point at the driver, and show the key. */
function* validateTopologyKeys(keys: readonly string[], at: Ref<CSINodeDriver>): Iterable<FieldError> {
  const seen = new Set<string>()
  for (const key of keys) {
    if (!key) yield required(at)
    if (seen.has(key)) yield duplicate(withValue(at, key))
    seen.add(key)
    yield* invalidEach(withValue(at, key), isQualifiedName(key))
  }
}

/** An existing driver may only change the allocatable number of volumes, and that by a feature. */
function* validateKeptDrivers(
  { drivers }: CSINodeSpec,
  { drivers: before }: CSINodeSpec,
  at: Ref<CSINodeSpec>,
  { mayCountChange }: { readonly mayCountChange: boolean },
): Iterable<FieldError> {
  const known = new Map((before ?? []).map(driver => [driver.name, driver]))
  for (const { allocatable, ...driver } of drivers ?? []) {
    const old = known.get(driver.name)
    if (!old) continue
    const { allocatable: former, ...rest } = old
    const isSameCount = mayCountChange || allocatable?.count === former?.count
    if (!isSameCount || !meansTheSame(CSINodeDriver, driver, rest))
      yield invalid(withValue(at.drivers, shown(driver)), 'field is immutable')
  }
}

const shown = ({ name, nodeID, topologyKeys }: Omit<CSINodeDriver, 'allocatable'>) => ({
  Name: name,
  NodeID: nodeID,
  TopologyKeys: topologyKeys ?? null,
  Allocatable: null,
})

const MAX_CONDITIONS = 16
const MAX_REASON_BYTES = 256
const MAX_MESSAGE_BYTES = 1024
const HEALTH_STATUSES = ['StorageDegraded', 'StorageUnreachable']
const HEALTH_MODES = ['Filesystem', 'Block']

function* validateHealth({ name, healthConditions = [] }: StorageHealth, at: Ref<StorageHealth>): Iterable<FieldError> {
  yield* validateCSIDriverName(name, at.name)
  if (healthConditions.length > MAX_CONDITIONS) yield tooMany(at.healthConditions, healthConditions.length, MAX_CONDITIONS)
  else for (const [i, condition] of healthConditions.entries()) yield* validateHealthCondition(condition, at.healthConditions[i]!)
}

function* validateHealthCondition(condition: StorageHealthCondition, at: Ref<StorageHealthCondition>): Iterable<FieldError> {
  const { status, reason, message = '', accessMode, volumeMode } = condition
  if (!HEALTH_STATUSES.includes(status)) yield unsupported(at.status, ...HEALTH_STATUSES)
  if (!reason) yield required(at.reason)
  else {
    yield* invalidEach(at.reason, conditionReasonFaults(reason))
    if (Buffer.byteLength(reason) > MAX_REASON_BYTES) yield tooLong(at.reason, MAX_REASON_BYTES)
  }
  if (Buffer.byteLength(message) > MAX_MESSAGE_BYTES) yield tooLong(at.message, MAX_MESSAGE_BYTES)
  if (accessMode !== undefined && !(ACCESS_MODES as readonly string[]).includes(accessMode))
    yield unsupported(at.accessMode, ...ACCESS_MODES)
  if (volumeMode !== undefined && !HEALTH_MODES.includes(volumeMode)) yield unsupported(at.volumeMode, ...HEALTH_MODES)
}
