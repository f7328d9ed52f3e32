/**
 * The folder of a pod with local processes. Only the user of the server can open it. A process sees the mounts of its container below the
 * root of the container:
 *
 *     POD/volumes/NAME/               a volume, shared by the containers of the pod
 *     POD/containers/NAME/            the root of a container: /etc/config is here at etc/config, a link to the volume
 *     POD/containers/NAME/tmp/        its directory for temporary files
 *
 * Files from objects are replaced together, as by a kubelet: names are links through ..data to a directory that is never changed.
 */
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rename, rm, rmdir, symlink, unlink, writeFile } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Container, VolumeMount } from '../../kinds/rules/pod/containers/container.ts'
import type { Volume } from '../../kinds/rules/pod/volumes/volumes.ts'
import { bytesOfText } from '../container/byte-text.ts'
import { expand } from '../container/expansion.ts'
import { filesOf } from '../container/files.ts'
import type { Sources } from '../container/sources.ts'

const PRIVATE = 0o700

export type PodFolder = {
  readonly path: string
  /** Directories of claims outlive pods. */
  readonly claims: string
}

export const rootOf = ({ path }: PodFolder, { name }: Container): string => join(path, 'containers', name)
const volumeAt = ({ path }: PodFolder, name: string): string => join(path, 'volumes', name)

/** Creates or updates the volumes of a pod whose files come from objects, and creates the others. */
export async function writeVolumes(folder: PodFolder, pod: Pod, sources: Sources): Promise<void> {
  for (const volume of pod.spec.volumes ?? []) {
    const at = volumeAt(folder, volume.name)
    const files = filesOf(volume, { pod, sources })
    if (files) await writeTogether(at, [...files])
    else await createVolume(at, volume, { folder, pod })
  }
}

/** Creates the root of a container with links to its mounts. */
export async function createRoot(folder: PodFolder, container: Container, variables: ReadonlyMap<string, string>): Promise<string> {
  const root = rootOf(folder, container)
  await mkdir(join(root, 'tmp'), { recursive: true, mode: PRIVATE })
  // Outer mounts first: an inner one is then made inside of the volume, or replaces nothing.
  const mounts = [...(container.volumeMounts ?? [])].sort((a, b) => a.mountPath.length - b.mountPath.length)
  for (const mount of mounts) await link(folder, root, { mount, variables })
  const message = messageFile(root, container)
  await mkdir(dirname(message), { recursive: true, mode: PRIVATE })
  await writeFile(message, '')
  return root
}

/** The termination message that the process has written. */
export async function terminationMessage(folder: PodFolder, container: Container, maxLength: number): Promise<string> {
  try {
    return (await readFile(messageFile(rootOf(folder, container), container), 'utf8')).slice(-maxLength)
  } catch {
    return ''
  }
}

const messageFile = (root: string, { terminationMessagePath = '/dev/termination-log' }: Container): string =>
  inside(root, terminationMessagePath)

/** A path of a container, below a directory and never above it. */
const inside = (directory: string, path: string): string => join(directory, posix.join('/', path))

/** The paths of a container that are elsewhere for its process. */
export const movedPaths = ({ volumeMounts, terminationMessagePath = '/dev/termination-log' }: Container): string[] =>
  [...(volumeMounts ?? []).map(({ mountPath }) => trimmed(mountPath)), terminationMessagePath].filter(path => path !== '' && path !== '/')

/** Puts the root before each of the paths that a text mentions; only whole components of a path count. */
export function withRoot(text: string, paths: readonly string[], root: string): string {
  if (paths.length === 0) return text
  const longestFirst = [...paths].sort((a, b) => b.length - a.length).map(path => path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const mentioned = new RegExp(`(?<![\\w./-])(?:${longestFirst.join('|')})(?![\\w.-])`, 'g')
  return text.replace(mentioned, path => root + path)
}

const trimmed = (path: string): string => posix.normalize(path).replace(/\/$/, '')

type Mounted = { readonly mount: VolumeMount; readonly variables: ReadonlyMap<string, string> }

async function link(folder: PodFolder, root: string, { mount, variables }: Mounted): Promise<void> {
  const { name, mountPath, subPath = '', subPathExpr } = mount
  const below = subPathExpr ? expand(subPathExpr, variable => variables.get(variable)) : subPath
  const target = inside(volumeAt(folder, name), below)
  const at = inside(root, mountPath)
  if (trimmed(mountPath) === '') return
  // A kubelet creates the directory of a sub-path.
  await mkdir(target, { recursive: true, mode: PRIVATE }).catch(() => {})
  await mkdir(dirname(at), { recursive: true, mode: PRIVATE })
  await makeRoom(at)
  await symlink(target, at)
}

/**
 * Removes the link of an earlier run, or an empty directory. Anything else may be a file of this machine, in a volume that is a path of the
 * host: it is never removed, and the process does not start.
 */
async function makeRoom(at: string): Promise<void> {
  const found = await lstat(at).catch(() => undefined)
  if (found?.isSymbolicLink()) await unlink(at)
  else if (found) await rmdir(at)
}

type Around = { readonly folder: PodFolder; readonly pod: Pod }

async function createVolume(
  at: string,
  { name, hostPath, persistentVolumeClaim, ephemeral }: Volume,
  { folder, pod }: Around,
): Promise<void> {
  const { namespace = '', name: podName } = pod.metadata
  const claim = persistentVolumeClaim?.claimName ?? (ephemeral ? `${podName}-${name}` : undefined)
  const target = hostPath?.path ?? (claim === undefined ? undefined : join(folder.claims, namespace, claim))
  if (target === undefined) {
    await mkdir(at, { recursive: true, mode: PRIVATE })
    return
  }
  if (claim !== undefined) await mkdir(target, { recursive: true, mode: PRIVATE })
  await mkdir(dirname(at), { recursive: true, mode: PRIVATE })
  await symlink(target, at).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
}

type Made = {
  readonly path: string
  readonly mode: number
  readonly content: () => string | undefined
}

/** The first of several files with one path counts. */
async function writeTogether(at: string, files: readonly Made[]): Promise<void> {
  const wanted = new Map<string, { readonly bytes: Uint8Array; readonly mode: number }>()
  for (const { path, mode, content } of files) {
    const relative = posix.join('/', path).slice(1)
    const text = content()
    if (relative !== '' && text !== undefined && !wanted.has(relative)) wanted.set(relative, { bytes: bytesOfText(text), mode })
  }
  await mkdir(at, { recursive: true, mode: PRIVATE })
  const current = await readlink(join(at, DATA)).catch(() => undefined)
  if (current !== undefined && (await isSame(join(at, current), wanted))) return
  const next = await mkdtemp(`${at}/..`)
  for (const [path, { bytes, mode }] of wanted) {
    await mkdir(dirname(join(next, path)), { recursive: true, mode: PRIVATE })
    await writeFile(join(next, path), bytes, { mode: mode | OWNER_READS })
  }
  await symlink(posix.basename(next), join(at, NEXT_DATA))
  await rename(join(at, NEXT_DATA), join(at, DATA))
  const names = new Set([...wanted.keys()].map(path => path.split('/')[0]!))
  const known = new Set(await readdir(at))
  for (const name of known) if (!name.startsWith('..') && !names.has(name)) await rm(join(at, name))
  for (const name of names) if (!known.has(name)) await symlink(join(DATA, name), join(at, name))
  if (current !== undefined) await rm(join(at, current), { recursive: true, force: true })
}

const DATA = '..data'
const NEXT_DATA = '..data_tmp'
/** The server must be able to compare them. */
const OWNER_READS = 0o400

async function isSame(folder: string, wanted: ReadonlyMap<string, { readonly bytes: Uint8Array }>): Promise<boolean> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  if (entries.filter(entry => entry.isFile()).length !== wanted.size) return false
  for (const [path, { bytes }] of wanted) {
    const found = await readFile(join(folder, path)).catch(() => undefined)
    if (!found?.equals(bytes)) return false
  }
  return true
}
