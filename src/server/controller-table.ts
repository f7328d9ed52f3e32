/** The table of controllers, by the names of kube-controller-manager. Each is loaded when it is started. */

import type { Controller } from '../controllers/controller.ts'
import type { Signing } from '../controllers/csrsigning/controller.ts'
import type { AutoscalerParts } from '../controllers/horizontalpodautoscaler/controller.ts'
import type { IpamParts } from '../controllers/nodeipam/controller.ts'
import type { NodeLifecycleParts } from '../controllers/nodelifecycle/controller.ts'
import type { QuotaControllerParts } from '../controllers/resourcequota/controller.ts'
import type { TokenControllerParts } from '../controllers/serviceaccount-token/controller.ts'
import type { PolicyStatusParts } from '../controllers/validatingadmissionpolicystatus/controller.ts'
import { chance } from '../lib/environment.ts'
import type { SchedulerMetrics } from '../scheduler/scheduler-metrics.ts'
import type { SchedulerSettings } from '../scheduler/settings.ts'
import type { Assertions } from '../schema/assertions.ts'
import type { Dial } from '../transport/egress.ts'

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
    /** Whether a resource exists that `--runtime-config` may leave out; the group is without its domain. */
    readonly isServed: (group: string, plural: string) => boolean
    readonly schedulerMetrics: SchedulerMetrics
    /** Undefined without a configuration file. */
    readonly schedulerSettings: SchedulerSettings | undefined
    /** Opens connections to extenders of the scheduler, where they are not direct. */
    readonly extenderDial: Dial | undefined
    readonly assertions: Assertions
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
  /** The resource that it is about, by plural and the group without its domain; without it every server has all that it needs. */
  readonly needs?: string
  /** The feature gate without which it does not run. */
  readonly gate?: string
  /** Undefined when it has nothing to do. */
  readonly load: (parts: ControllerParts) => Promise<Controller | undefined>
}

const TABLE = {
  'bootstrap-signer-controller': {
    needs: 'secrets',
    alias: 'bootstrapsigner',
    isOff: true,
    load: async () => (await import('../controllers/bootstrapsigner/controller.ts')).bootstrapSigner,
  },
  'certificatesigningrequest-approving-controller': {
    needs: 'certificatesigningrequests.certificates',
    alias: 'csrapproving',
    load: async () => (await import('../controllers/csrapproving/controller.ts')).csrApprovingController,
  },
  'certificatesigningrequest-cleaner-controller': {
    needs: 'certificatesigningrequests.certificates',
    alias: 'csrcleaner',
    load: async () => (await import('../controllers/csrcleaner/controller.ts')).csrCleaner,
  },
  'certificatesigningrequest-signing-controller': {
    needs: 'certificatesigningrequests.certificates',
    alias: 'csrsigning',
    load: async ({ signing }) => (await import('../controllers/csrsigning/controller.ts')).csrSigningController(await signing()),
  },
  'clusterrole-aggregation-controller': {
    alias: 'clusterrole-aggregation',
    load: async () => (await import('../controllers/clusterroleaggregation/controller.ts')).clusterRoleAggregationController,
  },
  'daemonset-controller': {
    needs: 'daemonsets.apps',
    alias: 'daemonset',
    load: async () => (await import('../controllers/daemonset/controller.ts')).daemonSetController,
  },
  'deployment-controller': {
    needs: 'deployments.apps',
    alias: 'deployment',
    load: async () => (await import('../controllers/deployment/controller.ts')).deploymentController,
  },
  'device-taint-eviction-controller': {
    needs: 'pods',
    gate: 'DRADeviceTaints',
    load: async parts => (await import('../controllers/devicetainteviction/controller.ts')).deviceTaintEvictionController(parts),
  },
  'disruption-controller': {
    needs: 'poddisruptionbudgets.policy',
    alias: 'disruption',
    load: async () => (await import('../controllers/disruption/controller.ts')).disruptionController,
  },
  'endpoints-controller': {
    needs: 'services',
    alias: 'endpoint',
    load: async () => (await import('../controllers/endpoints/controller.ts')).endpointsController,
  },
  'endpointslice-controller': {
    needs: 'services',
    alias: 'endpointslice',
    load: async () => (await import('../controllers/endpointslice/controller.ts')).endpointSliceController,
  },
  'endpointslice-mirroring-controller': {
    needs: 'endpoints',
    alias: 'endpointslicemirroring',
    load: async () => (await import('../controllers/endpointslicemirroring/controller.ts')).endpointSliceMirroringController,
  },
  'cronjob-controller': {
    needs: 'cronjobs.batch',
    alias: 'cronjob',
    load: async () => (await import('../controllers/cronjob/controller.ts')).cronJobController,
  },
  'ephemeral-volume-controller': {
    needs: 'pods',
    alias: 'ephemeral-volume',
    load: async () => (await import('../controllers/ephemeralvolume/controller.ts')).ephemeralVolumeController,
  },
  'garbage-collector-controller': {
    alias: 'garbagecollector',
    load: async () => (await import('../controllers/garbagecollector/controller.ts')).garbageCollector,
  },
  'horizontal-pod-autoscaler-controller': {
    needs: 'horizontalpodautoscalers.autoscaling',
    alias: 'horizontalpodautoscaling',
    load: async parts => (await import('../controllers/horizontalpodautoscaler/controller.ts')).horizontalPodAutoscaling(parts),
  },
  'job-controller': {
    needs: 'jobs.batch',
    alias: 'job',
    async load({ gate }) {
      const { jobControllerWith } = await import('../controllers/job/controller.ts')
      const groups = gate('WorkloadWithJob') ? await import('../controllers/job/job-groups.ts') : undefined
      return jobControllerWith(groups?.jobGroups)
    },
  },
  'kube-apiserver-serving-clustertrustbundle-publisher-controller': {
    needs: 'clustertrustbundles.certificates',
    gate: 'ClusterTrustBundle',
    load: async ({ authority }) =>
      (await import('../controllers/clustertrustbundlepublisher/controller.ts')).clusterTrustBundlePublisher(authority),
  },
  'legacy-serviceaccount-token-cleaner-controller': {
    needs: 'pods',
    alias: 'legacy-service-account-token-cleaner',
    load: async () => (await import('../controllers/legacytokencleaner/controller.ts')).legacyTokenCleaner,
  },
  'namespace-controller': {
    alias: 'namespace',
    load: async parts => (await import('../controllers/namespace/controller.ts')).namespaceController(parts),
  },
  'node-ipam-controller': {
    needs: 'nodes',
    alias: 'nodeipam',
    load: async ({ ipam }) => ipam && (await import('../controllers/nodeipam/controller.ts')).nodeIpamController(ipam),
  },
  'node-lifecycle-controller': {
    needs: 'nodes',
    alias: 'nodelifecycle',
    load: async parts => (await import('../controllers/nodelifecycle/controller.ts')).nodeLifecycleController(parts),
  },
  'persistentvolume-attach-detach-controller': {
    needs: 'volumeattachments.storage',
    alias: 'attachdetach',
    load: async () => (await import('../controllers/attachdetach/controller.ts')).attachDetachController,
  },
  'persistentvolume-binder-controller': {
    needs: 'persistentvolumes',
    alias: 'persistentvolume-binder',
    load: async () => (await import('../controllers/persistentvolume/controller.ts')).persistentVolumeBinder,
  },
  'persistentvolume-expander-controller': {
    needs: 'persistentvolumes',
    alias: 'persistentvolume-expander',
    load: async () => (await import('../controllers/persistentvolumeexpander/controller.ts')).persistentVolumeExpander,
  },
  'persistentvolume-protection-controller': {
    needs: 'persistentvolumes',
    alias: 'pv-protection',
    load: async () => (await import('../controllers/protection/controller.ts')).volumeProtection,
  },
  'persistentvolumeclaim-protection-controller': {
    needs: 'persistentvolumeclaims',
    alias: 'pvc-protection',
    load: async ({ gate }) => (await import('../controllers/protection/controller.ts')).claimProtection(gate),
  },
  'pod-garbage-collector-controller': {
    needs: 'pods',
    alias: 'podgc',
    load: async () => (await import('../controllers/podgc/controller.ts')).podGarbageCollector,
  },
  'podcertificaterequest-cleaner-controller': {
    needs: 'podcertificaterequests.certificates',
    gate: 'PodCertificateRequest',
    load: async () => (await import('../controllers/podcertificaterequestcleaner/controller.ts')).podCertificateRequestCleaner,
  },
  'podcertificaterequest-signing-controller': {
    needs: 'podcertificaterequests.certificates',
    gate: 'PodCertificateRequest',
    load: async ({ signing }) =>
      (await import('../controllers/podcertificaterequestsigning/controller.ts')).podCertificateSigner(await signing()),
  },
  'podgroup-protection-controller': {
    gate: 'GenericWorkload',
    load: async ({ isServed }) =>
      isServed('scheduling', 'podgroups') ? (await import('../controllers/protection/controller.ts')).podGroupProtection : undefined,
  },
  'replicaset-controller': {
    needs: 'replicasets.apps',
    alias: 'replicaset',
    load: async () => (await import('../controllers/replicaset/controller.ts')).replicaSetController,
  },
  'replicationcontroller-controller': {
    needs: 'replicationcontrollers',
    alias: 'replicationcontroller',
    load: async () => (await import('../controllers/replicaset/controller.ts')).replicationController,
  },
  'resourceclaim-controller': {
    needs: 'resourceclaims.resource',
    alias: 'resource-claim-controller',
    load: async parts => (await import('../controllers/resourceclaim/controller.ts')).resourceClaimController(parts),
  },
  'resourcepoolstatusrequest-controller': {
    needs: 'resourcepoolstatusrequests.resource',
    gate: 'DRAResourcePoolStatus',
    load: async () => (await import('../controllers/resourcepoolstatusrequest/controller.ts')).resourcePoolStatusRequestController,
  },
  'resourcequota-controller': {
    needs: 'resourcequotas',
    alias: 'resourcequota',
    load: async parts => (await import('../controllers/resourcequota/controller.ts')).resourceQuotaController(parts),
  },
  'root-ca-certificate-publisher-controller': {
    needs: 'configmaps',
    alias: 'root-ca-cert-publisher',
    first: true,
    load: async ({ authority }) => (await import('../controllers/root-ca-cert-publisher/controller.ts')).rootCaPublisher(authority),
  },
  scheduler: {
    needs: 'pods',
    onlyWithNodes: true,
    async load({ gate, schedulerMetrics: metrics, schedulerSettings: settings, extenderDial: dial, assertions }) {
      const { scheduler } = await import('../scheduler/controller.ts')
      const groups = gate('GenericWorkload') ? await import('../scheduler/groups/group-scheduling.ts') : undefined
      const options = { random: chance, gate, metrics, assertions, dial, groupScheduling: groups?.groupScheduling }
      return scheduler({ ...options, ...(settings && { settings }) })
    },
  },
  'selinux-warning-controller': {
    needs: 'pods',
    isOff: true,
    gate: 'SELinuxChangePolicy',
    load: async () => (await import('../controllers/selinuxwarning/controller.ts')).selinuxWarningController,
  },
  'service-cidr-controller': {
    needs: 'servicecidrs.networking',
    load: async () => (await import('../controllers/servicecidr/controller.ts')).serviceCIDRController,
  },
  'serviceaccount-controller': {
    needs: 'serviceaccounts',
    alias: 'serviceaccount',
    first: true,
    load: async () => (await import('../controllers/serviceaccount/controller.ts')).serviceAccountController,
  },
  'serviceaccount-token-controller': {
    needs: 'secrets',
    alias: 'serviceaccount-token',
    first: true,
    load: async parts => (await import('../controllers/serviceaccount-token/controller.ts')).tokenController(parts),
  },
  'simulated-storage': {
    needs: 'persistentvolumes',
    onlyWithNodes: true,
    load: async () => (await import('../nodes/storage/controller.ts')).simulatedStorage,
  },
  'statefulset-controller': {
    needs: 'statefulsets.apps',
    alias: 'statefulset',
    load: async () => (await import('../controllers/statefulset/controller.ts')).statefulSetController,
  },
  'storageversion-garbage-collector-controller': {
    alias: 'storage-version-gc',
    gate: 'StorageVersionAPI',
    load: async ({ isServed }) =>
      isServed('internal.apiserver', 'storageversions')
        ? (await import('../controllers/storageversiongc/controller.ts')).storageVersionCollector
        : undefined,
  },
  'storage-version-migrator-controller': {
    needs: 'storageversionmigrations.storagemigration',
    gate: 'StorageVersionMigrator',
    load: async () => (await import('../controllers/storageversionmigrator/controller.ts')).storageVersionMigrator,
  },
  'taint-eviction-controller': {
    needs: 'pods',
    load: async () => (await import('../controllers/tainteviction/controller.ts')).taintEvictionController,
  },
  'token-cleaner-controller': {
    needs: 'secrets',
    alias: 'tokencleaner',
    isOff: true,
    load: async () => (await import('../controllers/tokencleaner/controller.ts')).tokenCleaner,
  },
  'ttl-controller': {
    needs: 'nodes',
    alias: 'ttl',
    load: async () => (await import('../controllers/ttl/controller.ts')).ttlController,
  },
  'ttl-after-finished-controller': {
    needs: 'jobs.batch',
    alias: 'ttl-after-finished',
    load: async () => (await import('../controllers/ttlafterfinished/controller.ts')).ttlAfterFinishedController,
  },
  'validatingadmissionpolicy-status-controller': {
    needs: 'validatingadmissionpolicies.admissionregistration',
    load: async parts => (await import('../controllers/validatingadmissionpolicystatus/controller.ts')).policyStatusController(parts),
  },
  'volumeattributesclass-protection-controller': {
    needs: 'volumeattributesclasses.storage',
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
