/** ResourceSlice in v1beta1, where the properties of a device are one level deeper. */
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { atomic, bool, message, type Static, set, string } from '../../schema/types.ts'
import { NodeSelector } from '../rules/pod/scheduling/node-selector.ts'
import { stampTaint } from './device-taint.ts'
import { ResourceSlice } from './resourceslice.ts'
import { CounterSet, deviceProperties, ResourcePool, type Device as StoredDevice } from './slice-shapes.ts'

const BasicDevice = message('BasicDevice', deviceProperties(1))

const Device = message('Device', {
  name: [1, string.always(), 'Unique in the pool.'],
  basic: [2, BasicDevice, 'The properties of the device.'],
})
type Device = Static<typeof Device>

const ResourceSliceSpec = message('ResourceSliceSpec', {
  driver: [1, string.always(), 'The driver that offers the devices. Cannot change.'],
  pool: [2, ResourcePool.orEmpty().required(), 'The pool of the devices. Its name cannot change.'],
  nodeName: [3, string, 'The one node that can use them. Cannot change.'],
  nodeSelector: [4, NodeSelector, 'The nodes that can use them, as a single term.'],
  allNodes: [5, bool, 'Whether all nodes can use them.'],
  devices: [6, atomic(Device), 'The devices; at most 128, or 64 with taints, counters or lists.'],
  perDeviceNodeSelection: [7, bool.optional(), 'Whether each device says which nodes can use it.'],
  sharedCounters: [8, atomic(CounterSet), 'The counters that devices of the pool share; a slice has either these or devices.'],
  partitionTypeAttribute: [9, string.optional(), 'The attribute that identifies the type of a partition.'],
  skipNodeOperations: [
    10,
    set(string.listed('*', 'NodePrepareResources', 'NodeUnprepareResources')),
    'Operations of the driver that nodes can skip.',
  ],
})

export const ResourceSliceV1beta1 = defineKind({
  group: 'resource.{group_domain}',
  version: 'v1beta1',
  kind: 'ResourceSlice',
  scope: 'Cluster',
  names: ResourceSlice.def.names,
  doc: 'Devices that a driver offers, as part of a pool.',
  lifecycle: { introduced: '1.32', deprecated: '1.35', removed: '1.38' },
  spec: ResourceSliceSpec.required(),

  defaults({ spec }, { now }) {
    for (const { basic } of spec.devices ?? []) for (const taint of basic?.taints ?? []) stampTaint(taint, now)
  },

  conversion: {
    storedVersion: ResourceSlice,
    toStored({ spec: { nodeName, allNodes, devices, ...spec }, ...o }) {
      return {
        ...o,
        spec: {
          ...spec,
          ...(nodeName && { nodeName }),
          ...(allNodes && { allNodes }),
          ...(devices && { devices: devices.map(storedDevice) }),
        },
      }
    },
    fromStored({ spec: { devices, ...spec }, ...o }: ResourceSlice) {
      return { ...o, spec: { ...spec, ...(devices && { devices: devices.map(servedDevice) }) } }
    },
  },
})

/** An object of the kind ResourceSliceV1beta1. */
export type ResourceSliceV1beta1 = ObjectOf<typeof ResourceSliceV1beta1>

const storedDevice = ({ name, basic }: Device): StoredDevice => ({ name, ...basic })
const servedDevice = ({ name, ...basic }: StoredDevice): Device => ({ name, basic })
