/** The files that a kubelet writes into a container from the volumes of its pod. */

import { posix } from 'node:path'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { type Container, containersOf, type VolumeMount } from '../../kinds/rules/pod/containers/container.ts'
import type { DownwardAPIVolumeFile, KeyToPath, VolumeProjection } from '../../kinds/rules/pod/volumes/volume-projections.ts'
import type { Volume } from '../../kinds/rules/pod/volumes/volumes.ts'
import { compareText } from '../../lib/go-text.ts'
import { encodePem, pemBlocks } from '../../lib/pem.ts'
import type { File, FileFound } from './container-inputs.ts'
import { fieldText, resourceText } from './downward-api.ts'
import { expand } from './expansion.ts'
import { namesOf } from './identity.ts'
import type { Sources } from './sources.ts'

type Around = { readonly pod: Pod; readonly container: Container; readonly sources: Sources }
type Variables = () => ReadonlyMap<string, string>

/** The file or directory at a path of a container. */
export function fileAt(path: string, around: Around, variables: Variables): FileFound {
  const normalized = posix.normalize(path)
  const mount = mountOf(normalized, around.container)
  if (!mount) return managedFile(normalized, around.pod) ?? 'unknown'
  const volume = around.pod.spec.volumes?.find(({ name }) => name === mount.name)
  if (!volume) return 'unknown'
  const below = normalized.slice(trimmed(mount.mountPath).length)
  const subPathOf = ({ subPathExpr, subPath = '' }: VolumeMount) =>
    subPathExpr ? expand(subPathExpr, name => variables().get(name)) : subPath
  const inVolume = posix.join('/', subPathOf(mount), below)
  const group = Number(around.pod.spec.securityContext?.fsGroup ?? 0)
  if (volume.emptyDir) {
    const fileSystem = volume.emptyDir.medium === 'Memory' ? 'tmpfs' : EXT4
    // A kubelet creates the directories of mounts.
    const isMounted = (each: VolumeMount) => each.name === mount.name && `${posix.join('/', subPathOf(each))}/`.startsWith(`${inVolume}/`)
    const isMade = inVolume === '/' || (around.container.volumeMounts ?? []).some(isMounted)
    return isMade ? { content: undefined, mode: 0o777, group, isDirectory: true, fileSystem } : 'unknown'
  }
  const files = filesOf(volume, around)
  if (!files) return 'unknown'
  // With an fsGroup, owner and group may read the files that a kubelet has written.
  const readable = group === 0 ? 0 : 0o440
  for (const { path: at, content, mode } of files)
    if (posix.join('/', at) === inVolume) return { content: content(), mode: mode | readable, group }
  return inVolume === '/' ? { content: undefined, mode: 0o777, group, isDirectory: true } : 'missing'
}

/** The names in a directory of a volume that a kubelet has filled; undefined for all others. An emptyDir begins with none. */
export function namesIn(path: string, around: Around, variables: Variables): string[] | undefined {
  const normalized = trimmed(path)
  const mount = mountOf(normalized, around.container)
  const volume = mount && around.pod.spec.volumes?.find(({ name }) => name === mount.name)
  if (!mount || !volume) return undefined
  if (volume.emptyDir) return []
  const { subPathExpr, subPath = '' } = mount
  const inMount = subPathExpr ? expand(subPathExpr, name => variables().get(name)) : subPath
  const inVolume = trimmed(posix.join('/', inMount, normalized.slice(trimmed(mount.mountPath).length)))
  const files = filesOf(volume, around)
  if (!files) return undefined
  const below = [...files].map(file => posix.join('/', file.path)).filter(file => file.startsWith(`${inVolume}/`))
  return [...new Set(below.map(file => file.slice(inVolume.length + 1).split('/')[0]!))].sort(compareText)
}

/** Whether a path is in an emptyDir that only this container mounts. */
export function isOwnPath(path: string, { spec }: Pod, container: Container): boolean {
  const mount = mountOf(posix.normalize(path), container)
  if (!mount || !spec.volumes?.some(({ name, emptyDir }) => name === mount.name && emptyDir)) return false
  return containersOf(spec).every(each => each.name === container.name || !each.volumeMounts?.some(({ name }) => name === mount.name))
}

/** A place in an emptyDir, which containers of a pod share. */
export type SharedPlace = { readonly volume: string; readonly path: string }

/** The place of a path of a container; undefined when it is not in an emptyDir. */
export function sharedPlaceOf(path: string, { spec }: Pod, container: Container): SharedPlace | undefined {
  const normalized = posix.normalize(path)
  const mount = mountOf(normalized, container)
  if (!mount || mount.subPathExpr || !spec.volumes?.some(({ name, emptyDir }) => name === mount.name && emptyDir)) return undefined
  return { volume: mount.name, path: posix.join('/', mount.subPath ?? '', normalized.slice(trimmed(mount.mountPath).length)) }
}

/** The paths at which a container sees such a place. */
export function pathsOfPlace({ volume, path }: SharedPlace, { volumeMounts }: Container): string[] {
  const mounts = (volumeMounts ?? []).filter(mount => mount.name === volume && !mount.subPathExpr)
  return mounts.flatMap(({ mountPath, subPath = '' }) => {
    const root = trimmed(posix.join('/', subPath))
    return path.startsWith(`${root}/`) ? [posix.join(mountPath, path.slice(root.length))] : []
  })
}

/** Whether a path is in a volume that is mounted read-only, or in an image with a read-only root file system. */
export function isReadOnlyPath(path: string, { spec }: Pod, container: Container): boolean {
  const normalized = posix.normalize(path)
  const mount = mountOf(normalized, container)
  if (!mount) return container.securityContext?.readOnlyRootFilesystem === true && !/^\/(dev|proc|sys)\//.test(normalized)
  const { configMap, secret, downwardAPI, projected } = spec.volumes?.find(({ name }) => name === mount.name) ?? {}
  return mount.readOnly === true || (configMap ?? secret ?? downwardAPI ?? projected) !== undefined
}

/** Files outside of volumes that a kubelet or container runtime writes for every pod. */
function managedFile(path: string, pod: Pod): File | undefined {
  const content = path === '/etc/hosts' ? hostsFile(pod) : path === '/etc/hostname' ? `${namesOf(pod).hostName}\n` : undefined
  return content === undefined ? undefined : { content, mode: 0o644, group: 0 }
}

/** Pods in the network of their node get the hosts file of the node. */
function hostsFile(pod: Pod): string {
  const { hostName, fullName } = namesOf(pod)
  const own = [...new Set([fullName, hostName])].join('\t')
  const header = `# Kubernetes-managed hosts file${pod.spec.hostNetwork ? ' (host network)' : ''}.\n`
  const aliases = (pod.spec.hostAliases ?? []).map(({ ip, hostnames }) => `${ip}\t${(hostnames ?? []).join('\t')}\n`)
  return [
    `${header}127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n`,
    'fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n',
    ...(pod.status?.podIPs ?? []).map(({ ip }) => `${ip}\t${own}\n`),
    ...(aliases.length > 0 ? ['\n# Entries added by HostAliases.\n', ...aliases] : []),
  ].join('')
}

/** Why a volume cannot be mounted at the path that a container names, in the words of a kubelet. */
export function mountProblem({ volumeMounts }: Container, variables: Variables): string | undefined {
  for (const { subPath = '', subPathExpr = '' } of volumeMounts ?? []) {
    const missing = new Set<string>()
    const value = (name: string) => {
      const found = variables().get(name)
      if (!found) missing.add(name)
      return found
    }
    const path = subPathExpr === '' ? subPath : expand(subPathExpr, value)
    if (missing.size > 0) return `missing value for ${[...missing].sort(compareText).join(', ')}`
    if (path.startsWith('/')) return `error SubPath \`${path}\` must not be an absolute path`
    if (path.split('/').includes('..')) return `unable to provision SubPath \`${path}\`: must not contain '..'`
  }
  return undefined
}

const trimmed = (path: string): string => posix.normalize(path).replace(/\/$/, '')

/** The innermost mount that contains a path. */
function mountOf(path: string, { volumeMounts }: Container): VolumeMount | undefined {
  let found: VolumeMount | undefined
  for (const mount of volumeMounts ?? []) {
    const at = trimmed(mount.mountPath)
    if ((path === at || path.startsWith(`${at}/`)) && at.length >= (found ? trimmed(found.mountPath).length : 0)) found = mount
  }
  return found
}

/** The number of the file system of a node's disk. */
const EXT4 = '61267'

type Made = {
  readonly path: string
  readonly mode: number
  readonly content: () => File['content']
  /** The same where it need not be text. */
  readonly bytes?: (() => Uint8Array) | undefined
}

type Filled = Pick<Around, 'pod' | 'sources'>

const DEFAULT_MODE = 0o644

/** The files that a kubelet makes from objects; undefined when the content of the volume comes from elsewhere. */
export function filesOf({ configMap, secret, downwardAPI, projected }: Volume, around: Filled): Iterable<Made> | undefined {
  if (configMap) return keyed('configmaps', configMap.name, configMap, around)
  if (secret) return keyed('secrets', secret.secretName, secret, around)
  if (downwardAPI) return downward(downwardAPI.items, downwardAPI.defaultMode, around)
  if (!projected) return undefined
  // A kubelet keeps the last of several files with one path.
  return (projected.sources ?? []).flatMap(source => [...projectedFiles(source, projected.defaultMode, around)]).reverse()
}

function projectedFiles(source: VolumeProjection, defaultMode: number | undefined, around: Filled): Iterable<Made> {
  const { configMap, secret, downwardAPI, clusterTrustBundle, serviceAccountToken, podCertificate } = source
  if (configMap) return keyed('configmaps', configMap.name, { items: configMap.items, defaultMode }, around)
  if (secret) return keyed('secrets', secret.name, { items: secret.items, defaultMode }, around)
  if (downwardAPI) return downward(downwardAPI.items, defaultMode, around)
  const mode = defaultMode ?? DEFAULT_MODE
  if (clusterTrustBundle) {
    const content = () => certificatesOf(around.sources.bundles(clusterTrustBundle))
    return [{ path: clusterTrustBundle.path, mode, content }]
  }
  if (serviceAccountToken) {
    const content = () => around.sources.token?.(serviceAccountToken)
    return [{ path: serviceAccountToken.path, mode, content }]
  }
  // The keys of a pod are given to nobody else.
  const { credentialBundlePath, keyPath, certificateChainPath } = podCertificate ?? {}
  const paths = [credentialBundlePath, keyPath, certificateChainPath]
  return paths.filter(path => path).map(path => ({ path: path!, mode, content: () => undefined }))
}

type Keys = { readonly items?: readonly KeyToPath[] | null | undefined; readonly defaultMode?: number | undefined }

function* keyed(
  plural: 'configmaps' | 'secrets',
  name: string | undefined,
  { items, defaultMode }: Keys,
  { sources }: Filled,
): Iterable<Made> {
  const entries = sources.entries(plural, name)
  const bytes = sources.bytes?.(plural, name)
  const chosen = items?.length ? items : [...(entries?.keys() ?? [])].map(key => ({ key, path: key, mode: undefined }))
  for (const { key, path, mode } of chosen) {
    const content = entries?.get(key)
    if (content) yield { path, mode: mode ?? defaultMode ?? DEFAULT_MODE, content, bytes: bytes?.get(key) }
  }
}

function* downward(
  items: readonly DownwardAPIVolumeFile[] | null | undefined,
  defaultMode: number | undefined,
  { pod, sources: { allocatable } }: Filled,
): Iterable<Made> {
  for (const { path, fieldRef, resourceFieldRef, mode } of items ?? []) {
    const content = () =>
      resourceFieldRef ? resourceText(pod, resourceFieldRef, { allocatable }) : fieldText(pod, fieldRef?.fieldPath ?? '')
    yield { path, mode: mode ?? defaultMode ?? DEFAULT_MODE, content }
  }
}

/** Each certificate once. */
function certificatesOf(bundles: readonly string[]): string {
  const all = new Set(bundles.flatMap(text => pemBlocks(text).blocks.map(({ bytes }) => encodePem('CERTIFICATE', bytes))))
  return [...all].join('')
}
