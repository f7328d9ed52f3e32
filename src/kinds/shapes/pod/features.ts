/** Fields of pods that belong to features which may be off: they are dropped, unless the stored object has them already. */
import type { ObjectMeta } from '../../../schema/object-meta.ts'
import { containersOf } from './containers.ts'
import type { HTTPGetAction, Probe } from './probes.ts'
import type { PodSpec, PodTemplateSpec } from './spec.ts'
import type { PodStatus } from './status.ts'
import type { Volume } from './volumes.ts'

type Gate = (name: string) => boolean
type Holder = Record<string, unknown> | undefined
type Feature<T> = readonly [gate: string, keys: readonly string[], holders: (value: T) => Iterable<Holder>]

/** Drops what is not served from a template; on updates `old` is the stored template. */
export function dropDisabledTemplateFields(template: PodTemplateSpec, old: PodTemplateSpec | undefined, gate: Gate): void {
  dropDisabled(SPEC_FEATURES, template.spec, old?.spec, gate)
  dropInitContainerAnnotations(template.metadata)
}

type PodParts = { metadata: ObjectMeta; spec: PodSpec; status: PodStatus }

/** Drops what is not served from a pod; on updates `old` is the stored pod. */
export function dropDisabledPodFields(pod: PodParts, old: PodParts | undefined, gate: Gate): void {
  dropDisabled(SPEC_FEATURES, pod.spec, old?.spec, gate)
  dropDisabled(STATUS_FEATURES, pod.status, old?.status, gate)
  dropInitContainerAnnotations(pod.metadata)
}

/** Before init containers had a field they lived in annotations, which must not come back to life. */
export function dropInitContainerAnnotations({ annotations }: { annotations?: Record<string, string> }): void {
  if (annotations) for (const key of INIT_CONTAINER_ANNOTATIONS) delete annotations[key]
}

const INIT_CONTAINER_ANNOTATIONS = [
  'pod.beta.kubernetes.io/init-containers',
  'pod.alpha.kubernetes.io/init-containers',
  'pod.beta.kubernetes.io/init-container-statuses',
  'pod.alpha.kubernetes.io/init-container-statuses',
]

const SPEC_FEATURES: readonly Feature<PodSpec>[] = [
  ['AtomicWriteVolumeUserFields', ['user', 'defaultUser'], spec => (spec.volumes ?? []).flatMap(filesOf)],
  ['GenericWorkload', ['schedulingGroup'], spec => [spec]],
  ['GRPCContainerProbeTLS', ['mode'], spec => probesOf(spec).map(probe => probe.grpc)],
  ['EvictionRequestAPI', ['evictionResponders'], spec => [spec]],
  ['EmptyDirVolumeMode', ['mode'], spec => (spec.volumes ?? []).map(volume => volume.emptyDir)],
  ['VolumeBindMountOptions', ['bindMountOptions'], spec => [...containersOf(spec)].flatMap(container => container.volumeMounts ?? [])],
  ['ContainerStopSignals', ['stopSignal'], spec => [...containersOf(spec)].map(container => container.lifecycle)],
  ['H2CContainerProbe', ['protocol'], spec => httpRequestsOf(spec)],
]

const STATUS_FEATURES: readonly Feature<PodStatus>[] = [
  ['ImageVolumeWithDigest', ['volumeStatus'], status => statusesOf(status).flatMap(container => container.volumeMounts ?? [])],
  ['DRANodeAllocatableResources', ['nodeAllocatableResourceClaimStatuses'], status => [status]],
  ['CSIVolumeHealth', ['volumeHealth'], status => [status]],
]

function dropDisabled<T>(features: readonly Feature<T>[], value: T, old: T | undefined, gate: Gate): void {
  for (const [name, keys, holders] of features) {
    const inUse = (where: T) => [...holders(where)].some(holder => keys.some(key => holder?.[key] !== undefined))
    if (gate(name) || !inUse(value) || (old !== undefined && inUse(old))) continue
    for (const holder of holders(value)) for (const key of keys) if (holder) delete holder[key]
  }
}

const probesOf = (spec: PodSpec): Probe[] =>
  [...containersOf(spec)]
    .flatMap(({ livenessProbe, readinessProbe, startupProbe }) => [livenessProbe, readinessProbe, startupProbe])
    .filter(probe => probe !== undefined)

const httpRequestsOf = (spec: PodSpec): (HTTPGetAction | undefined)[] => [
  ...probesOf(spec).map(probe => probe.httpGet),
  ...[...containersOf(spec)].flatMap(({ lifecycle }) => [lifecycle?.postStart?.httpGet, lifecycle?.preStop?.httpGet]),
]

/** All that makes files in a volume: each may say who owns them. */
const filesOf = ({ secret, configMap, downwardAPI, projected }: Volume): Holder[] => [
  ...[secret, configMap, downwardAPI, projected],
  ...[secret?.items, configMap?.items, downwardAPI?.items].flatMap((items): Holder[] => items ?? []),
  ...(projected?.sources ?? []).flatMap(source => [
    ...[source.secret?.items, source.configMap?.items, source.downwardAPI?.items].flatMap((items): Holder[] => items ?? []),
    ...[source.serviceAccountToken, source.clusterTrustBundle, source.podCertificate],
  ]),
]

const statusesOf = ({ initContainerStatuses, containerStatuses, ephemeralContainerStatuses }: PodStatus) =>
  [initContainerStatuses, containerStatuses, ephemeralContainerStatuses].flatMap(statuses => statuses ?? [])
