/** The identity of a pod of a StatefulSet: its ordinal, name, host name and volumes. */

import type { Draft } from '../../client/client.ts'
import type { StatefulSet } from '../../kinds/apps/statefulset.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { PodTemplateSpec } from '../../kinds/rules/pod/spec.ts'
import { podFromTemplate, podNamePrefix } from '../pods/pod-template.ts'
import { POD_REVISION_LABEL } from '../revisions/revision.ts'

export type ClaimTemplate = NonNullable<StatefulSet['spec']['volumeClaimTemplates']>[number]

const POD_NAME_LABEL = 'statefulset.kubernetes.io/pod-name'
const POD_INDEX_LABEL = 'apps.kubernetes.io/pod-index'

type NamedPod = { readonly metadata: { readonly name?: string } }

/** The set that a pod is named after, and the number at the end of its name: -1 when there is none. */
function parsedName({ metadata: { name = '' } }: NamedPod): { parent: string; ordinal: number } {
  const match = /^(.*)-([0-9]+)$/.exec(name)
  if (!match) return { parent: '', ordinal: -1 }
  const ordinal = Number(match[2])
  return { parent: match[1]!, ordinal: ordinal < 2 ** 31 ? ordinal : -1 }
}

export const ordinalOf = (pod: NamedPod): number => parsedName(pod).ordinal

export const isMemberOf = (set: StatefulSet, pod: NamedPod): boolean => parsedName(pod).parent === set.metadata.name

export const startOrdinal = ({ spec }: StatefulSet): number => spec.ordinals?.start ?? 0

/** Whether a pod is one of those that there should be. */
export function isInRange(set: StatefulSet, pod: NamedPod): boolean {
  const index = ordinalOf(pod) - startOrdinal(set)
  return ordinalOf(pod) >= 0 && index >= 0 && index < set.spec.replicas
}

export const claimNameFor = (set: StatefulSet, claim: ClaimTemplate, ordinal: number): string =>
  `${claim.metadata.name}-${set.metadata.name}-${ordinal}`

export const revisionOf = ({ metadata }: Pod): string => metadata.labels?.[POD_REVISION_LABEL] ?? ''

export type Versioned = { readonly template: PodTemplateSpec; readonly revision: string }

/** A new pod. It has no phase and no uid as yet. */
export function newPod(set: StatefulSet, { template, revision }: Versioned, ordinal: number): Pod {
  const name = `${set.metadata.name}-${ordinal}`
  const draft = podFromTemplate(template, set, {
    name,
    generateName: podNamePrefix(set.metadata.name ?? ''),
    labels: { ...template.metadata.labels, ...identityLabels(name, ordinal), [POD_REVISION_LABEL]: revision },
  })
  const { volumes: _, ...spec } = template.spec
  const volumes = volumesOf(set, template.spec.volumes, ordinal)
  return {
    ...draft,
    spec: {
      ...spec,
      hostname: name,
      ...(set.spec.serviceName && { subdomain: set.spec.serviceName }),
      ...(volumes.length > 0 && { volumes }),
    },
    status: {},
  } as Draft<Pod> as Pod
}

const identityLabels = (name: string, ordinal: number) => ({ [POD_NAME_LABEL]: name, [POD_INDEX_LABEL]: String(ordinal) })

type Volumes = NonNullable<Pod['spec']['volumes']>

/** Those for its claims first, then what else the template asks for. */
function volumesOf(set: StatefulSet, volumes: Pod['spec']['volumes'], ordinal: number): Volumes {
  const claims = set.spec.volumeClaimTemplates ?? []
  const names = new Set(claims.map(({ metadata }) => metadata.name))
  return [
    ...claims.map(claim => ({ name: claim.metadata.name ?? '', persistentVolumeClaim: { claimName: claimNameFor(set, claim, ordinal) } })),
    ...(volumes ?? []).filter(({ name }) => !names.has(name)),
  ] as Volumes
}

const hasIdentity = (set: StatefulSet, { metadata }: Pod): boolean =>
  metadata.name === `${set.metadata.name}-${ordinalOf({ metadata })}` && metadata.labels?.[POD_NAME_LABEL] === metadata.name

const hasStorage = (set: StatefulSet, pod: Pod): boolean =>
  (set.spec.volumeClaimTemplates ?? []).every(claim =>
    pod.spec.volumes?.some(
      ({ name, persistentVolumeClaim }) =>
        name === claim.metadata.name && persistentVolumeClaim?.claimName === claimNameFor(set, claim, ordinalOf(pod)),
    ),
  )

/** The pod with the labels and volumes that it should have; undefined when it has them. */
export function withIdentity(set: StatefulSet, pod: Pod): Pod | undefined {
  const ordinal = ordinalOf(pod)
  const [isSame, isStored] = [hasIdentity(set, pod), hasStorage(set, pod)]
  if (isSame && isStored) return undefined
  const labels = { ...pod.metadata.labels, ...(!isSame && identityLabels(pod.metadata.name ?? '', ordinal)) }
  const spec = isStored ? pod.spec : { ...pod.spec, volumes: volumesOf(set, pod.spec.volumes, ordinal) }
  return { ...pod, metadata: { ...pod.metadata, labels }, spec }
}
