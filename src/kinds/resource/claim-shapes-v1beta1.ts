/** The spec of a claim in v1beta1, where a request has the fields of an exact one beside its alternatives. */
import { atomic, bool, message, type Static, string } from '../../schema/types.ts'
import {
  DeviceClaimConfiguration,
  DeviceConstraint,
  defaultCount,
  type DeviceRequest as StoredRequest,
  type ResourceClaimSpec as StoredSpec,
  useOfDevices,
  wantedDevices,
} from './claim-shapes.ts'

const DeviceSubRequest = message(
  'DeviceSubRequest',
  {
    name: [1, string.always(), 'Unique in the request; others refer to it as REQUEST/NAME.'],
    ...wantedDevices(2),
    ...useOfDevices(7),
  },
  { defaults: defaultCount },
)

const DeviceRequest = message(
  'DeviceRequest',
  {
    name: [1, string.always(), 'Unique in the claim; pods, constraints and configuration refer to it.'],
    ...wantedDevices(2),
    deviceClassName: [2, string.always().omittable(), 'The class of the devices; either this or firstAvailable.'],
    adminAccess: [6, bool.optional(), 'Whether devices are used for administration, even while others use them.'],
    firstAvailable: [7, atomic(DeviceSubRequest), 'Alternatives in order of preference, of which one is allocated.'],
    ...useOfDevices(8),
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
  constraints: [2, atomic(DeviceConstraint), 'Requirements that the devices of several requests must satisfy together.'],
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

/** Requests have the fields of exact ones themselves in this version. */
export const servedPath = (path: string): string => path.replace('].exactly.', '].')
