/** The lookups of plugins for objects other than nodes and pods. They are handed in, so that plugins stay pure. */

import type { AllocatorParts } from '../devices/allocate.ts'
import type { ResourceClasses } from '../devices/extended-resources.ts'
import type { GroupClaims } from '../devices/pod-claims.ts'
import type { PersistentVolume } from '../kinds/core/persistentvolume.ts'
import type { PersistentVolumeClaim } from '../kinds/core/persistentvolumeclaim.ts'
import type { ResourceClaim } from '../kinds/resource/resourceclaim.ts'
import type { LabelSelector } from '../kinds/rules/meta.ts'
import type { PodGroup } from '../kinds/scheduling/podgroup.ts'
import type { CSIDriver } from '../kinds/storage/csidriver.ts'
import type { CSINode } from '../kinds/storage/csinode.ts'
import type { CSIStorageCapacity } from '../kinds/storage/csistoragecapacity.ts'
import type { StorageClass } from '../kinds/storage/storageclass.ts'
import type { VolumeAttachment } from '../kinds/storage/volumeattachment.ts'
import type { ClaimWriter } from './devices/claim-writer.ts'
import type { Labels, Selector } from './selector.ts'

export interface Lookups {
  /** Empty when there is no such namespace. */
  namespaceLabels(name: string): Labels
  namespacesMatching(selector: Selector): Iterable<string>
  /** The selectors of the services in a namespace that have one. */
  serviceSelectors(namespace: string): Iterable<Labels>
  /** The selector of a workload that controls pods; undefined when it is not there or not of a known kind. */
  workloadSelector(
    owner: { readonly apiVersion: string; readonly kind: string; readonly name: string },
    namespace: string,
  ): WorkloadSelector
  claim(namespace: string, name: string): Claim | undefined
  volume(name: string): Volume | undefined
  storageClass(name: string): StorageClass | undefined
  csiNode(node: string): CSINode | undefined
  csiDriver(name: string): CSIDriver | undefined
  attachmentsOn(node: string): Iterable<VolumeAttachment>
  readonly devices: Devices
  readonly volumes: Volumes
}

export type Claim = PersistentVolumeClaim
export type Volume = PersistentVolume

/** Claims and volumes, with decisions that are not written yet applied. */
export interface Volumes {
  claim(namespace: string, name: string): Claim | undefined
  volume(name: string): Volume | undefined
  ofClass(name: string): Iterable<Volume>
  capacities(): Iterable<CSIStorageCapacity>
  /** The stored objects, without such decisions. */
  readonly stored: { claim(namespace: string, name: string): Claim | undefined; volume(name: string): Volume | undefined }
  assumeVolume(volume: Volume): void
  assumeClaim(claim: Claim): void
  forgetVolume(volume: Volume): void
  forgetClaim(claim: Claim): void
  /** Throws when it has changed since it was read, or is gone. */
  writeVolume(volume: Volume): Promise<void>
  writeClaim(claim: Claim): Promise<void>
  /** The uid of the pod whose binding waits for a claim, by the key of the claim. */
  readonly waiting: Map<string, string>
  /** Milliseconds. */
  readonly now: () => number
}

/** Devices, and the claims for them. */
export interface Devices extends AllocatorParts, GroupClaims {
  readonly classes: ResourceClasses
  readonly writer: ClaimWriter
  claim(namespace: string, name: string): ResourceClaim | undefined
  group(namespace: string, name: string): PodGroup | undefined
  /** The claim that was made for the extended resources of a pod. */
  extendedClaimOf(pod: string): ResourceClaim | undefined
  /** Milliseconds. */
  readonly now: () => number
  /** Makes the names of shares. */
  readonly uuid: () => string
}

export type WorkloadSelector = { readonly labels: Labels } | { readonly selector: LabelSelector } | undefined
