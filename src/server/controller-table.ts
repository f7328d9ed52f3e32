/** The table of controllers, by the names of kube-controller-manager. Each is loaded when it is started. */

import type { Controller } from '../controllers/controller.ts'
import type { Signing } from '../controllers/csrsigning/controller.ts'
import type { AutoscalerParts } from '../controllers/horizontalpodautoscaler/controller.ts'
import type { IpamParts } from '../controllers/nodeipam/controller.ts'
import type { NodeLifecycleParts } from '../controllers/nodelifecycle/controller.ts'
import type { QuotaControllerParts } from '../controllers/resourcequota/controller.ts'
import type { TokenControllerParts } from '../controllers/serviceaccount-token/controller.ts'
import type { PolicyStatusParts } from '../controllers/validatingadmissionpolicystatus/controller.ts'
import type { SchedulerMetrics } from '../scheduler/scheduler-metrics.ts'

/** The dependencies of controllers beside their client. */
export type ControllerParts = TokenControllerParts &
  QuotaControllerParts &
  PolicyStatusParts &
  NodeLifecycleParts &
  AutoscalerParts & {
    /** The authorities that sign certificates. */
    readonly signing: () => Promise<Signing>
    /** The ranges of pod CIDRs; undefined when nodes get none. */
    readonly ipam: IpamParts | undefined
    /** Whether a feature gate is on. */
    readonly gate: (name: string) => boolean
    readonly schedulerMetrics: SchedulerMetrics
  }

export type ControllerEntry = {
  /** The older name, which `--controllers` accepts as well. */
  readonly alias?: string
  /** Whether the first clients rely on its work: existing objects are processed before the server is ready. */
  readonly first?: true
  /** Whether it runs only with simulated nodes, unless it is named. */
  readonly onlyWithNodes?: true
  /** Whether it runs only when it is named. */
  readonly isOff?: true
  /** The feature gate without which it does not run. */
  readonly gate?: string
  /** Undefined when it has nothing to do. */
  readonly load: (parts: ControllerParts) => Promise<Controller | undefined>
}

const TABLE = {
  'bootstrap-signer-controller': {
    alias: 'bootstrapsigner',
    isOff: true,
    load: async () => (await import('../controllers/bootstrapsigner/controller.ts')).bootstrapSigner,
  },
  'certificatesigningrequest-approving-controller': {
    alias: 'csrapproving',
    load: async () => (await import('../controllers/csrapproving/controller.ts')).csrApprovingController,
  },
  'certificatesigningrequest-cleaner-controller': {
    alias: 'csrcleaner',
    load: async () => (await import('../controllers/csrcleaner/controller.ts')).csrCleaner,
  },
  'certificatesigningrequest-signing-controller': {
    alias: 'csrsigning',
    load: async ({ signing }) => (await import('../controllers/csrsigning/controller.ts')).csrSigningController(await signing()),
  },
  'clusterrole-aggregation-controller': {
    alias: 'clusterrole-aggregation',
    load: async () => (await import('../controllers/clusterroleaggregation/controller.ts')).clusterRoleAggregationController,
  },
  'daemonset-controller': {
    alias: 'daemonset',
    load: async () => (await import('../controllers/daemonset/controller.ts')).daemonSetController,
  },
  'deployment-controller': {
    alias: 'deployment',
    load: async () => (await import('../controllers/deployment/controller.ts')).deploymentController,
  },
  'device-taint-eviction-controller': {
    load: async parts => (await import('../controllers/devicetainteviction/controller.ts')).deviceTaintEvictionController(parts),
  },
  'disruption-controller': {
    alias: 'disruption',
    load: async () => (await import('../controllers/disruption/controller.ts')).disruptionController,
  },
  'endpoints-controller': {
    alias: 'endpoint',
    load: async () => (await import('../controllers/endpoints/controller.ts')).endpointsController,
  },
  'endpointslice-controller': {
    alias: 'endpointslice',
    load: async () => (await import('../controllers/endpointslice/controller.ts')).endpointSliceController,
  },
  'endpointslice-mirroring-controller': {
    alias: 'endpointslicemirroring',
    load: async () => (await import('../controllers/endpointslicemirroring/controller.ts')).endpointSliceMirroringController,
  },
  'cronjob-controller': {
    alias: 'cronjob',
    load: async () => (await import('../controllers/cronjob/controller.ts')).cronJobController,
  },
  'ephemeral-volume-controller': {
    alias: 'ephemeral-volume',
    load: async () => (await import('../controllers/ephemeralvolume/controller.ts')).ephemeralVolumeController,
  },
  'garbage-collector-controller': {
    alias: 'garbagecollector',
    load: async () => (await import('../controllers/garbagecollector/controller.ts')).garbageCollector,
  },
  'horizontal-pod-autoscaler-controller': {
    alias: 'horizontalpodautoscaling',
    load: async parts => (await import('../controllers/horizontalpodautoscaler/controller.ts')).horizontalPodAutoscaling(parts),
  },
  'job-controller': {
    alias: 'job',
    load: async () => (await import('../controllers/job/controller.ts')).jobController,
  },
  'kube-apiserver-serving-clustertrustbundle-publisher-controller': {
    gate: 'ClusterTrustBundle',
    load: async ({ authority }) =>
      (await import('../controllers/clustertrustbundlepublisher/controller.ts')).clusterTrustBundlePublisher(authority),
  },
  'legacy-serviceaccount-token-cleaner-controller': {
    alias: 'legacy-service-account-token-cleaner',
    load: async () => (await import('../controllers/legacytokencleaner/controller.ts')).legacyTokenCleaner,
  },
  'namespace-controller': {
    alias: 'namespace',
    load: async parts => (await import('../controllers/namespace/controller.ts')).namespaceController(parts),
  },
  'node-ipam-controller': {
    alias: 'nodeipam',
    load: async ({ ipam }) => ipam && (await import('../controllers/nodeipam/controller.ts')).nodeIpamController(ipam),
  },
  'node-lifecycle-controller': {
    alias: 'nodelifecycle',
    load: async parts => (await import('../controllers/nodelifecycle/controller.ts')).nodeLifecycleController(parts),
  },
  'persistentvolume-attach-detach-controller': {
    alias: 'attachdetach',
    load: async () => (await import('../controllers/attachdetach/controller.ts')).attachDetachController,
  },
  'persistentvolume-binder-controller': {
    alias: 'persistentvolume-binder',
    load: async () => (await import('../controllers/persistentvolume/controller.ts')).persistentVolumeBinder,
  },
  'persistentvolume-expander-controller': {
    alias: 'persistentvolume-expander',
    load: async () => (await import('../controllers/persistentvolumeexpander/controller.ts')).persistentVolumeExpander,
  },
  'persistentvolume-protection-controller': {
    alias: 'pv-protection',
    load: async () => (await import('../controllers/protection/controller.ts')).volumeProtection,
  },
  'persistentvolumeclaim-protection-controller': {
    alias: 'pvc-protection',
    load: async ({ gate }) => (await import('../controllers/protection/controller.ts')).claimProtection(gate),
  },
  'pod-garbage-collector-controller': {
    alias: 'podgc',
    load: async () => (await import('../controllers/podgc/controller.ts')).podGarbageCollector,
  },
  'podcertificaterequest-cleaner-controller': {
    gate: 'PodCertificateRequest',
    load: async () => (await import('../controllers/podcertificaterequestcleaner/controller.ts')).podCertificateRequestCleaner,
  },
  'podcertificaterequest-signing-controller': {
    gate: 'PodCertificateRequest',
    load: async ({ signing }) =>
      (await import('../controllers/podcertificaterequestsigning/controller.ts')).podCertificateSigner(await signing()),
  },
  'replicaset-controller': {
    alias: 'replicaset',
    load: async () => (await import('../controllers/replicaset/controller.ts')).replicaSetController,
  },
  'replicationcontroller-controller': {
    alias: 'replicationcontroller',
    load: async () => (await import('../controllers/replicaset/controller.ts')).replicationController,
  },
  'resourceclaim-controller': {
    alias: 'resource-claim-controller',
    load: async () => (await import('../controllers/resourceclaim/controller.ts')).resourceClaimController,
  },
  'resourcepoolstatusrequest-controller': {
    gate: 'DRAResourcePoolStatus',
    load: async () => (await import('../controllers/resourcepoolstatusrequest/controller.ts')).resourcePoolStatusRequestController,
  },
  'resourcequota-controller': {
    alias: 'resourcequota',
    load: async parts => (await import('../controllers/resourcequota/controller.ts')).resourceQuotaController(parts),
  },
  'root-ca-certificate-publisher-controller': {
    alias: 'root-ca-cert-publisher',
    first: true,
    load: async ({ authority }) => (await import('../controllers/root-ca-cert-publisher/controller.ts')).rootCaPublisher(authority),
  },
  scheduler: {
    onlyWithNodes: true,
    load: async ({ gate, schedulerMetrics: metrics }) =>
      (await import('../scheduler/controller.ts')).scheduler({ random: Math.random, gate, metrics }),
  },
  'service-cidr-controller': {
    load: async () => (await import('../controllers/servicecidr/controller.ts')).serviceCIDRController,
  },
  'serviceaccount-controller': {
    alias: 'serviceaccount',
    first: true,
    load: async () => (await import('../controllers/serviceaccount/controller.ts')).serviceAccountController,
  },
  'serviceaccount-token-controller': {
    alias: 'serviceaccount-token',
    first: true,
    load: async parts => (await import('../controllers/serviceaccount-token/controller.ts')).tokenController(parts),
  },
  'simulated-storage': {
    onlyWithNodes: true,
    load: async () => (await import('../nodes/storage/controller.ts')).simulatedStorage,
  },
  'statefulset-controller': {
    alias: 'statefulset',
    load: async () => (await import('../controllers/statefulset/controller.ts')).statefulSetController,
  },
  'storage-version-migrator-controller': {
    gate: 'StorageVersionMigrator',
    load: async () => (await import('../controllers/storageversionmigrator/controller.ts')).storageVersionMigrator,
  },
  'taint-eviction-controller': {
    load: async () => (await import('../controllers/tainteviction/controller.ts')).taintEvictionController,
  },
  'token-cleaner-controller': {
    alias: 'tokencleaner',
    isOff: true,
    load: async () => (await import('../controllers/tokencleaner/controller.ts')).tokenCleaner,
  },
  'ttl-after-finished-controller': {
    alias: 'ttl-after-finished',
    load: async () => (await import('../controllers/ttlafterfinished/controller.ts')).ttlAfterFinishedController,
  },
  'validatingadmissionpolicy-status-controller': {
    load: async parts => (await import('../controllers/validatingadmissionpolicystatus/controller.ts')).policyStatusController(parts),
  },
  'volumeattributesclass-protection-controller': {
    load: async () => (await import('../controllers/protection/controller.ts')).attributesClassProtection,
  },
} satisfies Record<string, ControllerEntry>

export type ControllerName = keyof typeof TABLE

export const CONTROLLERS: ReadonlyMap<ControllerName, ControllerEntry> = new Map(
  Object.entries(TABLE) as [ControllerName, ControllerEntry][],
)

const NAMES: ReadonlyMap<string, ControllerName> = new Map(
  [...CONTROLLERS].flatMap(([name, { alias }]): [string, ControllerName][] => [
    [name, name],
    ...(alias ? [[alias, name] as [string, ControllerName]] : []),
  ]),
)

/** The controller with a name or an older name. */
export const controllerNamed = (name: string): ControllerName | undefined => NAMES.get(name)
