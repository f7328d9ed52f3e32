/** ResourceSlice offers devices of a driver to claims. */

import { goQuote } from '../../lib/go-text.ts'
import { getOwn } from '../../lib/json-value.ts'
import { nameIsDNSSubdomain } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { entry, type FieldError, forbidden, invalid, invalidEach, type Ref, required, withValue } from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import { internalRepresentation } from '../rules/internal-representation.ts'
import { NodeSelector, validateNodeSelector } from '../rules/pod/scheduling/node-selector.ts'
import { isList } from './attribute-rules.ts'
import { validateSkippedOperations } from './binding-rules.ts'
import { validateCounterSet, validateDevice } from './device-rules.ts'
import { stampTaint } from './device-taint.ts'
import { dropDisabled, type Feature } from './features.ts'
import { type Finding, inOrder, late, validateCodedList, validateList } from './findings.ts'
import { isFullyQualifiedName, validateDriverName, validateFullyQualifiedName, validatePoolName } from './name-rules.ts'
import { type DeviceAttribute, type ResourcePool, ResourceSliceSpec } from './slice-shapes.ts'

export const ResourceSlice = defineKind({
  group: 'resource.{group_domain}',
  version: 'v1',
  kind: 'ResourceSlice',
  scope: 'Cluster',
  names: { plural: 'resourceslices' },
  doc: 'Devices that a driver offers, as part of a pool.',
  lifecycle: { introduced: '1.34' },
  otherVersions: {
    v1beta2: { introduced: '1.33', deprecated: '1.36', removed: '1.39' },
  },
  spec: ResourceSliceSpec.required(),
  generation: true,

  defaults({ spec }, { now }) {
    for (const { taints = [] } of spec.devices ?? []) for (const taint of taints) stampTaint(taint, now)
  },
  prepareForCreate: (o, ctx) => dropDisabled(sliceFeatures, o.spec, undefined, ctx),
  prepareForUpdate: (o, old, ctx) => dropDisabled(sliceFeatures, o.spec, old.spec, ctx),
  *validate({ spec }, { spec: at }, { old, gate }) {
    yield* inOrder(validateSlice(spec, at, { old: old?.spec, gate }))
  },
  *warn({ spec: { driver } }) {
    if (driver !== driver.toLowerCase())
      yield `spec.driver: driver names should be lowercase; ${goQuote(driver)} contains uppercase characters`
  },

  deletion: { returns: 'object' },
  selectable: {
    'spec.driver': o => o.spec.driver,
    'spec.nodeName': o => o.spec.nodeName,
    'spec.pool.name': o => o.spec.pool.name,
  },
  fieldSelectors: { unsupported: (field, { apiVersion, kind }) => `field label not supported for ${apiVersion}, Kind=${kind}: ${field}` },
  columns: {
    Node: [
      'string',
      o => o.spec.nodeName ?? '',
      'NodeName identifies the node which provides the resources in this pool. A field selector can be used to list only ResourceSlice objects belonging to a certain node.\n\nThis field can be used to limit access from nodes to ResourceSlices with the same node name. It also indicates to autoscalers that adding new nodes of the same type as some old node might also make new resources available.\n\nExactly one of NodeName, NodeSelector, AllNodes, and PerDeviceNodeSelection must be set. This field is immutable.',
    ],
    Driver: [
      'string',
      o => o.spec.driver,
      'Driver identifies the DRA driver providing the capacity information. A field selector can be used to list only ResourceSlice objects with a certain driver name.\n\nMust be a DNS subdomain and should end with a DNS domain owned by the vendor of the driver. It should use only lower case characters. This field is immutable.',
    ],
    Pool: [
      'string',
      o => o.spec.pool.name,
      'Name is used to identify the pool. For node-local devices, this is often the node name, but this is not required. A field selector can be used to list only ResourceSlice objects belonging to a certain pool.\n\nIt must not be longer than 253 characters and must consist of one or more DNS sub-domains separated by slashes. This field is immutable.',
    ],
    Age: age,
  },
})

/** An object of the kind ResourceSlice. */
export type ResourceSlice = ObjectOf<typeof ResourceSlice>

const MAX_DEVICES = 128
const MAX_COSTLY_DEVICES = 64
const MAX_COUNTER_SETS = 8
const IMMUTABLE = 'field is immutable'

type SliceOptions = { readonly old: ResourceSliceSpec | undefined; readonly gate: RequestContext['gate'] }

/** Rules for a slice, and for its change from `old`. */
function* validateSlice(spec: ResourceSliceSpec, at: Ref<ResourceSliceSpec>, { old, gate }: SliceOptions): Iterable<Finding> {
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

/** The driver, pool and nodes of a slice are immutable. */
function* validateSame(spec: ResourceSliceSpec, old: ResourceSliceSpec, at: Ref<ResourceSliceSpec>): Iterable<FieldError> {
  if (spec.pool.name !== old.pool.name) yield invalid(at.pool.name, IMMUTABLE)
  if (spec.driver !== old.driver) yield invalid(at.driver, IMMUTABLE)
  if (spec.nodeName !== old.nodeName) yield invalid(withValue(at.nodeName, spec.nodeName ?? null), IMMUTABLE)
}

/** The nodes of the devices are selected in exactly one way. */
function* validateNodes(spec: ResourceSliceSpec, at: Ref<ResourceSliceSpec>): Iterable<FieldError> {
  const { nodeName, nodeSelector, allNodes, perDeviceNodeSelection } = spec
  if (nodeName === '') yield invalid(at.nodeName, 'must be either unset or set to a non-empty string')
  else if (nodeName !== undefined) yield* invalidEach(at.nodeName, nameIsDNSSubdomain(nodeName))
  if (nodeSelector) {
    yield* validateNodeSelector(nodeSelector, at.nodeSelector)
    const shown = internalRepresentation(NodeSelector, nodeSelector) as { NodeSelectorTerms: unknown }
    // Single terms make the selectors of several slices easy to combine.
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

/** Devices with taints, counters or lists are more expensive to allocate, so fewer are allowed. */
const isCostly = ({ devices = [] }: ResourceSliceSpec): boolean =>
  devices.some(
    ({ taints, consumesCounters, attributes }) =>
      taints?.length || consumesCounters?.length || Object.values(attributes ?? {}).some(isList),
  )

/** Every device that consumes counters has a partition type. */
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

const devicesOf = ({ devices = [] }: ResourceSliceSpec) => devices
const attributesOf = (spec: ResourceSliceSpec) => devicesOf(spec).flatMap(({ attributes }) => Object.values(attributes ?? {}))
const capacitiesOf = (spec: ResourceSliceSpec) => devicesOf(spec).flatMap(({ capacity }) => Object.values(capacity ?? {}))
const consumptionsOf = (spec: ResourceSliceSpec) => devicesOf(spec).flatMap(({ consumesCounters }) => consumesCounters ?? [])

const sliceFeatures: readonly Feature<ResourceSliceSpec>[] = [
  {
    gates: ['DRADeviceTaints'],
    isUsedBy: spec => devicesOf(spec).some(({ taints }) => taints?.length),
    drop(spec) {
      for (const device of devicesOf(spec)) delete device.taints
    },
  },
  {
    gates: ['DRAPartitionableDevices'],
    isUsedBy: spec =>
      Boolean(spec.sharedCounters?.length) ||
      spec.perDeviceNodeSelection !== undefined ||
      devicesOf(spec).some(
        ({ consumesCounters, nodeName, nodeSelector, allNodes }) =>
          consumesCounters?.length || nodeName !== undefined || nodeSelector || allNodes !== undefined,
      ),
    drop(spec) {
      delete spec.sharedCounters
      delete spec.perDeviceNodeSelection
      for (const device of devicesOf(spec)) {
        delete device.consumesCounters
        delete device.nodeName
        delete device.nodeSelector
        delete device.allNodes
      }
    },
  },
  {
    gates: ['DRADeviceBindingConditions'],
    isUsedBy: spec =>
      devicesOf(spec).some(
        ({ bindingConditions, bindingFailureConditions, bindsToNode }) =>
          bindingConditions?.length || bindingFailureConditions?.length || bindsToNode !== undefined,
      ),
    drop(spec) {
      for (const device of devicesOf(spec)) {
        delete device.bindingConditions
        delete device.bindingFailureConditions
        delete device.bindsToNode
      }
    },
  },
  {
    gates: ['DRAConsumableCapacity'],
    isUsedBy: spec =>
      devicesOf(spec).some(({ allowMultipleAllocations }) => allowMultipleAllocations !== undefined) ||
      capacitiesOf(spec).some(({ requestPolicy }) => requestPolicy),
    drop(spec) {
      for (const device of devicesOf(spec)) delete device.allowMultipleAllocations
      for (const capacity of capacitiesOf(spec)) delete capacity.requestPolicy
    },
  },
  {
    gates: ['DRADeviceCompatibilityGroups'],
    isUsedBy: spec => consumptionsOf(spec).some(({ compatibilityGroups }) => compatibilityGroups?.length),
    drop(spec) {
      for (const consumption of consumptionsOf(spec)) delete consumption.compatibilityGroups
    },
  },
  {
    gates: ['DRANodeAllocatableResources'],
    isUsedBy: spec => devicesOf(spec).some(({ nodeAllocatableResources }) => nodeAllocatableResources),
    drop(spec) {
      for (const device of devicesOf(spec)) delete device.nodeAllocatableResources
    },
  },
  {
    gates: ['DRAListTypeAttributes'],
    isUsedBy: spec => attributesOf(spec).some(isList),
    drop(spec) {
      for (const attribute of attributesOf(spec))
        for (const list of ['bools', 'ints', 'strings', 'versions'] as const) delete attribute[list]
    },
  },
  {
    gates: ['DRAPartitionableDevicesType'],
    isUsedBy: spec => spec.partitionTypeAttribute !== undefined,
    drop(spec) {
      delete spec.partitionTypeAttribute
    },
  },
  {
    gates: ['DRAOptionalNodeOperations'],
    isUsedBy: spec => Boolean(spec.skipNodeOperations?.length),
    drop(spec) {
      delete spec.skipNodeOperations
    },
  },
]
