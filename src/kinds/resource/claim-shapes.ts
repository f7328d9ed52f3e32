/** The spec of a claim: device requests, constraints and configuration. */
import { atomic, bool, inlined, int64, mapOf, message, quantity, raw, type Static, string } from '../../schema/types.ts'
import { DeviceToleration } from './device-taint.ts'

const CELDeviceSelector = message('CELDeviceSelector', {
  expression: [1, string.always(), 'A CEL expression over `device` that is true for devices that fit.'],
})

export const DeviceSelector = message('DeviceSelector', {
  cel: [1, CELDeviceSelector, 'An expression that the device must satisfy.'],
})
export type DeviceSelector = Static<typeof DeviceSelector>

export const CapacityRequirements = message('CapacityRequirements', {
  requests: [1, mapOf(quantity), 'How much of each capacity the device must provide.'],
})

export const DeviceDerivedAttribute = message('DeviceDerivedAttribute', {
  name: [
    1,
    string.always(),
    'Its name with a domain; constraints refer to it, and it hides an attribute of the device with the same name.',
  ],
  expression: [2, string.always(), 'A CEL expression over `device` that gives its value.'],
})
export type DeviceDerivedAttribute = Static<typeof DeviceDerivedAttribute>

type Counted = { allocationMode?: string; count?: number | bigint }

/** The default is one device. */
export function defaultCount(request: Counted): void {
  request.allocationMode ??= 'ExactCount'
  if (request.allocationMode === 'ExactCount') request.count ??= 1
}

/** The devices that a request is for, in every version; the fields are numbered from a first one on. */
export const wantedDevices = (first: number) =>
  ({
    deviceClassName: [first, string.always(), 'The class of the devices.'],
    selectors: [first + 1, atomic(DeviceSelector), 'Conditions on each device beside those of the class; all must hold.'],
    allocationMode: [
      first + 2,
      string.listed('All', 'ExactCount'),
      'ExactCount for a number of devices, All for every matching one. ExactCount if unset.',
    ],
    count: [first + 3, int64, 'How many devices with ExactCount; one if unset.'],
  }) as const

/** How each of these devices is used, likewise. */
export const useOfDevices = (first: number) =>
  ({
    tolerations: [first, atomic(DeviceToleration), 'Taints of devices that do not matter.'],
    capacity: [first + 1, CapacityRequirements, 'How much of each device is wanted.'],
    derivedAttributes: [first + 2, atomic(DeviceDerivedAttribute), 'Attributes worked out for each device, for constraints to compare.'],
  }) as const

export const ExactDeviceRequest = message(
  'ExactDeviceRequest',
  {
    ...wantedDevices(1),
    adminAccess: [5, bool.optional(), 'Whether devices are used for administration, even while others use them.'],
    ...useOfDevices(6),
  },
  { defaults: defaultCount },
)
export type ExactDeviceRequest = Static<typeof ExactDeviceRequest>

export const DeviceSubRequest = message(
  'DeviceSubRequest',
  {
    name: [1, string.always(), 'Unique in the request; others refer to it as REQUEST/NAME.'],
    ...wantedDevices(2),
    ...useOfDevices(6),
  },
  { defaults: defaultCount },
)
export type DeviceSubRequest = Static<typeof DeviceSubRequest>

export const DeviceRequest = message('DeviceRequest', {
  name: [1, string.always(), 'Unique in the claim; pods, constraints and configuration refer to it.'],
  exactly: [2, ExactDeviceRequest, 'The requested devices; either this or firstAvailable.'],
  firstAvailable: [3, atomic(DeviceSubRequest), 'Alternatives in order of preference, of which one is allocated.'],
})
export type DeviceRequest = Static<typeof DeviceRequest>

export const DeviceConstraint = message('DeviceConstraint', {
  requests: [1, atomic(string), 'The requests it holds for; all when empty.'],
  matchAttribute: [2, string.optional(), 'An attribute with its domain that must be the same on all devices.'],
  distinctAttribute: [3, string.optional(), 'An attribute with its domain that must differ between all devices.'],
})
export type DeviceConstraint = Static<typeof DeviceConstraint>

export const OpaqueDeviceConfiguration = message('OpaqueDeviceConfiguration', {
  driver: [1, string.always(), 'The driver that understands the parameters.'],
  parameters: [2, raw.always(), 'Arbitrary parameters for the driver, as an object.'],
})
export type OpaqueDeviceConfiguration = Static<typeof OpaqueDeviceConfiguration>

const configuration = { opaque: [1, OpaqueDeviceConfiguration, 'Parameters for one driver.'] } as const

export const DeviceClassConfiguration = message('DeviceClassConfiguration', { ...inlined(1, configuration) })
export type DeviceClassConfiguration = Static<typeof DeviceClassConfiguration>

export const DeviceClaimConfiguration = message('DeviceClaimConfiguration', {
  requests: [1, atomic(string), 'The requests it is for; all when empty.'],
  ...inlined(2, configuration),
})

export const DeviceAllocationConfiguration = message('DeviceAllocationConfiguration', {
  source: [1, string.listed('FromClaim', 'FromClass').always(), 'Its source: FromClass or FromClaim.'],
  requests: [2, atomic(string), 'The requests it is for; all when empty.'],
  ...inlined(3, configuration),
})
export type DeviceAllocationConfiguration = Static<typeof DeviceAllocationConfiguration>

export const DeviceClaim = message('DeviceClaim', {
  requests: [1, atomic(DeviceRequest).always().omittable(), 'The device requests; all must be satisfied.'],
  constraints: [2, atomic(DeviceConstraint), 'Requirements that the devices of several requests must satisfy together.'],
  config: [3, atomic(DeviceClaimConfiguration), 'How the devices are set up; the choice of devices does not depend on it.'],
})
export type DeviceClaim = Static<typeof DeviceClaim>

export const ResourceClaimSpec = message('ResourceClaimSpec', {
  devices: [1, DeviceClaim.orEmpty(), 'The devices wanted.'],
})
export type ResourceClaimSpec = Static<typeof ResourceClaimSpec>
