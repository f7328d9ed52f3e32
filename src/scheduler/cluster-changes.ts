/** Applies changes of everything but pods: nodes, storage and devices. Pods that such a change may help are requeued. */
import { type Change, type Named, queueKey } from '../client/change.ts'
import { type Watch, watch } from '../controllers/controller.ts'
import { isGroupConsumer } from '../devices/pod-claims.ts'
import type { Node } from '../kinds/core/node.ts'
import { PersistentVolume } from '../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../kinds/core/persistentvolumeclaim.ts'
import { DeviceClass } from '../kinds/resource/deviceclass.ts'
import { DeviceTaintRule } from '../kinds/resource/devicetaintrule.ts'
import { ResourceClaim } from '../kinds/resource/resourceclaim.ts'
import { ResourceSlice } from '../kinds/resource/resourceslice.ts'
import { CSIDriver } from '../kinds/storage/csidriver.ts'
import { CSINode } from '../kinds/storage/csinode.ts'
import { CSIStorageCapacity } from '../kinds/storage/csistoragecapacity.ts'
import { StorageClass } from '../kinds/storage/storageclass.ts'
import { VolumeAttachment } from '../kinds/storage/volumeattachment.ts'
import type { Kind } from '../schema/kind.ts'
import type { Binder } from './binder.ts'
import type { Cluster } from './cluster.ts'
import { type ClusterEvent, nodeEvents } from './cluster-event.ts'
import type { ClusterDevices } from './devices/cluster-devices.ts'
import type { Volumes } from './lookups.ts'
import type { Requeuer } from './requeuer.ts'

export type ClusterChangesParts = {
  readonly cluster: Cluster
  readonly devices: ClusterDevices
  readonly volumes: Pick<Volumes, 'waiting'>
  readonly requeuer: Requeuer
  /** The uids of the pods that have a claim. */
  readonly podsOfClaim: (claim: Named) => Iterable<string>
  readonly binder: Pick<Binder, 'wake'>
}

export class ClusterChanges {
  readonly #parts: ClusterChangesParts

  constructor(parts: ClusterChangesParts) {
    this.#parts = parts
  }

  /** Watches on storage and devices. The keys that they yield are the uids of pods whose binding waits. */
  watches(): Watch[] {
    return [
      ...this.#storageWatches(),
      watch(ResourceClaim, change => void this.resourceClaim(change)),
      watch(ResourceSlice, change => void this.slice(change)),
      watch(DeviceTaintRule, change => void this.taintRule(change)),
      watch(DeviceClass, change => void this.deviceClass(change)),
    ]
  }

  node({ type, current }: Change<Node>): void {
    const { cluster, devices, requeuer } = this.#parts
    const before = cluster.node(current.name)?.node
    const after = type === 'deleted' ? undefined : current.object
    if (after) cluster.setNode(after)
    else if (type === 'deleted') {
      cluster.removeNode(current.name)
      devices.pools.forgetNode(current.name)
    }
    if (before || after) requeuer.requeue(nodeEvents(before, after))
  }

  resourceClaim(change: Change<ResourceClaim>): void {
    const { devices, binder, requeuer, podsOfClaim } = this.#parts
    devices.onClaim(change)
    const { type, current, previous } = change
    for (const consumer of current.object?.status.reservedFor ?? []) {
      if (isGroupConsumer(consumer)) for (const uid of podsOfClaim(current)) binder.wake(uid)
      else binder.wake(consumer.uid)
    }
    if (!requeuer.hasUnschedulable) return
    const name = type === 'updated' ? 'resourceClaim changed' : (`resourceClaim ${type}` as const)
    const [before, after] = type === 'deleted' ? [current.object, undefined] : [previous?.object, current.object]
    const events: ClusterEvent[] = [{ about: 'resourceClaim', name, ...(before && { before }), ...(after && { after }) }]
    // Devices that have become free are for everybody. Any other change concerns the pods of the claim alone, and many may wait.
    if (before?.status.allocation && !after?.status.allocation) requeuer.requeue(events)
    else requeuer.requeueAmong(podsOfClaim(current), events)
  }

  slice(change: Change<ResourceSlice>): void {
    this.#parts.devices.onSlice(change)
    if (change.type !== 'deleted') this.devicesChanged()
  }

  taintRule(change: Change<DeviceTaintRule>): void {
    this.#parts.devices.onRule(change)
    this.devicesChanged()
  }

  deviceClass(change: Change<DeviceClass>): void {
    this.#parts.devices.onClass(change)
    if (change.type !== 'deleted') this.#requeueFor(change, { about: 'deviceClass', name: 'deviceClass changed' })
  }

  /** Devices were added, freed or tainted differently. */
  devicesChanged(): void {
    this.#parts.requeuer.requeue([{ about: 'devices', name: 'devices changed' }])
  }

  #storageWatches(): Watch[] {
    const { volumes } = this.#parts
    const waitingFor = (claim: Named | undefined) => claim && volumes.waiting.get(queueKey(claim))
    return [
      watch(PersistentVolumeClaim, ({ current }) => waitingFor(current)),
      watch(PersistentVolume, ({ current }) => (volumes.waiting.size > 0 ? waitingFor(current.object?.spec.claimRef) : undefined)),
      this.#requeueing(PersistentVolumeClaim, 'claim', { added: 'claim added', updated: 'claim changed' }),
      this.#requeueing(PersistentVolume, 'volume', { added: 'volume added', updated: 'volume changed' }),
      this.#requeueing(StorageClass, 'class', { added: 'class added', updated: 'class changed' }),
      this.#requeueing(CSINode, 'csiNode', { added: 'csiNode added', updated: 'csiNode changed' }),
      this.#requeueing(CSIDriver, 'csiDriver', { updated: 'csiDriver changed' }),
      this.#requeueing(CSIStorageCapacity, 'capacity', { added: 'capacity added', updated: 'capacity changed' }),
      this.#requeueing(VolumeAttachment, 'attachment', { deleted: 'attachment deleted' }),
    ]
  }

  #requeueing(kind: Kind<any>, about: ClusterEvent['about'], names: { readonly [type in Change['type']]?: ClusterEvent['name'] }): Watch {
    return watch(kind, (change: Change<any>) => {
      const name = names[change.type]
      if (name) this.#requeueFor(change, { about, name })
      return undefined
    })
  }

  /** Objects are decoded only when a pod waits that the event could help. */
  #requeueFor({ type, current, previous }: Change<any>, event: Pick<ClusterEvent, 'about' | 'name'>): void {
    const { requeuer } = this.#parts
    if (!requeuer.hasUnschedulable) return
    const [before, after] = type === 'deleted' ? [current.object, undefined] : [previous?.object, current.object]
    requeuer.requeue([{ ...event, ...(before && { before }), ...(after && { after }) } as ClusterEvent])
  }
}
