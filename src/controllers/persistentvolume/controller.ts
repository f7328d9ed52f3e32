/**
 * Binds claims and volumes to each other, requests volumes that have to be provisioned, and reclaims released ones. A binding is four
 * writes, the volume's first, and each is made only of what was read: after a conflict everything is read again.
 */
import type { Notice } from '../../client/event-recorder.ts'
import type { IndexDefinition } from '../../client/informer.ts'
import { type Named, namedBy, queueKey } from '../../client/object-revision.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { isDefaultStorageClass, newestDefault } from '../../kinds/rules/default-class.ts'
import { BIND_COMPLETED, hasAnnotation, matchingVolume, volumeBoundTo } from '../../kinds/rules/persistent-volume/binding.ts'
import { classOf } from '../../kinds/rules/storage-class.ts'
import { StorageClass } from '../../kinds/storage/storageclass.ts'
import { type ControllerContext, defineController, watch } from '../controller.ts'
import { CLAIM_INDEX, claimsOf, isOver } from '../protection/usage.ts'
import { IN_TREE_FINALIZER, settledClaim, settledVolume } from './in-tree.ts'
import {
  type ClaimSurroundings,
  claimBoundTo,
  claimStatus,
  claimToBeMadeBy,
  nextClaimStep,
  nextVolumeStep,
  reclaimOf,
  unboundVolume,
} from './reconcile.ts'
import { nextRecycleStep, RECYCLER_NAMESPACE, recycledBy, recyclerName } from './recycle.ts'

type Claim = PersistentVolumeClaim
type Volume = PersistentVolume

const [CLAIM, VOLUME] = ['claim/', 'volume/']
const claimKey = (named: Named): string => `${CLAIM}${queueKey(named)}`
const volumeKey = (name: string): string => `${VOLUME}${name}`

/** Volumes by the claim that they name, or else by their class. */
const VOLUMES: IndexDefinition<Volume> = {
  name: 'claim-or-class',
  valuesOf({ object }) {
    if (!object) return []
    const { claimRef } = object.spec
    return [claimRef ? claimKey(claimRef) : `class/${classOf(object) ?? ''}`]
  },
}
/** Claims by the volume that they name; those without by their class. Those that name no class at all could get one. */
const CLAIMS: IndexDefinition<Claim> = {
  name: 'volume-or-class',
  valuesOf({ object }) {
    if (!object) return []
    if (object.spec.volumeName) return [volumeKey(object.spec.volumeName)]
    if (hasAnnotation(object, BIND_COMPLETED)) return []
    const className = classOf(object)
    return className === undefined ? ['class/', UNCLASSED] : [`class/${className}`]
  },
}
const UNCLASSED = 'unclassed'
/** After this time a recycler is started again that has failed. */
const RECYCLE_AGAIN_MS = 15_000

export const persistentVolumeBinder = defineController({
  name: 'persistentvolume-binder-controller',
  identity: 'persistent-volume-binder',
  component: 'persistentvolume-controller',
  workers: 4,
  create({ client, recorder, enqueue }: ControllerContext) {
    const [claims, volumes, classes, pods] = [
      client.of(PersistentVolumeClaim),
      client.of(PersistentVolume),
      client.of(StorageClass),
      client.of(Pod),
    ]
    /** The pods that this process has started to empty volumes, by uid. */
    const recyclers = new Set<string>()
    /** By claim: the volume that is emptied once its last pod is gone. */
    const heldBack = new Map<string, string>()
    const say = (object: Claim | Volume, { type, reason, message }: Notice) => recorder.event(object, type, reason, message)

    function* waitingFor(value: string): Iterable<string> {
      for (const { metadata } of claims.byIndex(CLAIMS, value)) yield claimKey(metadata)
    }
    const hasClaims = (namespace: string): boolean => {
      for (const _ of claims.revisions({ namespace })) return true
      return false
    }

    function around(claim: Claim): ClaimSurroundings {
      return {
        *volumes() {
          yield* volumes.byIndex(VOLUMES, claimKey(claim.metadata))
          yield* volumes.byIndex(VOLUMES, `class/${classOf(claim) ?? ''}`)
        },
        volume: name => volumes.get({ name }),
        storageClass: name => classes.get({ name }),
        defaultClass: () => newestDefault(classes.list(), isDefaultStorageClass)?.metadata.name,
        waitingPods() {
          const users = [...pods.byIndex(CLAIM_INDEX, queueKey(claim.metadata))]
          return users.filter(({ spec, status }) => !spec.nodeName && !isOver(status.phase)).map(({ metadata }) => metadata.name ?? '')
        },
      }
    }

    async function reconcileClaim(named: Named): Promise<void> {
      const stored = claims.get(named)
      if (!stored) return
      const settled = settledClaim(stored)
      const claim = settled ? (await claims.update(settled))?.object : stored
      if (!claim) return
      const next = nextClaimStep(claim, around(claim))
      switch (next.step) {
        case 'bind':
          return bind(claim, next.volume)
        case 'class':
          await claims.update({ ...claim, spec: { ...claim.spec, storageClassName: next.name } })
          return
        case 'provision': {
          const asked = claimToBeMadeBy(claim, next.provisioner)
          const written = asked ? (await claims.update(settledClaim(asked) ?? asked))?.object : claim
          if (written) say(written, next.notice)
          return
        }
        case 'pending':
          if (next.notice) say(claim, next.notice)
          await setClaimStatus(claim, 'Pending')
          return
        case 'say':
          say(claim, next.notice)
          return
        case 'lose':
          if (claim.status.phase === 'Lost') return
          await setClaimStatus(claim, 'Lost')
          say(claim, next.notice)
          return
      }
    }

    async function setClaimStatus(claim: Claim, phase: 'Pending' | 'Bound' | 'Lost', volume?: Volume): Promise<void> {
      const status = claimStatus(claim, phase, volume)
      if (status) await claims.updateStatus({ ...claim, status })
    }

    async function setPhase(volume: Volume, phase: string, message = ''): Promise<Volume | undefined> {
      if (volume.status.phase === phase) return volume
      const { message: _, ...status } = volume.status
      return (await volumes.updateStatus({ ...volume, status: { ...status, phase, ...(message && { message }) } }))?.object
    }

    /** The volume first: its write decides who has it. */
    async function bind(claim: Claim, name: string): Promise<void> {
      const stored = volumes.get({ name })
      const changed = stored && volumeBoundTo(stored, claim)
      const written = changed ? (await volumes.update(changed))?.object : stored
      const volume = written && (await setPhase(written, 'Bound'))
      // Deleted meanwhile, before it named the claim: another one may suit.
      if (!volume) return enqueue(claimKey(claim.metadata))
      const changedClaim = claimBoundTo(claim, name)
      const bound = changedClaim ? (await claims.update(changedClaim))?.object : claim
      if (bound) await setClaimStatus(bound, 'Bound', volume)
    }

    async function reconcileVolume(name: string): Promise<number | undefined> {
      const stored = volumes.get({ name })
      if (!stored) return undefined
      const settled = settledVolume(stored)
      const volume = settled ? (await volumes.update(settled))?.object : stored
      if (!volume) return undefined
      const { claimRef } = volume.spec
      const claim = claimRef && claims.get(claimRef)
      const next = nextVolumeStep(volume, claim)
      switch (next.step) {
        case 'phase': {
          const written = await setPhase(volume, next.phase)
          if (written && next.phase === 'Available') offer(written)
          return undefined
        }
        case 'claim':
          enqueue(claimKey(claim!.metadata))
          return undefined
        case 'mismatch':
          say(volume, next.ofVolume)
          say(claim!, next.ofClaim)
          return undefined
        case 'unbind':
          await unbind(volume)
          return undefined
        case 'reclaim': {
          const isReleased = volume.status.phase === 'Released' || volume.status.phase === 'Failed'
          const released = isReleased ? volume : await setPhase(volume, 'Released')
          return released && reclaim(released)
        }
      }
    }

    /** A volume is free: claims that it suits may be waiting for one. */
    function offer(volume: Volume): void {
      const { claimRef } = volume.spec
      if (claimRef) {
        enqueue(claimKey(claimRef))
        return
      }
      for (const claim of claims.byIndex(CLAIMS, `class/${classOf(volume) ?? ''}`))
        if (matchingVolume(claim, [volume])) enqueue(claimKey(claim.metadata))
    }

    async function unbind(volume: Volume): Promise<void> {
      const written = (await volumes.update(unboundVolume(volume)))?.object
      if (written) await setPhase(written, 'Available')
    }

    async function reclaim(volume: Volume): Promise<number | undefined> {
      const next = reclaimOf(volume)
      switch (next.type) {
        case 'keep':
          return undefined
        case 'delete': {
          const { finalizers = [] } = volume.metadata
          const without = finalizers.filter(each => each !== IN_TREE_FINALIZER)
          const free =
            without.length === finalizers.length
              ? volume
              : (await volumes.update({ ...volume, metadata: { ...volume.metadata, finalizers: without } }))?.object
          if (free && !free.metadata.deletionTimestamp) await volumes.delete(free)
          return undefined
        }
        case 'fail':
          await failVolume(volume, next.notice)
          return undefined
        case 'recycle':
          return recycle(volume)
      }
    }

    async function failVolume(volume: Volume, notice: Notice): Promise<void> {
      if (volume.status.phase === 'Failed') return
      const failed = await setPhase(volume, 'Failed', notice.message)
      if (failed) say(failed, notice)
    }

    async function recycle(volume: Volume): Promise<number | undefined> {
      const { name = '' } = volume.metadata
      const users = usersOf(volume)
      if (users.length > 0) {
        heldBack.set(claimKey(volume.spec.claimRef!), name)
        say(volume, { type: 'Normal', reason: 'VolumeFailedRecycle', message: `Volume is used by pods: ${users.join(',')}` })
        return undefined
      }
      const pod = pods.get({ namespace: RECYCLER_NAMESPACE, name: recyclerName(name) })
      const next = nextRecycleStep(volume, pod, pod !== undefined && recyclers.has(pod.metadata.uid ?? ''))
      switch (next.step) {
        case 'start': {
          const made = await pods.create(next.pod)
          if (made) recyclers.add(made.object.metadata.uid ?? '')
          return undefined
        }
        case 'clear':
          await pods.delete(next.pod)
          return undefined
        case 'wait':
          return undefined
        case 'done':
          await stopRecycler(next.pod)
          say(volume, { type: 'Normal', reason: 'VolumeRecycled', message: 'Volume recycled' })
          await unbind(volume)
          return undefined
        case 'failed':
          await stopRecycler(next.pod)
          await failVolume(volume, { type: 'Warning', reason: 'VolumeFailedRecycle', message: next.why })
          return RECYCLE_AGAIN_MS
      }
    }

    async function stopRecycler(pod: Pod): Promise<void> {
      await pods.delete(pod)
      recyclers.delete(pod.metadata.uid ?? '')
    }

    /** The pods that still have a volume whose claim is gone. */
    function usersOf({ spec: { claimRef } }: Volume): string[] {
      if (!claimRef || claims.exists(claimRef)) return []
      const users = [...pods.byIndex(CLAIM_INDEX, queueKey(claimRef))].filter(({ status }) => !isOver(status.phase))
      return users.map(({ metadata }) => queueKey(metadata)).sort()
    }

    return {
      watches: [
        watch(PersistentVolumeClaim, ({ current }) => {
          const keys = [claimKey(current)]
          for (const { metadata } of volumes.byIndex(VOLUMES, claimKey(current))) keys.push(volumeKey(metadata.name ?? ''))
          return keys
        }),
        watch(PersistentVolume, ({ current, type }) => {
          const keys = [...waitingFor(volumeKey(current.name))]
          const claimRef = type === 'deleted' ? current.object?.spec.claimRef : undefined
          if (claimRef) keys.push(claimKey(claimRef))
          return [volumeKey(current.name), ...keys]
        }),
        watch(StorageClass, ({ current, type }) =>
          type === 'deleted' ? [] : [...waitingFor(`class/${current.name}`), ...waitingFor(UNCLASSED)],
        ),
        watch(Pod, ({ current, type }) => {
          if (type === 'updated' && current.fields['spec.nodeName'] && !isOver(current.fields['status.phase'])) return undefined
          const recycled = current.namespace === RECYCLER_NAMESPACE ? recycledBy(current.name) : undefined
          if (recycled !== undefined) return volumeKey(recycled)
          if (heldBack.size === 0 && !hasClaims(current.namespace)) return undefined
          return usedClaims(current.object).flatMap(key => {
            const held = heldBack.get(key)
            if (held !== undefined) heldBack.delete(key)
            return held === undefined ? [key] : [key, volumeKey(held)]
          })
        }),
      ],
      async reconcile(key) {
        if (key.startsWith(VOLUME)) return reconcileVolume(key.slice(VOLUME.length))
        await reconcileClaim(namedBy(key.slice(CLAIM.length)))
        return undefined
      },
    }

    /** The claims of a pod that wait for their first consumer. */
    function usedClaims(pod: Pod | undefined): string[] {
      if (!pod) return []
      const keys = claimsOf(pod).map(key => ({ key: `${CLAIM}${key}`, claim: claims.get(namedBy(key)) }))
      return keys.flatMap(({ key, claim }) => (!claim || claim.status.phase === 'Pending' ? [key] : []))
    }
  },
})
