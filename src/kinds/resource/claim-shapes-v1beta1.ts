/** The spec of a claim in v1beta1, where a request has the fields of an exact one beside its alternatives. */
import { atomic, bool, int64, message, type Static, string } from '../../schema/types.ts'
import {
  CapacityRequirements,
  DeviceClaimConfiguration,
  DeviceConstraint,
  DeviceDerivedAttribute,
  DeviceSelector,
  defaultCount,
  type DeviceRequest as StoredRequest,
  type ResourceClaimSpec as StoredSpec,
} from './claim-shapes.ts'
import { DeviceToleration } from './device-taint.ts'

const DeviceSubRequest = message(
  'DeviceSubRequest',
  {
    name: [1, string.always(), 'Unique in the request; others refer to it as REQUEST/NAME.'],
    deviceClassName: [2, string.always(), 'The class of the devices.'],
    selectors: [3, atomic(DeviceSelector), 'Conditions on each device beside those of the class; all must hold.'],
    allocationMode: [
      4,
      string.listed('All', 'ExactCount'),
      'ExactCount for a number of devices, All for every matching one. ExactCount if unset.',
    ],
    count: [5, int64, 'How many devices with ExactCount; one if unset.'],
    tolerations: [7, atomic(DeviceToleration), 'Taints of devices that do not matter.'],
    capacity: [8, CapacityRequirements, 'How much of each device is wanted.'],
    derivedAttributes: [9, atomic(DeviceDerivedAttribute), 'Attributes worked out for each device, for constraints to compare.'],
  },
  { defaults: defaultCount },
)

const DeviceRequest = message(
  'DeviceRequest',
  {
    name: [1, string.always(), 'Unique in the claim; pods, constraints and configuration refer to it.'],
    deviceClassName: [2, string.always().omittable(), 'The class of the devices; either this or firstAvailable.'],
    selectors: [3, atomic(DeviceSelector), 'Conditions on each device beside those of the class; all must hold.'],
    allocationMode: [
      4,
      string.listed('All', 'ExactCount'),
      'ExactCount for a number of devices, All for every matching one. ExactCount if unset.',
    ],
    count: [5, int64, 'How many devices with ExactCount; one if unset.'],
    adminAccess: [6, bool.optional(), 'Whether devices are used for administration, even while others use them.'],
    firstAvailable: [7, atomic(DeviceSubRequest), 'Alternatives in order of preference, of which one is allocated.'],
    tolerations: [8, atomic(DeviceToleration), 'Taints of devices that do not matter.'],
    capacity: [9, CapacityRequirements, 'How much of each device is wanted.'],
    derivedAttributes: [10, atomic(DeviceDerivedAttribute), 'Attributes worked out for each device, for constraints to compare.'],
  },
  {
    defaults(request) {
      if (request.deviceClassName) defaultCount(request)
    },
  },
)
type DeviceRequest = Static<typeof DeviceRequest>

const DeviceClaim = message('DeviceClaim', {
  requests: [1, atomic(DeviceRequest).always().omittable(), 'The device requests; all must be satisfied.'],
  constraints: [2, atomic(DeviceConstraint), 'What the devices of several requests must have in common.'],
  config: [3, atomic(DeviceClaimConfiguration), 'How the devices are set up; the choice of devices does not depend on it.'],
})

export const ResourceClaimSpec = message('ResourceClaimSpec', {
  devices: [1, DeviceClaim.orEmpty(), 'The devices wanted.'],
})
export type ResourceClaimSpec = Static<typeof ResourceClaimSpec>

export const storedSpec = ({ devices }: ResourceClaimSpec): StoredSpec => ({
  devices: { ...devices, requests: devices.requests?.map(storedRequest) ?? null },
})

export const servedSpec = ({ devices }: StoredSpec): ResourceClaimSpec => ({
  devices: { ...devices, requests: devices.requests?.map(servedRequest) ?? null },
})

/** A request is an exact one if any field of those is set. */
function storedRequest({ name, firstAvailable, ...exact }: DeviceRequest): StoredRequest {
  const { deviceClassName = '', selectors, allocationMode, count, adminAccess, tolerations, capacity, derivedAttributes } = exact
  const isExact =
    deviceClassName || selectors || allocationMode || count || adminAccess !== undefined || tolerations || capacity || derivedAttributes
  return { name, ...(isExact && { exactly: { ...exact, deviceClassName } }), ...(firstAvailable && { firstAvailable }) }
}

const servedRequest = ({ name, exactly, firstAvailable }: StoredRequest): DeviceRequest => ({
  name,
  deviceClassName: '',
  ...exactly,
  ...(firstAvailable && { firstAvailable }),
})
