/** Claims must be bound to volumes that the node can reach, or can be: those that wait for a node get a volume there. */
import { deepEqual } from '../../lib/json-value.ts'
import { integerValue, parseQuantity } from '../../lib/quantity.ts'
import type { Claim } from '../lookups.ts'
import { always, type Cycle, type Plugin, type Rejection, unresolvable } from '../plugin.ts'
import { claimNameOf, type PodInfo, podInfoOf } from '../pod-info.ts'
import { brokenLine, type ShapePoint } from '../resource-scoring.ts'
import { type PodVolumes, podVolumes, storageScore } from '../volumes/pod-volumes.ts'
import { reserveVolumes } from '../volumes/reservation.ts'

const NAME = 'VolumeBinding'
const UNBOUND = unresolvable('pod has unbound immediate PersistentVolumeClaims')
const MIGRATED = 'storage.alpha.kubernetes.io/migrated-plugins'

const volumesOf = ({ state }: Cycle): PodVolumes | undefined => state.get(NAME) as PodVolumes | undefined

export type VolumeBindingArgs = {
  /** How long a pod waits for its volumes before another node is looked for. */
  readonly bindTimeoutMs: number
  /** The score by how much of the storage is in use; without it nodes are not scored. */
  readonly shape: readonly ShapePoint[] | undefined
}

export function volumeBindingWith({ bindTimeoutMs, shape }: VolumeBindingArgs): Plugin {
  const scoreAt = shape && brokenLine(shape)
  return {
    name: NAME,
    filter(cycle) {
      const claims = claimsOf(cycle)
      if ('reasons' in claims) return claims
      if (claims.length === 0) return undefined
      const volumes = podVolumes(claims, cycle.lookups)
      if (!volumes) return UNBOUND
      cycle.state.set(NAME, volumes)
      return {
        test(node) {
          const choice = volumes.on(node)
          return 'reasons' in choice ? unresolvable(...choice.reasons) : undefined
        },
      }
    },
    score(cycle) {
      const volumes = volumesOf(cycle)
      return scoreAt && volumes?.hasChoice ? { score: node => storageScore(volumes.on(node), scoreAt) } : undefined
    },
    reserve(cycle, nodeName) {
      const volumes = volumesOf(cycle)
      const node = cycle.cluster.node(nodeName)
      if (!volumes?.hasChoice || !node) return undefined
      const choice = volumes.on(node)
      if ('reasons' in choice) return undefined
      const { cluster, info, lookups } = cycle
      return reserveVolumes(choice, {
        pod: info.uid,
        node: () => cluster.node(nodeName),
        nodeName,
        volumes: lookups.volumes,
        timeoutMs: bindTimeoutMs,
      })
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
      'capacity added': always,
      'capacity changed': (_, event) => {
        if (event.about !== 'capacity') return false
        const [before, after] = [largestOf(event.before), largestOf(event.after)]
        return after !== undefined && (before === undefined || after > before)
      },
      'csiDriver changed': (pod, event) =>
        event.about === 'csiDriver' &&
        event.before?.spec?.storageCapacity === true &&
        !event.after?.spec?.storageCapacity &&
        (pod.spec.volumes ?? []).some(({ csi }) => csi?.driver === event.after?.metadata.name),
    },
  }
}

/** The more of the storage is left, the better. */
export const DEFAULT_STORAGE_SHAPE: readonly ShapePoint[] = [
  { utilization: 0, score: 10 },
  { utilization: 100, score: 0 },
]

export const BIND_TIMEOUT_MS = 600_000

export const volumeBinding = volumeBindingWith({ bindTimeoutMs: BIND_TIMEOUT_MS, shape: DEFAULT_STORAGE_SHAPE })

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

type Limited = { readonly maximumVolumeSize?: string; readonly capacity?: string }
/** The largest volume that can be made. */
function largestOf(capacity: Limited | undefined): bigint | undefined {
  const text = capacity?.maximumVolumeSize ?? capacity?.capacity
  return text === undefined ? undefined : integerValue(parseQuantity(text))
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
