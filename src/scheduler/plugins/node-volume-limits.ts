/** Nodes can have only so many volumes of a driver. */
import type { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { classOf } from '../../kinds/rules/storage-class.ts'
import type { CSINode } from '../../kinds/storage/csinode.ts'
import type { Lookups } from '../lookups.ts'
import type { NodeInfo } from '../node-info.ts'
import { always, type Plugin, unresolvable, unschedulable } from '../plugin.ts'
import { podInfoOf } from '../pod-info.ts'

const TOO_MANY = unschedulable('node(s) exceed max volume count')

export const nodeVolumeLimits: Plugin = {
  name: 'NodeVolumeLimits',
  filter({ info, lookups }) {
    if (info.claims.length === 0) return undefined
    const wanted: Volumes = new Map()
    for (const name of info.claims) {
      const claim = lookups.claim(info.namespace, name)
      if (!claim)
        return {
          test: () => unresolvable(`looking up PVC ${info.namespace}/${name}: persistentvolumeclaim "${name}" not found`),
        }
      addVolume(wanted, claim, lookups)
    }
    if (wanted.size === 0) return undefined
    return { test: node => tooMany(node, wanted, lookups) }
  },
  queueingHints: {
    'csiNode added': always,
    'csiNode changed': (_, event) => {
      if (event.about !== 'csiNode') return false
      const [before, after] = [limitsOf(event.before), limitsOf(event.after)]
      return [...after].some(([driver, limit]) => limit > (before.get(driver) ?? 0))
    },
    'pod deleted': (_, event) => event.about === 'pod' && (event.before?.claims.length ?? 0) > 0,
    'claim added': (pod, event) =>
      event.about === 'claim' &&
      event.after?.metadata.namespace === pod.metadata.namespace &&
      podInfoOf(pod).claims.includes(event.after?.metadata.name ?? ''),
    'attachment deleted': ({ spec }) => (spec.volumes ?? []).some(({ persistentVolumeClaim }) => persistentVolumeClaim !== undefined),
  },
}

/** The driver of a volume, by the name of the volume. */
type Volumes = Map<string, string>

function addVolume(volumes: Volumes, claim: PersistentVolumeClaim, lookups: Lookups): void {
  const volume = claim.spec.volumeName ? lookups.volume(claim.spec.volumeName) : undefined
  if (volume) {
    const { csi } = volume.spec
    if (csi) volumes.set(`${csi.driver}/${csi.volumeHandle}`, csi.driver)
    return
  }
  // A volume that is yet to be made counts already, by the driver that its class names.
  const provisioner = lookups.storageClass(classOf(claim) ?? '')?.provisioner
  if (provisioner) volumes.set(`${provisioner}/claim:${claim.metadata.namespace}/${claim.metadata.name}`, provisioner)
}

function tooMany(node: NodeInfo, wanted: Volumes, lookups: Lookups) {
  const csiNode = lookups.csiNode(node.name)
  for (const driver of new Set(wanted.values()))
    if (lookups.csiDriver(driver)?.spec?.preventPodSchedulingIfMissing && !csiNode?.spec.drivers?.some(({ name }) => name === driver))
      return unschedulable(`${driver} CSI driver is not installed on the node`)
  const limits = limitsOf(csiNode)
  if (limits.size === 0) return undefined
  const present: Volumes = new Map()
  for (const { namespace, claims } of node.pods.values())
    for (const name of claims) {
      const claim = lookups.claim(namespace, name)
      if (claim) addVolume(present, claim, lookups)
    }
  for (const { spec } of lookups.attachmentsOn(node.name)) {
    const csi = lookups.volume(spec.source?.persistentVolumeName ?? '')?.spec.csi
    if (csi && spec.attacher) present.set(`${spec.attacher}/${csi.volumeHandle}`, spec.attacher)
  }
  for (const [driver, limit] of limits) {
    const added = [...wanted].filter(([volume, its]) => its === driver && !present.has(volume)).length
    const there = [...present.values()].filter(its => its === driver).length
    if (added > 0 && there + added > limit) return TOO_MANY
  }
  return undefined
}

function limitsOf(csiNode: CSINode | undefined): Map<string, number> {
  const drivers = csiNode?.spec.drivers ?? []
  return new Map(drivers.flatMap(({ name, allocatable }) => (allocatable?.count === undefined ? [] : [[name, allocatable.count] as const])))
}
