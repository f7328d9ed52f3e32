/** Volumes in a zone or region can be used by nodes there only. */
import { classOf } from '../../kinds/rules/storage-class.ts'
import { deepEqual, getOwn } from '../../lib/json-value.ts'
import { always, type Plugin, unresolvable } from '../plugin.ts'
import type { Labels } from '../selector.ts'

const REJECTION = unresolvable('node(s) had no available volume zone')

/** The labels that say where something is, the older ones with the name that they have now. */
const ZONE_LABELS: readonly (readonly [key: string, current: string])[] = [
  ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['failure-domain.beta.kubernetes.io/region', 'topology.kubernetes.io/region'],
  ['topology.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['topology.kubernetes.io/region', 'topology.kubernetes.io/region'],
]
/** Parts the values of a label of a volume that is in several zones. */
const SEPARATOR = '__'

export const volumeZone: Plugin = {
  name: 'VolumeZone',
  filter({ pod, info, lookups }) {
    const requirements: ZoneRequirement[] = []
    for (const { persistentVolumeClaim: source } of pod.spec.volumes ?? []) {
      if (!source) continue
      const claim = lookups.claim(info.namespace, source.claimName)
      if (!claim) return unresolvable(`persistentvolumeclaim "${source.claimName}" not found`)
      const { volumeName } = claim.spec
      if (volumeName) {
        const volume = lookups.volume(volumeName)
        if (!volume) return unresolvable(`persistentvolume "${volumeName}" not found`)
        requirements.push(...requirementsOf(volume.metadata.labels))
        continue
      }
      const className = classOf(claim)
      if (!className) return unresolvable('PersistentVolumeClaim had no pv name and storageClass name')
      const storageClass = lookups.storageClass(className)
      if (!storageClass) return unresolvable(`storageclass.storage.k8s.io "${className}" not found`)
      if (storageClass.volumeBindingMode !== 'WaitForFirstConsumer') return unresolvable('PersistentVolume had no name')
    }
    if (requirements.length === 0) return undefined
    return {
      test({ labels }) {
        if (!ZONE_LABELS.some(([key]) => Object.hasOwn(labels, key))) return undefined
        return requirements.every(({ key, current, values }) => values.includes(getOwn(labels, key) ?? getOwn(labels, current) ?? ''))
          ? undefined
          : REJECTION
      },
    }
  },
  queueingHints: {
    'class added': (_, event) => event.about === 'class' && event.after?.volumeBindingMode === 'WaitForFirstConsumer',
    'node added': always,
    'node labels': always,
    'claim added': (pod, event) => event.about === 'claim' && isUsed(pod, event.after),
    'claim changed': (pod, event) => event.about === 'claim' && isUsed(pod, event.after),
    'volume added': always,
    'volume changed': (_, event) =>
      event.about === 'volume' && !deepEqual(requirementsOf(event.before?.metadata.labels), requirementsOf(event.after?.metadata.labels)),
  },
}

type ZoneRequirement = { readonly key: string; readonly current: string; readonly values: readonly string[] }

function requirementsOf(labels: Labels = {}): ZoneRequirement[] {
  return ZONE_LABELS.flatMap(([key, current]) => {
    const values = getOwn(labels, key)
      ?.split(SEPARATOR)
      .map(value => value.trim())
    // A list with a gap in it cannot be read, and so says nothing.
    return values && !values.includes('') ? [{ key, current, values }] : []
  })
}

type Named = { readonly metadata: { readonly namespace?: string; readonly name?: string } }
type WithVolumes = Named & {
  readonly spec: { readonly volumes?: readonly { readonly persistentVolumeClaim?: { readonly claimName: string } }[] }
}
const isUsed = ({ metadata, spec: { volumes = [] } }: WithVolumes, claim: Named | undefined): boolean =>
  claim !== undefined &&
  claim.metadata.namespace === metadata.namespace &&
  volumes.some(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName === claim.metadata.name)
