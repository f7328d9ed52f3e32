/** Fields of a claim that depend on feature gates. */
import type { ResourceClaimSpec } from './claim-shapes.ts'
import type { Feature } from './features.ts'

/** All requests and subrequests of a claim. */
const requestsOf = ({ devices }: ResourceClaimSpec) =>
  (devices.requests ?? []).flatMap(({ exactly, firstAvailable = [] }) => [...(exactly ? [exactly] : []), ...firstAvailable])

export const claimFeatures: readonly Feature<ResourceClaimSpec>[] = [
  {
    gates: ['DRADeviceTaints'],
    isUsedBy: spec => requestsOf(spec).some(({ tolerations }) => tolerations?.length),
    drop(spec) {
      for (const request of requestsOf(spec)) delete request.tolerations
    },
  },
  {
    gates: ['DRAConsumableCapacity'],
    isUsedBy: spec => usesCapacity(spec),
    drop(spec) {
      for (const constraint of spec.devices.constraints ?? []) delete constraint.distinctAttribute
      for (const request of requestsOf(spec)) delete request.capacity
    },
  },
  {
    gates: ['DRADerivedAttributes'],
    isUsedBy: spec => requestsOf(spec).some(({ derivedAttributes }) => derivedAttributes?.length),
    drop(spec) {
      for (const request of requestsOf(spec)) delete request.derivedAttributes
    },
  },
]

/** Whether a claim requests partial capacity of devices, or distinct attributes. */
export const usesCapacity = (spec: ResourceClaimSpec): boolean =>
  (spec.devices.constraints ?? []).some(({ distinctAttribute }) => distinctAttribute !== undefined) ||
  requestsOf(spec).some(({ capacity }) => capacity)
