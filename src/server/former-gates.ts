/** The stages of feature gates in the releases before 1.37 that can be emulated, where they were others than today. */
import { CURRENT_RELEASE, minorOf, type Release, type Releases } from '../schema/lifecycle.ts'
import type { FormerStages, GateOptions } from './feature-gates.ts'

/** How the gates of a server are read that follows these releases. */
export const gateOptions = (releases: Releases): GateOptions =>
  releases.emulated === CURRENT_RELEASE ? { releases } : { releases, former: formerStages(releases.emulated) }

/** The stages in a release, as `feature-gates.ts` writes them. */
const formerStages = (release: Release): FormerStages =>
  new Map(
    FORMER.trim()
      .split(/\s+/)
      .map(each => {
        const [name = '', stages = ''] = each.split(':')
        return [name, stages[minorOf(release) - FIRST]!] as const
      }),
  )

/** Each gate with its stages in 1.34, 1.35 and 1.36. */
const FIRST = 34
const FORMER = `
  APIServerWebhookAuthenticationToken:--- AggregatedDiscoveryRemoveBetaType:DLL AllowOverwriteTerminationGracePeriodSeconds:dll
  AllowUnsafeMalformedObjectDeletion:aaa AtomicWriteVolumeUserFields:--- AuthorizePodWebsocketUpgradeCreatePermission:-BB
  CRDObservedGenerationTracking:-bB CRIListStreaming:--a CSIServiceAccountTokenSecrets:-BL ChangeContainerStatusOnKubeletRestart:Sdd
  ClearingNominatedNodeNameAfterBinding:aBB CloudControllerManagerWatchBasedRoutesReconciliation:-aa ClusterTrustBundle:bbb
  ClusterTrustBundleProjection:bbb ComponentFlagz:aaB ComponentStatusz:aaB CompositePodGroup:--- ConcurrentWatchObjectDecode:bbb
  ConsistentListFromCacheSkipTimeoutFallback:--- ConstrainedImpersonation:-aB ContainerRestartRules:aBB ControllerManagerReleaseLeaderElectionLockOnExit:--a CustomCPUCFSQuotaPeriod:aaS
  DRAAdminAccess:BBL DRAConsumableCapacity:aaB DRADerivedAttributes:--- DRADeviceBindingConditions:aaB DRADeviceCompatibilityGroups:---
  DRADeviceTaintRules:-ab DRADeviceTaints:aaB DRAExtendedResource:aaB DRAFractionalCapacityRange:--- DRAListTypeAttributes:--a
  DRANodeAllocatableResources:--a DRAOptionalNodeOperations:--- DRAPartitionableDevices:aaB DRAPartitionableDevicesType:---
  DRAPrioritizedList:BBS DRAResourceClaimDeviceStatus:BBB DRAResourceClaimGranularStatusAuthorization:--B DRAResourcePoolStatus:--a
  DRAWorkloadResourceClaims:--a DeclarativeValidation:BBL DeclarativeValidationBeta:--B DeclarativeValidationTakeover:bbd
  DefaultPodSysctls:--- DeploymentReplicaSetTerminatingReplicas:aBB DisableAllocatorDualWrite:SLL DisableCPUQuotaWithExclusiveCPUs:BBD
  DisableNodeKubeProxyVersion:DDL DynamicResourceAllocation:SLL EmptyDirVolumeMode:--- EnvFiles:aBB EtcdRangeStream:---
  EvictionRequestAPI:--- ExcludeAdmissionWebhookVirtualResources:--- ExecProbeTimeout:SLL ExtendWebSocketsToKubelet:--B
  ExternalServiceAccountTokenSigner:BBL GRPCContainerProbeTLS:--- GenericWorkload:-aa GitRepoVolumeDriver:ddl H2CContainerProbe:---
  HPAConfigurableTolerance:aBB HPAGeneration:--- HPAOptimizedSelectorStore:--- HPAScaleToZero:aaa HostnameOverride:aBB
  HugepageAwareEviction:--- ImageMaximumGCAge:BLL ImageVolume:bBL ImageVolumeWithDigest:-aa InPlacePodLevelResourcesVerticalScaling:-aB
  InPlacePodVerticalScaling:BLL InPlacePodVerticalScalingInitContainers:--B InPlacePodVerticalScalingMemoryBackedVolumes:---
  InPlacePodVerticalScalingSchedulerPreemption:--- InterPodAffinityHostnameFastPath:--- JobManagedBy:BLL KubeProxyIPVS:SSS
  KubeProxyNFTablesLocalhostNodePorts:--- KubeletAllocatedPodsEndpoint:--- KubeletCrashLoopBackOffMax:aBB
  KubeletEnsureSecretPulledImages:aBB KubeletFineGrainedAuthz:BBL KubeletInUserNamespace:aaa KubeletPSI:BBL
  KubeletPodResourcesDynamicResources:BBL KubeletPodResourcesGet:BBL ManifestBasedAdmissionControlConfig:--a
  MaxUnavailableStatefulSet:abb MemoryQoS:aaa MutableCSINodeAllocatableCount:bBL MutablePVNodeAffinity:-aa
  MutablePodResourcesForSuspendedJobs:-aB MutableSchedulingDirectivesForSuspendedJobs:-aB MutatingAdmissionPolicy:bbS NFTablesNetlink:---
  NativeHistograms:--a NodeControllerLeaseCircuitBreaker:--- NodeDeclaredFeatures:-aB NodeLifecycleConditions:--- NodeLogQuery:bbL
  NominatedNodeNameForExpectation:aBB OpportunisticBatching:-BB PLEGOnDemandRelist:--B PersistentVolumeClaimUnusedSinceTime:--a
  PodAndContainerStatsFromCRI:aaa PodCertificateRequest:abb PodGroupPreemptionPolicy:--- PodLevelResourceManagers:--a
  PodLevelResourcesFixDefaulting:--- PodLevelResourcesFixKubeletQOSClass:--- PodObservedGenerationTracking:BLL
  PodReadyToStartContainersCondition:BBB PodTopologyLabelsAdmission:aBB PodsAPI:--a PreferSameTrafficDistribution:BLL ProcMountType:BBL
  RelaxedServiceNameValidation:aaB ReloadKubeletClientCAFile:--B ResourceHealthStatus:aaB ResourceHealthStatusMessage:--B
  RestartAllContainersOnContainerExits:-aB SELinuxChangePolicy:BBL SELinuxMount:bbb SELinuxMountReadWriteOncePod:BBL
  SchedulerPreQueueingHints:--- SeparateCacheWatchRPC:ddl ServiceCIDRStatusFieldWiping:ssD ShardedListAndWatch:--a
  StaleControllerConsistencyDaemonSet:--B StaleControllerConsistencyHPA:--- StaleControllerConsistencyJob:--B
  StaleControllerConsistencyReplicaSet:--B StaleControllerConsistencyStatefulSet:--B StatefulSetRecreateStrategy:---
  StorageCapacityScoring:aaa StorageVersionMigrator:abb StrictIPCIDRValidation:aaB StructuredAuthenticationConfigurationJWKSMetrics:-BB
  SupplementalGroupsPolicy:BLL SystemdWatchdog:BLL TaintTolerationComparisonOperators:-aa TopologyAwareWorkloadScheduling:--a
  UnknownVersionInteroperabilityProxy:aaB UserNamespacesHostNetworkSupport:-aa UserNamespacesSupport:BBL VolumeAttributesClass:SSL
  VolumeBindMountOptions:--- VolumeLimitScaling:-aa WatchCacheInitializationPostStartHook:bbB WatchListCompression:---
  WebhookRoundTripLoadBalancing:--- WorkloadWithJob:--a
`
