/** Resource claims that a pod may not use, or not yet: a kubelet starts no pod without them. */

import { claimNameOf, type GroupClaims, isMadeForPod, isReservedForPod, notMadeFor } from '../../devices/pod-claims.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import type { Missing } from './references.ts'

type Claims = GroupClaims & { readonly claimNamed: (name: string) => ResourceClaim | undefined }

/** Why the first unusable claim of a pod cannot be prepared, as an event reports it. */
export function* missingForDevices(pod: Pod, claims: Claims): Iterable<Missing> {
  const extended = pod.status.extendedResourceClaimStatus
  const entries = [...(pod.spec.resourceClaims ?? []), ...(extended ? [{ name: '', resourceClaimName: extended.resourceClaimName }] : [])]
  for (const entry of entries) {
    const problem = problemOf(pod, entry, claims)
    if (!problem) continue
    const message = `Failed to prepare dynamic resources: prepare dynamic resources: ${problem.message}`
    yield { objects: [{ plural: 'resourceclaims', name: problem.claim }], message, reason: 'FailedPrepareDynamicResources' }
    return
  }
}

function problemOf(
  pod: Pod,
  entry: Parameters<typeof claimNameOf>[1],
  claims: Claims,
): { readonly claim: string; readonly message: string } | undefined {
  const { namespace, name, uid } = pod.metadata
  const named = claimNameOf(pod, entry)
  if (named.type === 'not needed') return undefined
  if (named.type === 'not made') return { claim: '', message: `pod "${namespace}/${name}": ResourceClaim not created yet` }
  const claim = claims.claimNamed(named.name)
  const fail = (message: string) => ({ claim: named.name, message })
  if (!claim) return fail(`fetch ResourceClaim ${named.name}: resourceclaims.resource.k8s.io "${named.name}" not found`)
  if (named.type === 'made' && !isMadeForPod(pod, claim, claims)) return fail(notMadeFor(pod, claim, claims))
  if (!isReservedForPod(pod, claim, claims))
    return fail(`pod ${name} (${uid}) is not allowed to use ResourceClaim ${named.name} (${claim.metadata.uid})`)
  return claim.status.allocation ? undefined : fail(`ResourceClaim ${named.name}: not allocated`)
}
