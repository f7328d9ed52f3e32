/**
 * Places pods on nodes, as kube-scheduler does. Changes of objects keep the cluster and the queue up to date; one pod after
 * another is taken from the queue, a node is found for it at once, and what follows from that is written beside the next ones.
 */
import { hostname } from 'node:os'
import { SCHEDULER } from '../client/identity.ts'
import { type Change, type Named, queueKey } from '../client/object-revision.ts'
import { seriesRecorder } from '../client/series-recorder.ts'
import { type Controller, defineController, type Watch, watch } from '../controllers/controller.ts'
import { Node } from '../kinds/core/node.ts'
import { PersistentVolume } from '../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../kinds/core/pod/pod.ts'
import { PodDisruptionBudget } from '../kinds/policy/poddisruptionbudget.ts'
import { DeviceClass } from '../kinds/resource/deviceclass.ts'
import { DeviceTaintRule } from '../kinds/resource/devicetaintrule.ts'
import { ResourceClaim } from '../kinds/resource/resourceclaim.ts'
import { ResourceSlice } from '../kinds/resource/resourceslice.ts'
import { CSIDriver } from '../kinds/storage/csidriver.ts'
import { CSINode } from '../kinds/storage/csinode.ts'
import { CSIStorageCapacity } from '../kinds/storage/csistoragecapacity.ts'
import { StorageClass } from '../kinds/storage/storageclass.ts'
import { VolumeAttachment } from '../kinds/storage/volumeattachment.ts'
import { yieldToOthers } from '../lib/yield.ts'
import type { Kind } from '../schema/kind.ts'
import { clientLookups } from './client-lookups.ts'
import { Cluster } from './cluster.ts'
import { type ClusterEvent, nodeEvents, podEvents, selfEvents } from './cluster-event.ts'
import { clientDevices } from './devices/client-devices.ts'
import { describe } from './diagnosis.ts'
import { Nominations } from './nominations.ts'
import { type Cycle, PluginError, type Reservation } from './plugin.ts'
import { hasSchedulingGates } from './plugins/scheduling-gates.ts'
import { type PodInfo, podInfoOf } from './pod-info.ts'
import type { Failure } from './pod-status.ts'
import { podWriter } from './pod-writer.ts'
import { preempt } from './preemption.ts'
import { PLUGINS, PLUGINS_BY_NAME } from './profile.ts'
import { type Placement, schedulePod } from './schedule-pod.ts'
import { type AttemptResult, SchedulerMetrics } from './scheduler-metrics.ts'
import { type QueuedPod, SchedulingQueue } from './scheduling-queue.ts'
import { clientVolumes } from './volumes/client-volumes.ts'

export type SchedulerParts = {
  /** From 0 to below 1: decides between nodes that are equally good. */
  readonly random: () => number
  /** The pods that are placed name this scheduler. */
  readonly schedulerName?: string
  /** Whether a feature is on. */
  readonly gate: (name: string) => boolean
  readonly metrics?: SchedulerMetrics
}

/** Keys of the work queue: the next pod is to be tried, long waits are over; anything else is the uid of a pod with writes to be done. */
const NEXT = 'next'
const OVERDUE = 'overdue'
/** Writes that go on at the same time: they can wait for the disk together. */
const WORKERS = 50
/** Stands for the plugins of a pod that had no nodes to choose from. */
const NO_NODES = 'no nodes'

export const scheduler = ({
  random,
  schedulerName = 'default-scheduler',
  gate,
  metrics = new SchedulerMetrics(),
}: SchedulerParts): Controller =>
  defineController({
    name: 'scheduler',
    identity: SCHEDULER,
    workers: WORKERS,
    create({ client, signal, enqueue, onError }) {
      const budgets = client.of(PodDisruptionBudget)
      const events = seriesRecorder({ client, controller: schedulerName, instance: `${schedulerName}-${hostname()}`, onError })
      const writer = podWriter({ client, events, schedulerName })
      const cluster = new Cluster()
      const { devices, cluster: clusterDevices } = clientDevices({ client, events, gate })
      const volumes = clientVolumes(client)
      const lookups = clientLookups(client, { devices, volumes })
      const nominations = new Nominations()
      const now = () => client.now.getTime()
      const queue = new SchedulingQueue({ now, gateOf })
      metrics.begun(() => queue.pending)
      const rotation = { next: 0 }
      /** Pods whose binding is under way, by uid. */
      const assumed = new Set<string>()
      /** By uid of the pod that room is made for: the last pod to be deleted, once it is its turn. */
      const preempting = new Map<string, PodInfo | undefined>()
      /** By uid: writes for a pod, which happen one after another. */
      const writes = new Map<string, Write[]>()
      /** Pods with a node whose binding waits for something else, by uid. */
      const waiting = new Set<string>()

      const podOf = writer.read

      function gateOf(queued: QueuedPod): string | undefined {
        const pod = podOf(queued)
        if (pod && hasSchedulingGates(pod)) return ''
        const gate = pod && PLUGINS.find(plugin => plugin.gate?.(pod, lookups))
        if (gate) return gate.name
        if (!preempting.has(queued.uid)) return undefined
        const last = preempting.get(queued.uid)
        const victim = last && podOf(last)
        // Once the last one has begun to end, the deletions that the pod waits for may come at any time.
        return !last || (victim !== undefined && victim.metadata.deletionTimestamp === undefined) ? '' : undefined
      }

      // Changes

      /** Tries again the pods that one of the events may help. */
      function requeue(all: readonly ClusterEvent[], isMeant: (pod: QueuedPod) => boolean = () => true): void {
        if (!queue.isAnyUnschedulable) return
        for (const event of all) if (queue.requeue(queued => isMeant(queued) && isWorth(queued, event))) enqueue(NEXT)
      }

      function isWorth(queued: QueuedPod | undefined, event: ClusterEvent): boolean {
        for (const name of queued?.rejectors ?? []) {
          if (name === NO_NODES && event.name === 'node added') return true
          const test = PLUGINS_BY_NAME.get(name)?.queueingHints?.[event.name]
          const pod = test && podOf(queued!)
          if (pod && test(pod, event, { cluster, lookups })) return true
        }
        return false
      }

      function onNode({ type, current }: Change<Node>): void {
        const before = cluster.node(current.name)?.node
        const after = type === 'deleted' ? undefined : current.object
        if (after) cluster.setNode(after)
        else if (type === 'deleted') {
          cluster.removeNode(current.name)
          clusterDevices.pools.forgetNode(current.name)
        }
        if (before || after) requeue(nodeEvents(before, after))
      }

      function onPod(change: Change<Pod>): void {
        const { type, current, previous } = change
        const { uid, fields } = current
        const isOver = type === 'deleted' || fields['status.phase'] === 'Succeeded' || fields['status.phase'] === 'Failed'
        // A name may have gone to another pod in between.
        if (previous && previous.uid !== uid) onPodGone(previous.uid)
        if (isOver) onPodGone(uid)
        else if (fields['spec.nodeName']) onPodAssigned(current.object)
        else if (fields['spec.schedulerName'] === schedulerName) onPodPending(change)
      }

      /** A pod is gone or has ended: what it had is free. */
      function onPodGone(uid: string): void {
        assumed.delete(uid)
        if (waiting.has(uid)) enqueue(uid)
        queue.remove(uid)
        const before = cluster.removePod(uid)
        if (before) requeue(podEvents(before, undefined))
        endNomination(uid)
      }

      /** A pod is on a node. */
      function onPodAssigned(pod: Pod | undefined): void {
        if (!pod) return
        const after = podInfoOf(pod)
        const before = assumed.delete(after.uid) ? undefined : cluster.pod(after.uid)
        cluster.setPod(after)
        queue.remove(after.uid)
        nominations.remove(after.uid)
        requeue(podEvents(before, after))
      }

      /** A pod waits for a node. */
      function onPodPending({ current, previous }: Change<Pod>): void {
        const pod = current.object
        if (!pod) return
        const { uid, terminating } = current
        if (assumed.has(uid)) {
          // Its binding will fail; until then it takes no room.
          if (terminating) {
            release(uid)
            if (waiting.has(uid)) enqueue(uid)
          }
          return
        }
        const nominated = pod.status.nominatedNodeName ?? ''
        const before = previous?.fields['status.nominatedNodeName'] ?? ''
        const info = podInfoOf(pod)
        if (before && before !== nominated) endNomination(uid)
        nominations.set(info, nominated || before ? nominated : (nominations.nodeOf(uid) ?? ''))
        if (!queue.has(uid)) queue.add(info)
        else if (previous?.object)
          for (const event of selfEvents(previous.object, pod))
            if (event.name === 'self gates' || isWorth(queue.unschedulable(uid), event)) queue.retry(uid)
        if (queue.nextAfterMs !== undefined) enqueue(NEXT)
      }

      /** Pods of lower or the same priority have left room for it that they can have now. */
      function endNomination(uid: string): void {
        const node = nominations.nodeOf(uid)
        if (node === undefined) return
        const before = [...nominations.on(node)].find(pod => pod.uid === uid)!
        nominations.remove(uid)
        requeue(podEvents(before, undefined), ({ priority }) => priority <= before.priority)
      }

      /** A pod that was taken to be on a node is not. */
      function release(uid: string): void {
        assumed.delete(uid)
        const before = cluster.removePod(uid)
        if (before) requeue(podEvents(before, undefined), queued => queued.uid !== uid)
      }

      /** Events about objects that matter to pods which wait; who changed is looked at only when one does. */
      function watchFor<K extends Kind<any>>(kind: K, about: ClusterEvent['about'], names: Partial<Record<Change['type'], string>>): Watch {
        return watch(kind, ({ type, current, previous }: Change<any>) => {
          const name = names[type]
          if (!name || !queue.isAnyUnschedulable) return undefined
          const [before, after] = type === 'deleted' ? [current.object, undefined] : [previous?.object, current.object]
          requeue([{ about, name, ...(before && { before }), ...(after && { after }) } as ClusterEvent])
          return undefined
        })
      }

      /** A claim for devices has changed: what is taken of these, and pods that wait for them. */
      function onResourceClaim(change: Change<any>): void {
        const { type, current, previous } = change
        clusterDevices.onClaim(change)
        for (const { uid } of current.object?.status.reservedFor ?? []) if (waiting.has(uid)) enqueue(uid)
        if (!queue.isAnyUnschedulable) return
        const [before, after] = type === 'deleted' ? [current.object, undefined] : [previous?.object, current.object]
        const name = type === 'updated' ? 'resourceClaim changed' : `resourceClaim ${type}`
        requeue([{ about: 'resourceClaim', name, ...(before && { before }), ...(after && { after }) } as ClusterEvent])
      }

      /** The pod whose binding waits for a claim. */
      const wakeWaiting = (claim: Named | undefined) => claim && volumes.waiting.get(queueKey(claim))

      /** There are other devices than before, or other taints on them. */
      const onDevices = () => requeue([{ about: 'devices', name: 'devices changed' }])

      // Decisions

      /** Tries pods, each by itself, until there are none to be tried now. */
      async function tryPods(): Promise<number | undefined> {
        for (let queued = queue.pop(); queued && !signal.aborted; queued = queue.pop()) {
          const pod = podOf(queued)
          if (!pod || pod.spec.nodeName) queue.remove(queued.uid)
          else if (pod.metadata.deletionTimestamp) {
            queue.remove(queued.uid)
            writer.announceFailure(pod, `skip schedule deleting pod: ${queued.namespace}/${queued.name}`)
          } else tryPod(queued, pod)
          await yieldToOthers()
        }
        if (queue.isAnyUnschedulable) enqueue(OVERDUE, CHECK_MS)
        return queue.nextAfterMs
      }

      function tryPod(queued: QueuedPod, pod: Pod): void {
        const begun = performance.now()
        try {
          place(queued, pod, begun)
        } catch (error) {
          if (!(error instanceof PluginError)) onError(error)
          attempted('error', begun)
          fail(queued, pod, messageOf(error))
        }
      }

      const attempted = (result: AttemptResult, begun: number) =>
        metrics.attempted(result, schedulerName, (performance.now() - begun) / 1000)

      function place(queued: QueuedPod, pod: Pod, begun: number): void {
        const known = podInfoOf(pod)
        const info = { ...known, nominatedNodeName: nominations.nodeOf(known.uid) ?? known.nominatedNodeName }
        const cycle: Cycle = { pod, info, cluster, lookups, state: new Map() }
        const placement = schedulePod(cycle, { plugins: PLUGINS, nominations, random, rotation })
        metrics.searched((performance.now() - begun) / 1000)
        if (placement.type === 'placed') return void assume(queued, cycle, { node: placement.node, begun })
        if (placement.type === 'rejected') reject(queued, cycle, placement)
        else {
          queue.reject(queued, new Set([NO_NODES]))
          report(pod, { reason: 'Unschedulable', message: 'no nodes available to schedule pods', nominatedNode: '' })
        }
        attempted('unschedulable', begun)
      }

      /** No node is good: others may have to make room, and the pod waits. */
      function reject(queued: QueuedPod, cycle: Cycle, placement: Extract<Placement, { type: 'rejected' }>): void {
        const { info, pod } = cycle
        const { diagnosis } = placement
        const preemption = preempt(cycle, placement, { nominations, random, now: now(), budgets: budgets.list() })
        metrics.preempted(preemption.type === 'victims' ? preemption.victims.length : 0)
        const postFiltered = PLUGINS.flatMap(plugin => plugin.postFilter?.(cycle) ?? [])
        const message = describe(diagnosis, [...postFiltered.map(each => each.message), preemption.message].filter(Boolean).join(', '))
        let nominatedNode: string | undefined
        if (preemption.type === 'victims') {
          nominatedNode = preemption.node
          makeRoom(info, preemption.node, preemption.victims)
          nominations.set(info, nominatedNode)
        } else if (!preemption.keeps) {
          nominatedNode = ''
          endNomination(info.uid)
        }
        queue.reject(queued, diagnosis.rejectors)
        report(pod, { reason: 'Unschedulable', message, nominatedNode })
        // Written after the pod has been put back: what comes of it is worth another try.
        for (const { write } of postFiltered) later(info.uid, write)
      }

      /** Takes the pod to be on its node from now on, with all that plugins hold for it, and binds it. */
      function assume(queued: QueuedPod, cycle: Cycle, { node, begun }: { readonly node: string; readonly begun: number }): void {
        const { pod } = cycle
        const info = { ...cycle.info, nodeName: node }
        const reservations = PLUGINS.flatMap(({ name, reserve }): Held[] => {
          const reservation = reserve?.(cycle, node)
          return reservation ? [{ plugin: name, reservation }] : []
        })
        assumed.add(info.uid)
        cluster.setPod(info)
        nominations.remove(info.uid)
        later(info.uid, () => bind({ queued, pod, info, reservations, begun }))
      }

      /** Something went wrong: the pod is tried again after a while. */
      function fail(queued: QueuedPod, pod: Pod, message: string): void {
        endNomination(queued.uid)
        queue.fail(queued)
        report(pod, { reason: 'SchedulerError', message, nominatedNode: '' })
        enqueue(NEXT, queue.nextAfterMs)
      }

      // Writes

      function later(uid: string, write: Write): void {
        const pending = writes.get(uid)
        if (pending) pending.push(write)
        else writes.set(uid, [write])
        enqueue(uid)
      }

      /** Says after how many milliseconds the next write is to be tried that is not ready yet. */
      async function writeFor(uid: string): Promise<number | undefined> {
        const pending = writes.get(uid)
        for (let write = pending?.shift(); write; write = pending!.shift()) {
          const againMs = await write()
          if (againMs === undefined) continue
          pending!.unshift(write)
          return againMs
        }
        if (pending?.length === 0) writes.delete(uid)
        return undefined
      }

      /** Binds a pod once all is ready that plugins hold for it. */
      async function bind({ queued, pod, info, reservations, begun }: Binding): Promise<number | undefined> {
        const { uid } = info
        let step = ''
        try {
          const current = podOf(info)
          if (!current || current.metadata.deletionTimestamp) throw new Error(`pod ${queued.namespace}/${queued.name} is gone`)
          for (const { plugin, reservation } of reservations) {
            step = `running PreBind plugin "${plugin}"`
            const againMs = await reservation.prepare()
            if (againMs === undefined) continue
            waiting.add(uid)
            return againMs
          }
          waiting.delete(uid)
          step = 'running Bind plugin "DefaultBinder"'
          if (await writer.bind(pod, info)) {
            attempted('scheduled', begun)
            metrics.placed(queued.attempts, (now() - queued.arrived) / 1000)
            return undefined
          }
          release(uid)
          await letGo(reservations)
        } catch (error) {
          waiting.delete(uid)
          if (signal.aborted) return undefined
          attempted('error', begun)
          release(uid)
          await letGo(reservations)
          const current = podOf(info)
          // Somebody else has bound it, or deleted it.
          if (!current || current.spec.nodeName || current.metadata.deletionTimestamp) queue.remove(uid)
          else fail(queued, current, `${step}: ${messageOf(error)}`)
        }
        return undefined
      }

      /** Gives back what plugins hold. That is tried once: what is left behind others clean up, who see that the pod has no node. */
      async function letGo(reservations: readonly Held[]): Promise<void> {
        for (const { reservation } of reservations) await reservation.release().catch(onError)
        if (reservations.length > 0) onDevices()
      }

      /** Says in an event and in the status of the pod why it has no node. */
      function report(pod: Pod, failure: Failure): void {
        writer.announceFailure(pod, failure.message)
        const { namespace = '', name = '', uid = '' } = pod.metadata
        later(uid, async () => {
          // By now it may have a node in sight.
          if (!assumed.has(uid)) await writer.writeFailure({ namespace, name, uid }, failure)
        })
      }

      /** Deletes the pods whose place a more important one is to have. */
      function makeRoom(pod: PodInfo, node: string, victims: readonly PodInfo[]): void {
        const ending = victims.filter(({ isTerminating }) => !isTerminating)
        if (ending.length === 0) return
        preempting.set(pod.uid, undefined)
        later(`preemption/${pod.uid}`, async () => {
          try {
            // The room is not meant for pods of lower priority that were to have it: they look elsewhere.
            for (const other of [...nominations.on(node)]) if (other.priority < pod.priority) await writer.clearNomination(other)
            await Promise.all(ending.slice(0, -1).map(victim => writer.evict(victim, pod, node)))
            const last = ending.at(-1)!
            preempting.set(pod.uid, last)
            await writer.evict(last, pod, node)
            preempting.delete(pod.uid)
          } catch (error) {
            preempting.delete(pod.uid)
            if (queue.retry(pod.uid)) enqueue(NEXT)
            throw error
          }
        })
      }

      return {
        watches: [
          watch(Node, change => void onNode(change)),
          watch(Pod, change => void onPod(change)),
          watch(PersistentVolumeClaim, ({ current }) => wakeWaiting(current)),
          watch(PersistentVolume, ({ current }) => (volumes.waiting.size > 0 ? wakeWaiting(current.object?.spec.claimRef) : undefined)),
          watchFor(PersistentVolumeClaim, 'claim', { added: 'claim added', updated: 'claim changed' }),
          watchFor(PersistentVolume, 'volume', { added: 'volume added', updated: 'volume changed' }),
          watchFor(StorageClass, 'class', { added: 'class added', updated: 'class changed' }),
          watchFor(CSINode, 'csiNode', { added: 'csiNode added', updated: 'csiNode changed' }),
          watchFor(CSIDriver, 'csiDriver', { updated: 'csiDriver changed' }),
          watchFor(CSIStorageCapacity, 'capacity', { added: 'capacity added', updated: 'capacity changed' }),
          watchFor(VolumeAttachment, 'attachment', { deleted: 'attachment deleted' }),
          watch(ResourceClaim, change => void onResourceClaim(change)),
          watch(ResourceSlice, change => {
            clusterDevices.onSlice(change)
            if (change.type !== 'deleted') onDevices()
            return undefined
          }),
          watch(DeviceTaintRule, change => {
            clusterDevices.onRule(change)
            onDevices()
            return undefined
          }),
          watch(DeviceClass, change => {
            clusterDevices.onClass(change)
            const { current, previous, type } = change
            const [before, after] = [previous?.object, current.object]
            if (type !== 'deleted')
              requeue([{ about: 'deviceClass', name: 'deviceClass changed', ...(before && { before }), ...(after && { after }) }])
            return undefined
          }),
        ],
        flushed: () => events.flushed(),
        async reconcile(key) {
          if (key === NEXT) return tryPods()
          if (key === OVERDUE) {
            const next = queue.retryOverdue()
            if (queue.nextAfterMs !== undefined) enqueue(NEXT)
            return next
          }
          return writeFor(key)
        },
      }
    },
  })

/** Says after how many milliseconds it is to be done again if it is not done. */
type Write = () => Promise<number | undefined | void>
type Held = { readonly plugin: string; readonly reservation: Reservation }
type Binding = {
  readonly queued: QueuedPod
  readonly pod: Pod
  readonly info: PodInfo
  readonly reservations: readonly Held[]
  /** When the attempt began, in milliseconds. */
  readonly begun: number
}

/** How often it is looked for pods that have waited very long. */
const CHECK_MS = 30_000
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
