/** Rules for volume mounts and block devices of a container. */
import { duplicate, type FieldError, forbidden, invalid, notFoundValue, type Ref, required, unsupported } from '../../../../schema/refs.ts'
import { under } from '../../error-paths.ts'
import { hasBacksteps, validateLocalDescendingPath } from '../volumes/path-rules.ts'
import type { Volume } from '../volumes/volumes.ts'
import type { Container, VolumeDevice, VolumeMount } from './container.ts'

/** The valid volumes of a pod, by name. */
export type Volumes = ReadonlyMap<string, Volume>

/** Mounts name a volume of the pod, and no path is mounted twice or also used by a device. */
export function* validateVolumeMounts(container: Container, at: Ref<VolumeMount[]>, volumes: Volumes): Iterable<FieldError> {
  const devices = pathsByName(container.volumeDevices, device => device.devicePath)
  const mounted = new Set<string>()
  for (const [i, mount] of (container.volumeMounts ?? []).entries()) {
    const { name = '', mountPath = '', subPath, subPathExpr } = mount
    const itemAt = at[i]!
    if (!name) yield required(itemAt.name)
    if (!volumes.has(name)) yield notFoundValue(itemAt.name)
    if (!mountPath) yield required(itemAt.mountPath)
    if (mounted.has(mountPath)) yield invalid(itemAt.mountPath, 'must be unique')
    mounted.add(mountPath)
    if (devices.names.has(name)) yield invalid(itemAt.name, 'must not already exist in volumeDevices')
    if (devices.paths.has(mountPath)) yield invalid(itemAt.mountPath, 'must not already exist as a path in volumeDevices')
    if (subPath) yield* validateLocalDescendingPath(subPath, under(at, 'subPath'))
    if (subPathExpr) {
      if (subPath) yield invalid(itemAt.subPathExpr, 'subPathExpr and subPath are mutually exclusive')
      yield* validateLocalDescendingPath(subPathExpr, under(at, 'subPathExpr'))
    }
    yield* validateMountPropagation(mount, under(at, 'mountPropagation', mount.mountPropagation), container)
    yield* validateRecursiveReadOnly(mount, under(at, 'recursiveReadOnly', mount.recursiveReadOnly))
    yield* validateBindMountOptions(mount, itemAt, volumes)
  }
}

function* validateMountPropagation({ mountPropagation: mode }: VolumeMount, at: Ref<any>, container: Container): Iterable<FieldError> {
  if (mode === undefined) return
  const modes = ['Bidirectional', 'HostToContainer', 'None']
  if (!modes.includes(mode)) yield unsupported(at, ...modes)
  if (mode === 'Bidirectional' && container.securityContext?.privileged !== true)
    yield forbidden(at, 'Bidirectional mount propagation is available only to privileged containers')
}

function* validateRecursiveReadOnly(mount: VolumeMount, at: Ref<any>): Iterable<FieldError> {
  const { recursiveReadOnly: mode, mountPropagation } = mount
  if (mode === undefined || mode === 'Disabled') return
  if (mode !== 'Enabled' && mode !== 'IfPossible') return yield unsupported(at, 'Disabled', 'Enabled', 'IfPossible')
  if (!mount.readOnly) yield forbidden(at, 'may only be specified when readOnly is true')
  if (mountPropagation !== undefined && mountPropagation !== 'None')
    yield forbidden(at, 'may only be specified when mountPropagation is None or not specified')
}

function* validateBindMountOptions({ name, bindMountOptions }: VolumeMount, at: Ref<VolumeMount>, volumes: Volumes): Iterable<FieldError> {
  const options = bindMountOptions ?? []
  const known = ['nodev', 'noexec', 'nosuid']
  const seen = new Set<string>()
  for (const [i, option] of options.entries()) {
    const itemAt = at.bindMountOptions[i]!
    if (!known.includes(option)) yield unsupported(itemAt, ...known)
    if (seen.has(option)) yield duplicate(itemAt)
    seen.add(option)
  }
  if (options.length > 0 && volumes.get(name)?.image)
    yield invalid(at.bindMountOptions, 'bindMountOptions may not be used with image volumes')
}

/** Devices name a volume that supports block mode, and neither name nor path is used twice or also mounted. */
export function* validateVolumeDevices(container: Container, at: Ref<VolumeDevice[]>, volumes: Volumes): Iterable<FieldError> {
  const mounts = pathsByName(container.volumeMounts, mount => mount.mountPath)
  const names = new Set<string>()
  const paths = new Set<string>()
  for (const [i, { name = '', devicePath = '' }] of (container.volumeDevices ?? []).entries()) {
    const itemAt = at[i]!
    const volume = volumes.get(name)
    if (!name) yield required(itemAt.name)
    if (names.has(name)) yield invalid(itemAt.name, 'must be unique')
    if (!volume) yield notFoundValue(itemAt.name)
    else if (!volume.persistentVolumeClaim && !volume.ephemeral)
      yield invalid(itemAt.name, 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode')
    if (!devicePath) yield required(itemAt.devicePath)
    if (paths.has(devicePath)) yield invalid(itemAt.devicePath, 'must be unique')
    if (hasBacksteps(devicePath)) yield invalid(itemAt.devicePath, "can not contain backsteps ('..')")
    else paths.add(devicePath)
    if (mounts.names.has(name)) yield invalid(itemAt.name, 'must not already exist in volumeMounts')
    if (mounts.paths.has(devicePath)) yield invalid(itemAt.devicePath, 'must not already exist as a path in volumeMounts')
    if (name) names.add(name)
  }
}

/** The last path of duplicate names counts. */
function pathsByName<T extends { name: string }>(items: readonly T[] | null | undefined, pathOf: (item: T) => string) {
  const byName = new Map((items ?? []).map(item => [item.name ?? '', pathOf(item) ?? '']))
  return { names: byName, paths: new Set(byName.values()) }
}
