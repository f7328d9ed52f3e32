/** The storage of simulated nodes: a driver whose volumes every node can mount, and the class for claims without a class. */
export const DRIVER = 'csi.keelson.dev'
const STORAGE_CLASS = 'standard'
/** Limit of volumes per node. */
const VOLUMES_PER_NODE = 128
/** Keep objects until the driver has finished their deletion, as the finalizers of real drivers do. */
export const PROVISIONER_FINALIZER = 'external-provisioner.volume.kubernetes.io/finalizer'
export const ATTACHER_FINALIZER = 'external-attacher/csi-keelson-dev'

export const driverObject = {
  metadata: { name: DRIVER },
  spec: { attachRequired: true, podInfoOnMount: false, fsGroupPolicy: 'File', volumeLifecycleModes: ['Persistent'] },
}

export const classObject = (isDefault: boolean) => ({
  metadata: { name: STORAGE_CLASS, ...(isDefault && { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } }) },
  provisioner: DRIVER,
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'Immediate',
  allowVolumeExpansion: true,
})

/** The driver on a node. */
export const driverOnNode = (node: string) => ({
  name: DRIVER,
  nodeID: node,
  topologyKeys: [],
  allocatable: { count: VOLUMES_PER_NODE },
})
