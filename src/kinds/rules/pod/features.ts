/** Pod fields of feature gates that may be off: they are dropped, unless the stored object has them already. */
import type { ObjectMeta } from '../../../schema/object-meta.ts'
import { type Container, containersOf, isSidecar } from './containers/container.ts'
import type { HTTPGetAction, Probe } from './containers/probes.ts'
import type { PodSpec, PodTemplateSpec } from './spec.ts'
import type { PodStatus } from './status/status.ts'
import type { Volume } from './volumes/volumes.ts'

type Gate = (name: string) => boolean
type Holder = Record<string, unknown> | undefined
type Feature<T> = readonly [gate: string, keys: readonly string[], holders: (value: T) => Iterable<Holder>]

/** Drops disabled fields from a template; on updates `old` is the stored template. */
export function dropDisabledTemplateFields(template: PodTemplateSpec, old: PodTemplateSpec | undefined, gate: Gate): void {
  dropDisabledSpecFields(template.spec, old?.spec, gate)
  dropInitContainerAnnotations(template.metadata)
}

type PodParts = { metadata: ObjectMeta; spec: PodSpec; status: PodStatus }

/** Drops disabled fields from a pod; on updates `old` is the stored pod. */
export function dropDisabledPodFields(pod: PodParts, old: PodParts | undefined, gate: Gate): void {
  dropDisabledSpecFields(pod.spec, old?.spec, gate)
  dropDisabled(STATUS_FEATURES, pod.status, old?.status, gate)
  dropInitContainerAnnotations(pod.metadata)
}

function dropDisabledSpecFields(spec: PodSpec, old: PodSpec | undefined, gate: Gate): void {
  dropDisabled(SPEC_FEATURES, spec, old, gate)
  if (!gate('ContainerRestartRules') && !(old && hasRestartRules(old))) dropRestartRules(spec)
  if (!gate('ImageVolume') && !old?.volumes?.some(isImage)) dropImageVolumes(spec)
  if (!gate('ProcMountType') && !(old && some(containersOf(old), isUnmasked))) resetProcMounts(spec)
}

/** Init containers were annotations before they had a field; the annotations must not take effect again. */
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
  ['UserNamespacesSupport', ['hostUsers'], spec => [spec]],
  ['SupplementalGroupsPolicy', ['supplementalGroupsPolicy'], spec => [spec.securityContext]],
  ['SELinuxChangePolicy', ['seLinuxChangePolicy'], spec => [spec.securityContext]],
  ['PodLevelResources', ['resources'], spec => [spec]],
  ['MatchLabelKeysInPodTopologySpread', ['matchLabelKeys'], spec => spec.topologySpreadConstraints ?? []],
  ['DynamicResourceAllocation', ['resourceClaims', 'claims'], spec => [spec, ...partsOf(containersOf(spec), each => each.resources)]],
  ['ClusterTrustBundleProjection', ['clusterTrustBundle'], spec => projectionsOf(spec)],
  ['PodCertificateRequest', ['podCertificate'], spec => projectionsOf(spec)],
  ['InPlacePodVerticalScaling', ['resizePolicy'], spec => containersOf(spec)],
  ['HostnameOverride', ['hostnameOverride'], spec => [spec]],
  [
    'EnvFiles',
    ['fileKeyRef'],
    spec =>
      partsOf(
        allOf(containersOf(spec), container => container.env),
        ({ valueFrom }) => valueFrom,
      ),
  ],
  ['AtomicWriteVolumeUserFields', ['user', 'defaultUser'], spec => filesOf(spec.volumes ?? [])],
  ['GenericWorkload', ['schedulingGroup'], spec => [spec]],
  ['GRPCContainerProbeTLS', ['mode'], spec => partsOf(probesOf(spec), probe => probe.grpc)],
  ['EvictionRequestAPI', ['evictionResponders'], spec => [spec]],
  ['EmptyDirVolumeMode', ['mode'], spec => partsOf(spec.volumes ?? [], volume => volume.emptyDir)],
  ['VolumeBindMountOptions', ['bindMountOptions'], spec => allOf(containersOf(spec), container => container.volumeMounts)],
  ['ContainerStopSignals', ['stopSignal'], spec => partsOf(containersOf(spec), container => container.lifecycle)],
  ['H2CContainerProbe', ['protocol'], spec => httpRequestsOf(spec)],
]

const STATUS_FEATURES: readonly Feature<PodStatus>[] = [
  ['InPlacePodLevelResourcesVerticalScaling', ['resources', 'allocatedResources'], status => [status]],
  ['DRAExtendedResource', ['extendedResourceClaimStatus'], status => [status]],
  ['ResourceHealthStatus', ['allocatedResourcesStatus'], status => statusesOf(status)],
  ['ResourceHealthStatusMessage', ['message'], status => healthsOf(status)],
  ['SupplementalGroupsPolicy', ['user'], status => statusesOf(status)],
  ['PodObservedGenerationTracking', ['observedGeneration'], status => [status, ...(status.conditions ?? [])]],
  ['ImageVolumeWithDigest', ['volumeStatus'], status => allOf(statusesOf(status), container => container.volumeMounts)],
  ['DRANodeAllocatableResources', ['nodeAllocatableResourceClaimStatuses'], status => [status]],
  ['CSIVolumeHealth', ['volumeHealth'], status => [status]],
]

function dropDisabled<T>(features: readonly Feature<T>[], value: T, old: T | undefined, gate: Gate): void {
  for (const [name, keys, holders] of features) {
    if (gate(name)) continue
    const inUse = (where: T) => some(holders(where), holder => keys.some(key => holder?.[key] !== undefined))
    if (!inUse(value) || (old !== undefined && inUse(old))) continue
    for (const holder of holders(value)) for (const key of keys) if (holder) delete holder[key]
  }
}

function some<T>(items: Iterable<T>, is: (item: T) => boolean): boolean {
  for (const item of items) if (is(item)) return true
  return false
}

function* partsOf<T, P>(items: Iterable<T>, part: (item: T) => P): Iterable<P> {
  for (const item of items) yield part(item)
}

function* allOf<T, P>(items: Iterable<T>, parts: (item: T) => readonly P[] | undefined): Iterable<P> {
  for (const item of items) yield* parts(item) ?? []
}

function* probesOf(spec: PodSpec): Iterable<Probe> {
  for (const { livenessProbe, readinessProbe, startupProbe } of containersOf(spec)) {
    if (livenessProbe) yield livenessProbe
    if (readinessProbe) yield readinessProbe
    if (startupProbe) yield startupProbe
  }
}

function* httpRequestsOf(spec: PodSpec): Iterable<HTTPGetAction | undefined> {
  for (const { httpGet } of probesOf(spec)) yield httpGet
  for (const { lifecycle } of containersOf(spec)) {
    yield lifecycle?.postStart?.httpGet
    yield lifecycle?.preStop?.httpGet
  }
}

/** All sources of files in volumes: each may set their owner. */
function* filesOf(volumes: readonly Volume[]): Iterable<Holder> {
  for (const { secret, configMap, downwardAPI, projected } of volumes) {
    yield* [secret, configMap, downwardAPI, projected] as Holder[]
    for (const each of [secret, configMap, downwardAPI]) yield* (each?.items ?? []) as Holder[]
    for (const source of projected?.sources ?? []) {
      for (const each of [source.secret, source.configMap, source.downwardAPI]) yield* (each?.items ?? []) as Holder[]
      yield* [source.serviceAccountToken, source.clusterTrustBundle, source.podCertificate] as Holder[]
    }
  }
}

const statusesOf = ({ initContainerStatuses, containerStatuses, ephemeralContainerStatuses }: PodStatus) =>
  [initContainerStatuses, containerStatuses, ephemeralContainerStatuses].flatMap(statuses => statuses ?? [])

function* healthsOf(status: PodStatus): Iterable<Holder> {
  for (const { resources } of allOf(statusesOf(status), each => each.allocatedResourcesStatus)) yield* (resources ?? []) as Holder[]
}

function* projectionsOf({ volumes }: PodSpec): Iterable<Holder> {
  for (const { projected } of volumes ?? []) yield* (projected?.sources ?? []) as Holder[]
}

/** Whether containers say themselves when they restart. Sidecars do so by an older feature. */
export const hasRestartRules = ({ containers, initContainers }: PodSpec): boolean =>
  (containers ?? []).some(c => c.restartPolicy !== undefined) ||
  (initContainers ?? []).some(c => (c.restartPolicy !== undefined && !isSidecar(c)) || c.restartPolicyRules?.length)

function dropRestartRules(spec: PodSpec): void {
  const sidecars = new Set((spec.initContainers ?? []).filter(isSidecar))
  for (const container of containersOf(spec)) {
    if (!sidecars.has(container)) delete container.restartPolicy
    delete container.restartPolicyRules
  }
}

const isImage = ({ image }: Volume): boolean => image !== undefined

/** Volumes that are images go with their mounts. */
function dropImageVolumes(spec: PodSpec): void {
  const names = new Set(spec.volumes?.filter(isImage).map(({ name }) => name))
  if (names.size === 0) return
  const kept = <T extends { name: string }>(items: readonly T[]): T[] => items.filter(({ name }) => !names.has(name))
  spec.volumes = kept(spec.volumes!)
  if (spec.volumes.length === 0) delete spec.volumes
  for (const container of containersOf(spec)) {
    if (!container.volumeMounts) continue
    container.volumeMounts = kept(container.volumeMounts)
    if (container.volumeMounts.length === 0) delete container.volumeMounts
  }
}

const isUnmasked = ({ securityContext }: Container): boolean => (securityContext?.procMount ?? DEFAULT_PROC_MOUNT) !== DEFAULT_PROC_MOUNT
const DEFAULT_PROC_MOUNT = 'Default'

/** Objects of old releases have the default written out, so that the field cannot go. */
function resetProcMounts(spec: PodSpec): void {
  for (const { securityContext } of containersOf(spec)) if (securityContext?.procMount) securityContext.procMount = DEFAULT_PROC_MOUNT
}
