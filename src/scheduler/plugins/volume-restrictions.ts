/** Volumes that only one pod can have: claims for a single pod, and disks that cannot be attached twice. */

import { always, type NodeFilter, type Plugin, unresolvable, unschedulable } from '../plugin.ts'
import { type Disk, type PodInfo, podInfoOf } from '../pod-info.ts'

const DISK_TAKEN = unschedulable('node(s) had no available disk')
const CLAIM_TAKEN = unschedulable(
  'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod',
)

export const volumeRestrictions: Plugin = {
  name: 'VolumeRestrictions',
  filter({ pod, info, cluster, lookups }) {
    const exclusive = new Set<string>()
    for (const { persistentVolumeClaim: source } of pod.spec.volumes ?? []) {
      if (!source) continue
      const claim = lookups.claim(info.namespace, source.claimName)
      if (!claim) return unresolvable(`persistentvolumeclaim "${source.claimName}" not found`)
      if (claim.spec.accessModes?.includes('ReadWriteOncePod')) exclusive.add(source.claimName)
    }
    const used = [...exclusive].filter(claim => cluster.isClaimUsed(info.namespace, claim)).length
    return info.disks.length === 0 && used === 0 ? undefined : filterOver(info, exclusive, used)
  },
  queueingHints: {
    'pod deleted': (pod, event) => {
      if (event.about !== 'pod' || event.before?.namespace !== pod.metadata.namespace) return false
      const { disks, claims } = podInfoOf(pod)
      return disks.some(disk => conflicts(disk, event.before!)) || claims.some(claim => event.before!.claims.includes(claim))
    },
    'node added': always,
    'claim added': (pod, event) =>
      event.about === 'claim' &&
      event.after?.metadata.namespace === pod.metadata.namespace &&
      podInfoOf(pod).claims.includes(event.after?.metadata.name ?? ''),
  },
}

function filterOver(info: PodInfo, exclusive: ReadonlySet<string>, used: number): NodeFilter {
  let inUse = used
  return {
    test({ pods }) {
      if (info.disks.length > 0) for (const other of pods.values()) if (info.disks.some(disk => conflicts(disk, other))) return DISK_TAKEN
      return inUse > 0 ? CLAIM_TAKEN : undefined
    },
    copy: () => filterOver(info, exclusive, inUse),
    adjust({ namespace, claims }, _, sign) {
      if (namespace === info.namespace) inUse += sign * claims.filter(claim => exclusive.has(claim)).length
    },
  }
}

function conflicts(disk: Disk, { disks }: Pick<PodInfo, 'disks'>): boolean {
  return disks.some(other => {
    const [gce, aws, iscsi, rbd] = [other.gcePersistentDisk, other.awsElasticBlockStore, other.iscsi, other.rbd]
    if (disk.gcePersistentDisk && gce?.pdName === disk.gcePersistentDisk.pdName) return !(disk.gcePersistentDisk.readOnly && gce.readOnly)
    if (disk.awsElasticBlockStore && aws) return disk.awsElasticBlockStore.volumeID === aws.volumeID
    if (disk.iscsi && iscsi?.iqn === disk.iscsi.iqn) return !(disk.iscsi.readOnly && iscsi.readOnly)
    if (!disk.rbd || !rbd) return false
    const isSame =
      disk.rbd.pool === rbd.pool &&
      disk.rbd.image === rbd.image &&
      (disk.rbd.monitors ?? []).some(monitor => rbd.monitors?.includes(monitor))
    return isSame && !(disk.rbd.readOnly && rbd.readOnly)
  })
}
