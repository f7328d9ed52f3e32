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
import { managedFile, nodeFile } from './managed-files.ts'
import type { Sources } from './sources.ts'

type Around = { readonly pod: Pod; readonly container: Container; readonly sources: Sources }
type Variables = () => ReadonlyMap<string, string>

/** The file or directory at a path of a container. */
export function fileAt(path: string, around: Around, variables: Variables): FileFound {
  const normalized = posix.normalize(path)
  const mount = mountOf(normalized, around.container)
  if (!mount) return managedFile(normalized, around.pod, around.container) ?? 'unknown'
  const volume = around.pod.spec.volumes?.find(({ name }) => name === mount.name)
  if (!volume) return 'unknown'
  const below = normalized.slice(trimmed(mount.mountPath).length)
  const inVolume = posix.join('/', subPathOf(mount, variables), below)
  const group = Number(around.pod.spec.securityContext?.fsGroup ?? 0)
  if (volume.emptyDir) {
    const fileSystem = volume.emptyDir.medium === 'Memory' ? 'tmpfs' : EXT4
    // A kubelet creates the directories of mounts.
    const isMounted = (each: VolumeMount) =>
      each.name === mount.name && `${posix.join('/', subPathOf(each, variables))}/`.startsWith(`${inVolume}/`)
    const isMade = inVolume === '/' || (around.container.volumeMounts ?? []).some(isMounted)
    return isMade ? { content: undefined, mode: 0o777, group, isDirectory: true, fileSystem } : 'unknown'
  }
  if (volume.hostPath) {
    const isMade = inVolume === '/' && startsEmpty(volume)
    if (isMade) return { content: undefined, mode: 0o755, group: 0, isDirectory: true, fileSystem: EXT4 }
    return nodeFile(trimmed(posix.join(volume.hostPath.path, inVolume)), around.pod) ?? 'unknown'
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
  const inVolume = trimmed(posix.join('/', subPathOf(mount, variables), normalized.slice(trimmed(mount.mountPath).length)))
  const files = filesOf(volume, around)
  if (!files) return undefined
  const below = [...files].map(file => posix.join('/', file.path)).filter(file => file.startsWith(`${inVolume}/`))
  return [...new Set(below.map(file => file.slice(inVolume.length + 1).split('/')[0]!))].sort(compareText)
}

/** Whether a volume is a directory of the node that is created for pods: simulated nodes have no others. */
export const startsEmpty = ({ hostPath }: Volume): boolean => hostPath?.type === 'DirectoryOrCreate'

/** The path on the node of a path in such a directory; undefined elsewhere. */
export function hostPathOf(path: string, { pod, container, variables }: Mounting): string | undefined {
  const normalized = posix.normalize(path)
  const mount = mountOf(normalized, container)
  const volume = mount && pod.spec.volumes?.find(({ name }) => name === mount.name)
  if (!mount || !volume?.hostPath || !startsEmpty(volume)) return undefined
  return posix.join(volume.hostPath.path, subPathOf(mount, variables), normalized.slice(trimmed(mount.mountPath).length))
}

/** The paths at which a container sees such a path of its node. */
export function pathsOfHost(hostPath: string, { pod, container, variables }: Mounting): string[] {
  return (container.volumeMounts ?? []).flatMap(mount => {
    const volume = pod.spec.volumes?.find(({ name }) => name === mount.name)
    if (!volume?.hostPath || !startsEmpty(volume)) return []
    const root = trimmed(posix.join(volume.hostPath.path, subPathOf(mount, variables)))
    return hostPath.startsWith(`${root}/`) ? [posix.join(mount.mountPath, hostPath.slice(root.length))] : []
  })
}

/** Whether a path is in a directory that starts empty, an emptyDir or one of the node, which only this container of the pod mounts. */
export function isOwnPath(path: string, { spec }: Pod, container: Container): boolean {
  const mount = mountOf(posix.normalize(path), container)
  if (!mount || !spec.volumes?.some(volume => volume.name === mount.name && (volume.emptyDir || startsEmpty(volume)))) return false
  return containersOf(spec).every(each => each.name === container.name || !each.volumeMounts?.some(({ name }) => name === mount.name))
}

/** A place in an emptyDir, which containers of a pod share. */
export type SharedPlace = { readonly volume: string; readonly path: string }

/** The place of a path of a container; undefined when it is not in an emptyDir. */
export function sharedPlaceOf(path: string, { pod, container, variables }: Mounting): SharedPlace | undefined {
  const normalized = posix.normalize(path)
  const mount = mountOf(normalized, container)
  if (!mount || !pod.spec.volumes?.some(({ name, emptyDir }) => name === mount.name && emptyDir)) return undefined
  return { volume: mount.name, path: posix.join('/', subPathOf(mount, variables), normalized.slice(trimmed(mount.mountPath).length)) }
}

/** The paths at which a container sees such a place. */
export function pathsOfPlace({ volume, path }: SharedPlace, { container, variables }: Omit<Mounting, 'pod'>): string[] {
  return (container.volumeMounts ?? []).flatMap(mount => {
    if (mount.name !== volume) return []
    const root = trimmed(posix.join('/', subPathOf(mount, variables)))
    return path.startsWith(`${root}/`) ? [posix.join(mount.mountPath, path.slice(root.length))] : []
  })
}

/** A container whose mounts are looked at, with its variables: paths of mounts can contain them. */
export type Mounting = { readonly pod: Pod; readonly container: Container; readonly variables: Variables }

const subPathOf = ({ subPathExpr, subPath = '' }: VolumeMount, variables: Variables): string =>
  subPathExpr ? expand(subPathExpr, name => variables().get(name)) : subPath

/** Whether a path is in a volume that is mounted read-only, or in an image with a read-only root file system. */
export function isReadOnlyPath(path: string, { spec }: Pod, container: Container): boolean {
  const normalized = posix.normalize(path)
  const mount = mountOf(normalized, container)
  if (!mount) return container.securityContext?.readOnlyRootFilesystem === true && !/^\/(dev|proc|sys)\//.test(normalized)
  const { configMap, secret, downwardAPI, projected } = spec.volumes?.find(({ name }) => name === mount.name) ?? {}
  return mount.readOnly === true || (configMap ?? secret ?? downwardAPI ?? projected) !== undefined
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
  const chosen = items?.length ? items : [...(entries?.keys() ?? [])].map(key => ({ key, path: key, mode: undefined }))
  for (const { key, path, mode } of chosen) {
    const content = entries?.get(key)
    if (content) yield { path, mode: mode ?? defaultMode ?? DEFAULT_MODE, content }
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
