/**
 * Reserves volumes for the claims of a pod between the choice of its node and its binding. It first writes which volumes they get, and
 * the node for which a new one is provisioned, and then waits until they are bound. After a restart the annotations of claims show the choice.
 */
import { queueKey } from '../../client/change.ts'
import {
  annotated,
  annotationOf,
  isFullyBound,
  nodesReaching,
  SELECTED_NODE,
  volumeBoundTo,
} from '../../kinds/rules/persistent-volume/binding.ts'
import type { Claim, Volume, Volumes } from '../lookups.ts'
import type { NodeInfo } from '../node-info.ts'
import type { Reservation } from '../plugin.ts'
import type { Choice } from './pod-volumes.ts'

/** How often it is looked again where no change says that it is worth it. */
const LOOK_AGAIN_MS = 30_000

type Parts = {
  readonly pod: string
  readonly node: () => NodeInfo | undefined
  readonly nodeName: string
  readonly volumes: Volumes
  /** How long the pod waits for its volumes before another node is looked for. */
  readonly timeoutMs: number
}

export function reserveVolumes(
  choice: Exclude<Choice, { reasons: unknown }>,
  { pod, node, nodeName, volumes, timeoutMs }: Parts,
): Reservation {
  const bindings = choice.bindings.map(({ claim, volume }) => ({
    claim,
    name: volume.metadata.name ?? '',
    changed: volumeBoundTo(volume, claim),
  }))
  const provisions = choice.provisions.map(({ claim }) => ({
    claim,
    changed: annotationOf(claim, SELECTED_NODE) === nodeName ? undefined : annotated(claim, { [SELECTED_NODE]: nodeName }),
  }))
  const changedVolumes = bindings.flatMap(({ changed }) => (changed ? [changed as Volume] : []))
  const changedClaims = provisions.flatMap(({ changed }) => (changed ? [changed as Claim] : []))
  const keys = [...bindings, ...provisions].map(({ claim }) => queueKey(claim.metadata))
  for (const volume of changedVolumes) volumes.assumeVolume(volume)
  for (const claim of changedClaims) volumes.assumeClaim(claim)
  let begun: number | undefined

  function withdraw(): void {
    for (const volume of changedVolumes) volumes.forgetVolume(volume)
    for (const claim of changedClaims) volumes.forgetClaim(claim)
    for (const key of keys) if (volumes.waiting.get(key) === pod) volumes.waiting.delete(key)
  }

  /** Whether all is bound. Throws when that will not happen. */
  function isBound(): boolean {
    const there = node()
    if (!there) throw new Error(`failed to get node "${nodeName}"`)
    const assertReach = (volume: Volume) => {
      if (nodesReaching(volume)?.(there) === false)
        throw new Error(`pv "${volume.metadata.name}" node affinity doesn't match node "${nodeName}": no matching NodeSelectorTerms`)
    }
    const claimOf = ({ metadata: { namespace = '', name = '' } }: Claim) => {
      const claim = volumes.stored.claim(namespace, name)
      if (!claim) throw new Error(`failed to check binding: persistentvolumeclaim "${name}" not found`)
      return claim
    }
    let areBound = true
    for (const { claim, name } of bindings) {
      const volume = volumes.stored.volume(name)
      if (!volume) throw new Error(`failed to check binding: persistentvolume "${name}" not found`)
      assertReach(volume)
      if (!volume.spec.claimRef?.uid) throw new Error(`ClaimRef got reset for pv "${name}"`)
      areBound &&= isFullyBound(claimOf(claim))
    }
    for (const { claim } of provisions) {
      const current = claimOf(claim)
      const { name } = current.metadata
      if (!current.metadata.annotations) throw new Error(`selectedNode annotation reset for PVC "${name}"`)
      if (annotationOf(current, SELECTED_NODE) !== nodeName) throw new Error(`provisioning failed for PVC "${name}"`)
      const volume = current.spec.volumeName ? volumes.stored.volume(current.spec.volumeName) : undefined
      if (volume) assertReach(volume)
      areBound &&= isFullyBound(current)
    }
    return areBound
  }

  return {
    async prepare() {
      if (begun === undefined) {
        begun = volumes.now()
        for (const key of keys) volumes.waiting.set(key, pod)
        for (const volume of changedVolumes) await volumes.writeVolume(volume)
        for (const claim of changedClaims) await volumes.writeClaim(claim)
      }
      const left = begun + timeoutMs - volumes.now()
      try {
        if (isBound()) {
          withdraw()
          return undefined
        }
        if (left <= 0) throw new Error('context deadline exceeded')
      } catch (error) {
        throw new Error(`binding volumes: ${(error as Error).message}`)
      }
      return Math.min(left, LOOK_AGAIN_MS)
    },
    withdraw,
    async release() {
      withdraw()
    },
  }
}
