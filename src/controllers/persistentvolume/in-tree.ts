/** Storage that Kubernetes once made by itself. Most of it is left to drivers by now; of the rest little can be made or cleaned. */
import { type Claim, hasAnnotation, PROVISIONED_BY, type Volume } from '../../kinds/rules/persistent-volume/binding.ts'
import { getOwn } from '../../lib/json-value.ts'

/** On claims: who is to make the volume; the second is what it was called before. */
export const PROVISIONER = 'volume.kubernetes.io/storage-provisioner'
export const OLD_PROVISIONER = 'volume.beta.kubernetes.io/storage-provisioner'
/** On claims and volumes of plugins whose work a driver has taken over: that driver. */
export const MIGRATED_TO = 'pv.kubernetes.io/migrated-to'
/** Keeps volumes that are to be deleted with what they stand for until that is done. */
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

/** The driver that has taken over the work of a plugin. */
export const driverFor = (plugin: string): string | undefined => getOwn(DRIVERS, plugin)

const HOST_PATH = 'kubernetes.io/host-path'
const NFS = 'kubernetes.io/nfs'

/** Who makes volumes for a class. */
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

/** What happens to a volume that is to be deleted. */
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

/** The directory stays: it is one of a machine that runs this server, or of one that is made up. */
const removeHostPath = (path = ''): Removal =>
  path.includes('/tmp/') && !path.endsWith('/tmp/')
    ? { type: 'delete' }
    : { type: 'fail', why: `host_path deleter only supports /tmp/.+ but received provided ${path}` }

/** The claim or volume with what has to be said about the driver of its plugin; undefined when nothing changes. */
export function settledClaim<C extends Claim>(claim: C): C | undefined {
  const annotations = settleDriver(claim.metadata.annotations, [PROVISIONER, OLD_PROVISIONER])
  return annotations && { ...claim, metadata: { ...claim.metadata, annotations } }
}

/** The same, and with the finalizer that keeps volumes of plugins which are to be deleted. */
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
  const said = getOwn(annotations!, MIGRATED_TO)
  if (driver !== undefined) return said === driver ? undefined : { ...annotations, [MIGRATED_TO]: driver }
  if (!said) return undefined
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
