/** What plugins ask about objects other than nodes and pods. Handed in, so that plugins stay pure. */
import type { AllocatorParts } from '../devices/allocate.ts'
import type { ResourceClasses } from '../devices/extended-resources.ts'
import type { ClaimObject } from '../devices/pod-claims.ts'
import type { PersistentVolume } from '../kinds/core/persistentvolume.ts'
import type { PersistentVolumeClaim } from '../kinds/core/persistentvolumeclaim.ts'
import type { LabelSelector } from '../kinds/shapes/meta.ts'
import type { CSIDriver } from '../kinds/storage/csidriver.ts'
import type { CSINode } from '../kinds/storage/csinode.ts'
import type { StorageClass } from '../kinds/storage/storageclass.ts'
import type { VolumeAttachment } from '../kinds/storage/volumeattachment.ts'
import type { ObjectOf } from '../schema/kind.ts'
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
  claim(namespace: string, name: string): ObjectOf<typeof PersistentVolumeClaim> | undefined
  volume(name: string): ObjectOf<typeof PersistentVolume> | undefined
  storageClass(name: string): ObjectOf<typeof StorageClass> | undefined
  csiNode(node: string): ObjectOf<typeof CSINode> | undefined
  csiDriver(name: string): ObjectOf<typeof CSIDriver> | undefined
  attachmentsOn(node: string): Iterable<ObjectOf<typeof VolumeAttachment>>
  readonly devices: Devices
}

/** Devices, and the claims for them. */
export interface Devices extends AllocatorParts {
  readonly classes: ResourceClasses
  readonly writer: ClaimWriter
  claim(namespace: string, name: string): ClaimObject | undefined
  /** The claim that was made for the extended resources of a pod. */
  extendedClaimOf(pod: string): ClaimObject | undefined
  /** Milliseconds. */
  readonly now: () => number
  /** Makes the names of shares. */
  readonly uuid: () => string
}

export type WorkloadSelector = { readonly labels: Labels } | { readonly selector: LabelSelector } | undefined
