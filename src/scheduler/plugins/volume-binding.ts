/**
 * Claims must be bound to volumes that the node can reach. Claims whose volume is chosen only once the pod has a node are not
 * bound here yet: `bindLater` is where that goes.
 */
import type { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { nodesSelectedBy } from '../../kinds/shapes/pod/scheduling/node-match.ts'
import { classOf } from '../../kinds/shapes/storage-class.ts'
import { deepEqual, getOwn } from '../../lib/json-value.ts'
import type { ObjectOf } from '../../schema/kind.ts'
import type { Lookups } from '../lookups.ts'
import { always, type Cycle, type NodeFilter, type Plugin, type Rejection, unresolvable } from '../plugin.ts'
import { claimNameOf, type PodInfo, podInfoOf } from '../pod-info.ts'

type Claim = ObjectOf<typeof PersistentVolumeClaim>

const UNBOUND = unresolvable('pod has unbound immediate PersistentVolumeClaims')
const UNREACHABLE = unresolvable("node(s) didn't match PersistentVolume's node affinity")
const VOLUME_GONE = unresolvable('node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)')
const NO_VOLUME = unresolvable("node(s) didn't find available persistent volumes to bind")

const BIND_COMPLETED = 'pv.kubernetes.io/bind-completed'
const MIGRATED = 'storage.alpha.kubernetes.io/migrated-plugins'

export const volumeBinding: Plugin = {
  name: 'VolumeBinding',
  filter(cycle) {
    const claims = claimsOf(cycle)
    if ('reasons' in claims) return claims
    if (claims.length === 0) return undefined
    const [bound, later]: [Claim[], Claim[]] = [[], []]
    for (const claim of claims) {
      if (claim.spec.volumeName && getOwn(claim.metadata.annotations ?? {}, BIND_COMPLETED) !== undefined) bound.push(claim)
      else if (!claim.spec.volumeName && isBoundLater(claim, cycle.lookups)) later.push(claim)
      else return UNBOUND
    }
    const reachable = boundFilter(bound, cycle.lookups)
    if (later.length === 0) return reachable
    const bindable = bindLater(later, cycle)
    return { test: node => reachable.test(node) ?? bindable.test(node) }
  },
  queueingHints: {
    'class added': always,
    'class changed': (_, event) => event.about === 'class' && !deepEqual(event.before?.allowedTopologies, event.after?.allowedTopologies),
    'claim added': isOwnClaim,
    'claim changed': isOwnClaim,
    'volume added': always,
    'volume changed': always,
    'node added': always,
    'node labels': always,
    'csiNode added': always,
    'csiNode changed': (_, event) =>
      event.about === 'csiNode' && event.before?.metadata.annotations?.[MIGRATED] !== event.after?.metadata.annotations?.[MIGRATED],
    'csiDriver changed': (pod, event) =>
      event.about === 'csiDriver' &&
      event.before?.spec?.storageCapacity === true &&
      !event.after?.spec?.storageCapacity &&
      (pod.spec.volumes ?? []).some(({ csi }) => csi?.driver === event.after?.metadata.name),
  },
}

/** The claims of a pod, or why it cannot have them. */
function claimsOf({ pod, info, lookups }: Cycle): Claim[] | Rejection {
  const claims: Claim[] = []
  for (const volume of pod.spec.volumes ?? []) {
    const name = claimNameOf(volume, info.name)
    if (name === undefined) continue
    const claim = lookups.claim(info.namespace, name)
    if (!claim)
      return unresolvable(
        volume.ephemeral
          ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`
          : `persistentvolumeclaim "${name}" not found`,
      )
    if (claim.status?.phase === 'Lost')
      return unresolvable(`persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec.volumeName ?? ''}"`)
    if (claim.metadata.deletionTimestamp) return unresolvable(`persistentvolumeclaim "${name}" is being deleted`)
    if (volume.ephemeral && !isMadeFor(info, claim))
      return unresolvable(`PVC ${info.namespace}/${name} was not created for pod ${info.namespace}/${info.name} (pod is not owner)`)
    claims.push(claim)
  }
  return claims
}

const isMadeFor = ({ uid }: PodInfo, { metadata: { ownerReferences = [] } }: Claim): boolean =>
  ownerReferences.some(owner => owner.controller && owner.uid === uid)

/** Whether the volume of a claim is chosen once its pod has a node. */
function isBoundLater(claim: Claim, lookups: Lookups): boolean {
  const name = classOf(claim)
  return name !== undefined && name !== '' && lookups.storageClass(name)?.volumeBindingMode === 'WaitForFirstConsumer'
}

/** Volumes that claims have already must be within reach of the node. */
function boundFilter(claims: readonly Claim[], lookups: Lookups): NodeFilter {
  const reaches = claims.map(({ spec }) => {
    const volume = lookups.volume(spec.volumeName ?? '')
    if (!volume) return undefined
    const required = volume.spec.nodeAffinity?.required
    return required ? nodesSelectedBy(required) : () => true
  })
  return {
    test(node) {
      for (const reach of reaches) {
        if (!reach) return VOLUME_GONE
        if (!reach(node)) return UNREACHABLE
      }
      return undefined
    },
  }
}

/** The place for claims that are bound to a volume, or get one provisioned, on the node that the pod is given. */
function bindLater(_claims: readonly Claim[], _cycle: Cycle): NodeFilter {
  return { test: () => NO_VOLUME }
}

function isOwnClaim(
  pod: Parameters<typeof podInfoOf>[0],
  event: Parameters<NonNullable<NonNullable<Plugin['queueingHints']>['claim added']>>[1],
): boolean {
  return (
    event.about === 'claim' &&
    event.after?.metadata.namespace === pod.metadata.namespace &&
    podInfoOf(pod).claims.includes(event.after?.metadata.name ?? '')
  )
}
