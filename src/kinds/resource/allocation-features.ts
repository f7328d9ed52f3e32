/** What the status of a claim may say depends on feature gates; and what is said of devices goes with them. */
import { identityOf } from './allocation-rules.ts'
import type { ResourceClaimStatus } from './allocation-shapes.ts'
import { usesCapacity } from './claim-features.ts'
import type { ResourceClaimSpec } from './claim-shapes.ts'
import type { Feature } from './features.ts'

type Claim = { spec: ResourceClaimSpec; status: ResourceClaimStatus }

const resultsOf = ({ status }: Claim) => status.allocation?.devices.results ?? []

export const allocationFeatures: readonly Feature<Claim>[] = [
  {
    gates: ['DRAConsumableCapacity'],
    isUsedBy: claim =>
      usesCapacity(claim.spec) ||
      resultsOf(claim).some(({ shareID, consumedCapacity }) => shareID !== undefined || consumedCapacity) ||
      (claim.status.devices ?? []).some(({ shareID }) => shareID !== undefined),
    drop(claim) {
      for (const result of resultsOf(claim)) {
        delete result.shareID
        delete result.consumedCapacity
      }
      for (const device of claim.status.devices ?? []) delete device.shareID
    },
  },
  {
    gates: ['DRADeviceBindingConditions'],
    isUsedBy: claim => resultsOf(claim).some(result => result.bindingConditions || result.bindingFailureConditions),
    drop(claim) {
      for (const result of resultsOf(claim)) {
        delete result.bindingConditions
        delete result.bindingFailureConditions
      }
    },
  },
  {
    gates: ['DRAOptionalNodeOperations'],
    isUsedBy: claim => resultsOf(claim).some(({ skipNodeOperations }) => skipNodeOperations?.length),
    drop(claim) {
      for (const result of resultsOf(claim)) delete result.skipNodeOperations
    },
  },
]

/** Forgets what is said of devices that the claim had and no longer has, so that whoever takes them back need not. */
export function forgetReturnedDevices(claim: Claim, old: Claim): void {
  const { status } = claim
  const kept = new Set(resultsOf(claim).map(identityOf))
  const returned = new Set(
    resultsOf(old)
      .map(identityOf)
      .filter(identity => !kept.has(identity)),
  )
  const devices = (status.devices ?? []).filter(device => !returned.has(identityOf(device)))
  if (devices.length > 0) status.devices = devices
  else delete status.devices
}
