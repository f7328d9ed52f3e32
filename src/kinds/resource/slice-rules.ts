/** Rules on a slice of a pool. */

import { getOwn } from '../../lib/json-value.ts'
import { nameIsDNSSubdomain } from '../../lib/names.ts'
import { entry, type FieldError, forbidden, invalid, invalidEach, type Ref, required, withValue } from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import { internalForm } from '../shapes/internal-representation.ts'
import { NodeSelector } from '../shapes/pod/scheduling/affinity.ts'
import { validateNodeSelector } from '../shapes/pod/scheduling/node-selector-rules.ts'
import { isList } from './attribute-rules.ts'
import { validateSkippedOperations } from './binding-rules.ts'
import { validateCounterSet, validateDevice } from './device-rules.ts'
import { type Finding, late, validateCodedList, validateList } from './findings.ts'
import { isFullyQualifiedName, validateDriverName, validateFullyQualifiedName, validatePoolName } from './name-rules.ts'
import type { DeviceAttribute, ResourcePool, ResourceSliceSpec } from './slice-shapes.ts'

const MAX_DEVICES = 128
const MAX_COSTLY_DEVICES = 64
const MAX_COUNTER_SETS = 8
const IMMUTABLE = 'field is immutable'

export type SliceOptions = { readonly old: ResourceSliceSpec | undefined; readonly gate: RequestContext['gate'] }

/** Rules on a slice, and on its change from `old`. */
export function* validateSlice(spec: ResourceSliceSpec, at: Ref<ResourceSliceSpec>, { old, gate }: SliceOptions): Iterable<Finding> {
  const { devices, sharedCounters } = spec
  yield* validateDriverName(spec.driver, at.driver)
  yield* validatePool(spec.pool, at.pool)
  if (old) yield* validateSame(spec, old, at)
  yield* validateNodes(spec, at)
  if (sharedCounters && devices) yield invalid(withValue(at, ''), 'only one of `sharedCounters` or `devices` is allowed')
  const stored = new Map((old?.devices ?? []).map(device => [device.name, device]))
  yield* validateCodedList(devices, at.devices, {
    max: isCostly(spec) ? MAX_COSTLY_DEVICES : MAX_DEVICES,
    key: ({ name }) => name,
    each: (device, here) =>
      validateDevice(device, here, { old: stored.get(device.name), selectsNodes: spec.perDeviceNodeSelection === true, gate }),
  })
  yield* validateList(sharedCounters, at.sharedCounters, {
    max: MAX_COUNTER_SETS,
    key: ({ name }) => name,
    each: validateCounterSet,
  })
  if (spec.partitionTypeAttribute !== undefined) yield* validatePartitionType(spec, at, { old, gate })
  yield* validateSkippedOperations(spec.skipNodeOperations, at.skipNodeOperations)
}

function* validatePool({ name, resourceSliceCount, generation }: ResourcePool, at: Ref<ResourcePool>): Iterable<FieldError> {
  yield* validatePoolName(name, at.name)
  if (resourceSliceCount <= 0) yield invalid(at.resourceSliceCount, 'must be greater than zero')
  if (generation < 0) yield invalid(at.generation, 'must be greater than or equal to zero')
}

/** What a slice is of cannot change. */
function* validateSame(spec: ResourceSliceSpec, old: ResourceSliceSpec, at: Ref<ResourceSliceSpec>): Iterable<FieldError> {
  if (spec.pool.name !== old.pool.name) yield invalid(at.pool.name, IMMUTABLE)
  if (spec.driver !== old.driver) yield invalid(at.driver, IMMUTABLE)
  if (spec.nodeName !== old.nodeName) yield invalid(withValue(at.nodeName, spec.nodeName ?? null), IMMUTABLE)
}

/** Which nodes can use the devices is said in exactly one way. */
function* validateNodes(spec: ResourceSliceSpec, at: Ref<ResourceSliceSpec>): Iterable<FieldError> {
  const { nodeName, nodeSelector, allNodes, perDeviceNodeSelection } = spec
  if (nodeName === '') yield invalid(at.nodeName, 'must be either unset or set to a non-empty string')
  else if (nodeName !== undefined) yield* invalidEach(at.nodeName, nameIsDNSSubdomain(nodeName))
  if (nodeSelector) {
    yield* validateNodeSelector(nodeSelector, at.nodeSelector)
    const shown = internalForm(NodeSelector, nodeSelector) as { NodeSelectorTerms: unknown }
    // One term each makes selectors of several slices easy to combine.
    if (nodeSelector.nodeSelectorTerms?.length !== 1)
      yield invalid(withValue(at.nodeSelector.nodeSelectorTerms, shown.NodeSelectorTerms), 'must have exactly one node selector term')
  }
  if (allNodes === false) yield invalid(at.allNodes, 'must be either unset or set to true')
  if (perDeviceNodeSelection === false) yield invalid(at.perDeviceNodeSelection, 'must be either unset or set to true')
  const ways = { nodeName, nodeSelector, allNodes, perDeviceNodeSelection }
  const given = Object.entries(ways).flatMap(([name, way]) => (way ? `\`${name}\`` : []))
  const one = `exactly one of ${Object.keys(ways)
    .map(name => `\`${name}\``)
    .join(', ')} is required`
  if (given.length === 0) yield required(at, one)
  if (given.length > 1) yield invalid(withValue(at, `{${given.join(', ')}}`), `${one}, but multiple fields are set`)
}

/** Devices with taints, counters or lists take more to choose from, so there may be fewer. */
const isCostly = ({ devices = [] }: ResourceSliceSpec): boolean =>
  devices.some(
    ({ taints, consumesCounters, attributes }) =>
      taints?.length || consumesCounters?.length || Object.values(attributes ?? {}).some(isList),
  )

/** Every device that takes from counters says what kind of partition it is. */
function* validatePartitionType(spec: ResourceSliceSpec, at: Ref<ResourceSliceSpec>, { old, gate }: SliceOptions): Iterable<Finding> {
  const name = spec.partitionTypeAttribute ?? ''
  const here = at.partitionTypeAttribute
  const isOn = gate('DRAPartitionableDevicesType')
  if (name !== old?.partitionTypeAttribute) yield* isOn ? validateFullyQualifiedName(name, here) : late([forbidden(here, '')])
  const partitions = [...(spec.devices ?? []).entries()].filter(([, { consumesCounters }]) => consumesCounters?.length)
  if (partitions.length === 0) return yield invalid(here, 'may only be set on a slice which declares devices that consume counters')
  if (!isFullyQualifiedName(name, here)) return
  const bare = name.startsWith(`${spec.driver}/`) ? name.slice(spec.driver.length + 1) : name
  for (const [i, { attributes = {} }] of partitions) {
    const attribute = getOwn(attributes, name) ?? getOwn(attributes, bare)
    const there = entry<DeviceAttribute>(at.devices[i]!.attributes, name)
    if (!attribute) yield required(there, 'device consumes counters and `partitionTypeAttribute` names this attribute, so it must be set')
    else if (attribute.string === undefined)
      yield invalid(
        withValue(there, shownInside(attribute)),
        'must be a string value because `partitionTypeAttribute` names this attribute',
      )
  }
}

const shownInside = ({ int, bool, string, version, ints, bools, strings, versions }: DeviceAttribute) => ({
  IntValue: int ?? null,
  BoolValue: bool ?? null,
  StringValue: string ?? null,
  VersionValue: version ?? null,
  IntValues: ints ?? null,
  BoolValues: bools ?? null,
  StringValues: strings ?? null,
  VersionValues: versions ?? null,
})
