/** Volume plugins inside Kubernetes. CSI drivers have replaced most of them; the rest can hardly provision or delete anything. */
import { type Claim, hasAnnotation, PROVISIONED_BY, type Volume } from '../../kinds/rules/persistent-volume/binding.ts'
import { getOwn } from '../../lib/json-value.ts'

/** Annotates claims with the provisioner of their volume, under its current and its former name. */
export const PROVISIONER = 'volume.kubernetes.io/storage-provisioner'
export const OLD_PROVISIONER = 'volume.beta.kubernetes.io/storage-provisioner'
/** Annotates claims and volumes of a migrated plugin with the driver that replaces it. */
export const MIGRATED_TO = 'pv.kubernetes.io/migrated-to'
/** Keeps a volume with reclaim policy Delete until its storage is deleted. */
export const IN_TREE_FINALIZER = 'kubernetes.io/pv-controller'
const EXTERNAL_FINALIZER = 'external-provisioner.volume.kubernetes.io/finalizer'
const IN_TREE = 'kubernetes.io/'

const DRIVERS: Readonly<Record<string, string>> = {
  'kubernetes.io/aws-ebs': 'ebs.csi.aws.com',
  'kubernetes.io/azure-disk': 'disk.csi.azure.com',
  'kubernetes.io/azure-file': 'file.csi.azure.com',
  'kubernetes.io/cinder': 'cinder.csi.openstack.org',
  'kubernetes.io/gce-pd': 'pd.csi.storage.gke.io',
  'kubernetes.io/portworx-volume': 'pxd.portworx.com',
  'kubernetes.io/vsphere-volume': 'csi.vsphere.vmware.com',
}

/** The CSI driver that replaces a plugin. */
export const driverFor = (plugin: string): string | undefined => getOwn(DRIVERS, plugin)

const HOST_PATH = 'kubernetes.io/host-path'
const NFS = 'kubernetes.io/nfs'

/** The provisioner of a class: an external one, or none with the reason. */
export type Maker = { readonly type: 'external'; readonly name: string } | { readonly type: 'none'; readonly why: string }

export function makerFor(provisioner: string): Maker {
  const driver = driverFor(provisioner)
  if (driver !== undefined) return { type: 'external', name: driver }
  if (!provisioner.startsWith(IN_TREE)) return { type: 'external', name: provisioner }
  if (provisioner === HOST_PATH)
    return { type: 'none', why: 'Failed to create provisioner: provisioning in volume plugin "kubernetes.io/host-path" is disabled' }
  return {
    type: 'none',
    why: provisioner === NFS ? 'no provisionable volume plugin matched' : `no volume plugin matched name: ${provisioner}`,
  }
}

/** How a volume with reclaim policy Delete is deleted. */
export type Removal = { readonly type: 'external' } | { readonly type: 'delete' } | { readonly type: 'fail'; readonly why: string }

export function removalOf({ metadata, spec }: Volume): Removal {
  const annotations = metadata.annotations ?? {}
  const by = getOwn(annotations, PROVISIONED_BY)
  if (by !== undefined && by !== '') {
    if (by === HOST_PATH) return removeHostPath(spec.hostPath?.path)
    if (!by.startsWith(IN_TREE)) return { type: 'external' }
    return { type: 'fail', why: by === NFS ? 'no deletable volume plugin matched' : `no volume plugin matched name: ${by}` }
  }
  if (Object.hasOwn(annotations, MIGRATED_TO) || spec.csi) return { type: 'external' }
  if (spec.hostPath) return removeHostPath(spec.hostPath.path)
  const why = spec.nfs ? 'no deletable volume plugin matched' : 'no volume plugin matched'
  return { type: 'fail', why: `error getting deleter volume plugin for volume "${metadata.name}": ${why}` }
}

/** The directory itself stays: the node is simulated, or its files are not this server's to delete. */
const removeHostPath = (path = ''): Removal =>
  path.includes('/tmp/') && !path.endsWith('/tmp/')
    ? { type: 'delete' }
    : { type: 'fail', why: `host_path deleter only supports /tmp/.+ but received provided ${path}` }

/** Annotates a claim with the driver that replaces its plugin; undefined when nothing changes. */
export function settledClaim<C extends Claim>(claim: C): C | undefined {
  const annotations = settleDriver(claim.metadata.annotations, [PROVISIONER, OLD_PROVISIONER])
  return annotations && { ...claim, metadata: { ...claim.metadata, annotations } }
}

/** Annotates a volume likewise, and sets the finalizer of plugins that delete volumes; undefined when nothing changes. */
export function settledVolume<V extends Volume>(volume: V): V | undefined {
  const annotations = settleDriver(volume.metadata.annotations, [PROVISIONED_BY])
  const finalizers = settleFinalizers(volume)
  if (!annotations && !finalizers) return undefined
  return { ...volume, metadata: { ...volume.metadata, ...(annotations && { annotations }), ...(finalizers && { finalizers }) } }
}

function settleDriver(annotations: Readonly<Record<string, string>> | undefined, keys: readonly string[]) {
  const plugin = annotations && keys.map(key => getOwn(annotations, key)).find(value => value !== undefined)
  if (plugin === undefined) return undefined
  const driver = driverFor(plugin)
  const current = getOwn(annotations!, MIGRATED_TO)
  if (driver !== undefined) return current === driver ? undefined : { ...annotations, [MIGRATED_TO]: driver }
  if (!current) return undefined
  const { [MIGRATED_TO]: _, ...others } = annotations!
  return others
}

function settleFinalizers(volume: Volume): string[] | undefined {
  if (!hasAnnotation(volume, PROVISIONED_BY)) return undefined
  const plugin = volume.metadata.annotations![PROVISIONED_BY]!
  const { finalizers = [] } = volume.metadata
  const without = (...names: readonly string[]) =>
    finalizers.some(each => names.includes(each)) ? finalizers.filter(each => !names.includes(each)) : undefined
  if (driverFor(plugin) !== undefined) return without(IN_TREE_FINALIZER)
  if (!plugin.startsWith(IN_TREE)) return undefined
  if (volume.spec.persistentVolumeReclaimPolicy !== 'Delete') return without(IN_TREE_FINALIZER, EXTERNAL_FINALIZER)
  if (finalizers.includes(IN_TREE_FINALIZER)) return without(EXTERNAL_FINALIZER)
  return [...finalizers.filter(each => each !== EXTERNAL_FINALIZER), IN_TREE_FINALIZER]
}
