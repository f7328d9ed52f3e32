/**
 * Pods that claim devices wait: devices are not allocated yet. This is the place for it: a filter over the nodes that have
 * devices for all claims, and changes of claims and devices that are worth another try.
 */
import { type Plugin, unresolvable } from '../plugin.ts'

const UNAVAILABLE = unresolvable('cannot allocate all claims')

export const dynamicResources: Plugin = {
  name: 'DynamicResources',
  filter({ pod: { spec, status }, info: { namespace, name: pod }, lookups }) {
    const claims = spec.resourceClaims ?? []
    if (claims.length === 0) return undefined
    for (const { name, resourceClaimName } of claims) {
      const made = status.resourceClaimStatuses?.find(each => each.name === name)
      // A claim that need not be made has a status without a name.
      if (made && !made.resourceClaimName) continue
      const claim = resourceClaimName ?? made?.resourceClaimName
      if (!claim) return unresolvable(`pod "${namespace}/${pod}": ResourceClaim not created yet`)
      if (!lookups.hasResourceClaim(namespace, claim)) return unresolvable(`resourceclaim.resource.k8s.io "${claim}" not found`)
    }
    return { test: () => UNAVAILABLE }
  },
  queueingHints: { 'resourceClaim changed': () => true, 'self claims': () => true },
}
