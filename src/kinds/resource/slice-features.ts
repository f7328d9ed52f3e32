/** What a slice may offer depends on feature gates. */
import { isList } from './attribute-rules.ts'
import type { Feature } from './features.ts'
import type { ResourceSliceSpec } from './slice-shapes.ts'

const devicesOf = ({ devices = [] }: ResourceSliceSpec) => devices
const attributesOf = (spec: ResourceSliceSpec) => devicesOf(spec).flatMap(({ attributes }) => Object.values(attributes ?? {}))
const capacitiesOf = (spec: ResourceSliceSpec) => devicesOf(spec).flatMap(({ capacity }) => Object.values(capacity ?? {}))
const consumptionsOf = (spec: ResourceSliceSpec) => devicesOf(spec).flatMap(({ consumesCounters }) => consumesCounters ?? [])

export const sliceFeatures: readonly Feature<ResourceSliceSpec>[] = [
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
