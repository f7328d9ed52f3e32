/** The feature gates of Kubernetes 1.37, with their defaults and those that can no longer be changed. */

export class FeatureGateError extends Error {}

/**
 * Reads `A=true,B=false`. Returns a function that tells whether a gate is on. `AllAlpha` and `AllBeta` stand for every gate of that
 * stage that is not named itself. Throws FeatureGateError for gates that are unknown or fixed.
 */
export function readFeatureGates(text: string): (name: string) => boolean {
  const chosen = new Map<string, boolean>()
  for (const part of text.split(',').filter(p => p.trim() !== '')) {
    const [written = '', value = ''] = part.split('=').map(p => p.trim())
    // Kubernetes has gates of several components; the server's may be prefixed with its name.
    const name = written.replace(/^kube:/, '')
    if (!/^(true|false|t|f|1|0)$/i.test(value)) throw new FeatureGateError(`feature gate "${part}": write it as NAME=true or NAME=false`)
    const isOn = /^(t|1)/i.test(value)
    if (FIXED_ON.has(name) && !isOn)
      throw new FeatureGateError(`feature gate ${name} cannot be turned off: the feature is always on in 1.37`)
    if (FIXED_OFF.has(name) && isOn) throw new FeatureGateError(`feature gate ${name} cannot be turned on: the feature is gone in 1.37`)
    if (!isKnown(name)) throw new FeatureGateError(`unknown feature gate ${name || '(no name)'}${suggestion(name)}`)
    chosen.set(name, isOn)
  }
  return name => chosen.get(name) ?? chosen.get(stageOf(name)) ?? [ON, BETA_ON, FIXED_ON].some(set => set.has(name))
}

/** Every gate with its stage, as Kubernetes' metrics name it: stable ones have none. */
export function featureStages(): (readonly [name: string, stage: string])[] {
  const stages: [stage: string, ...gates: Iterable<string>[]][] = [
    ['ALPHA', [ALL_ALPHA], ALPHA],
    ['BETA', [ALL_BETA], BETA_ON, BETA_OFF],
    ['', ON, FIXED_ON],
    ['DEPRECATED', OFF, FIXED_OFF],
  ]
  return stages.flatMap(([stage, ...gates]) => gates.flatMap(names => Array.from(names, name => [name, stage] as const)))
}

const ALL_ALPHA = 'AllAlpha'
const ALL_BETA = 'AllBeta'

/** The gate that stands for all of the same stage; empty for gates without one. */
const stageOf = (name: string) => (ALPHA.has(name) ? ALL_ALPHA : BETA_ON.has(name) || BETA_OFF.has(name) ? ALL_BETA : '')

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))
const isKnown = (name: string) =>
  [ON, OFF, BETA_ON, BETA_OFF, ALPHA, FIXED_ON, FIXED_OFF].some(set => set.has(name)) || name === ALL_ALPHA || name === ALL_BETA

function suggestion(name: string): string {
  const changeable = [...ON, ...OFF, ...BETA_ON, ...BETA_OFF, ...ALPHA, ALL_ALPHA, ALL_BETA]
  const like = changeable.find(known => known.toLowerCase() === name.toLowerCase())
  return like === undefined ? '' : `; did you mean ${like}?`
}

/** On by default. */
const BETA_ON = words(`
  APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AllowUnsafeMalformedObjectDeletion
  AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions CRDObservedGenerationTracking
  ClearingNominatedNodeNameAfterBinding ComponentFlagz ComponentStatusz ConcurrentWatchObjectDecode ConstrainedImpersonation
  ContainerCheckpoint ContainerRestartRules ContextualLogging DRAConsumableCapacity DRADeviceBindingConditions DRAFractionalCapacityRange
  DRAPartitionableDevices DRAResourceClaimGranularStatusAuthorization DRASchedulerFilterTimeout DeclarativeValidationBeta
  DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency EnvFiles EtcdRangeStream ExcludeAdmissionWebhookVirtualResources
  ExtendWebSocketsToKubelet GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority HPAGeneration HPAOptimizedSelectorStore
  HPAScaleToZero HugepageAwareEviction InPlacePodLevelResourcesVerticalScaling KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages
  KubeletInUserNamespace KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot LoggingBetaOptions
  ManifestBasedAdmissionControlConfig MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge
  MaxUnavailableStatefulSet MemoryQoS MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs NFTablesNetlink
  NativeHistograms NodeControllerLeaseCircuitBreaker NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching
  PersistentVolumeClaimUnusedSinceTime PodDeletionCost PodLevelResources PodLevelResourcesFixDefaulting PodLevelResourcesFixKubeletQOSClass
  PodTopologyLabelsAdmission PodsAPI PortForwardWebsockets ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile
  RemoteRequestHeaderUID ResourceHealthStatus ResourceHealthStatusMessage RestartAllContainersOnContainerExits
  RotateKubeletServerCertificate SchedulerAsyncPreemption SchedulerPopFromBackoffQ ServiceAccountNodeAudienceRestriction
  SizeBasedListCostEstimate StaleControllerConsistencyDaemonSet StaleControllerConsistencyHPA StaleControllerConsistencyJob
  StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet StatefulSetSemanticRevisionComparison StorageCapacityScoring
  StorageVersionHash StrictIPCIDRValidation StructuredAuthenticationConfigurationEgressSelector
  StructuredAuthenticationConfigurationJWKSMetrics TokenRequestServiceAccountUIDValidation TopologyManagerPolicyBetaOptions
  TranslateStreamCloseWebsocketRequests UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy VolumeLimitScaling WatchList
  WatchListCompression WebhookRoundTripLoadBalancing WindowsGracefulNodeShutdown
`)

/** Beta, off by default. */
const BETA_OFF = words(`
  CoordinatedLeaderElection DRAWorkloadResourceClaims GenericWorkload LocalStorageCapacityIsolationFSQuotaMonitoring
  PodAndContainerStatsFromCRI PodLevelResourceManagers SchedulerAsyncAPICalls
`)

/** Alpha, off by default. */
const ALPHA = words(`
  APIServerWebhookAuthenticationToken APIServingWithRoutine AtomicWriteVolumeUserFields CBORServingAndStorage CPUManagerPolicyAlphaOptions
  CRIListStreaming CSIVolumeHealth CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook CompositePodGroup
  ConsistentListFromCacheSkipTimeoutFallback ContainerStopSignals CrossNamespaceVolumeDataSource DRADerivedAttributes
  DRADeviceCompatibilityGroups DRAListTypeAttributes DRANodeAllocatableResources DRAOptionalNodeOperations DRAPartitionableDevicesType
  DRAResourcePoolStatus DefaultPodSysctls EmptyDirVolumeMode EventedPLEG EvictionRequestAPI GRPCContainerProbeTLS H2CContainerProbe
  ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory
  InPlacePodVerticalScalingMemoryBackedVolumes InPlacePodVerticalScalingSchedulerPreemption InterPodAffinityHostnameFastPath
  KubeProxyNFTablesLocalhostNodePorts KubeletAllocatedPodsEndpoint LoggingAlphaOptions MutablePVNodeAffinity NodeLifecycleConditions
  PodGroupPreemptionPolicy PodLogsQuerySplitStreams QOSReserved ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi
  SchedulerPreQueueingHints ShardedListAndWatch StatefulSetRecreateStrategy StorageVersionAPI TaintTolerationComparisonOperators
  TopologyAwareWorkloadScheduling TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport VolumeBindMountOptions
  WindowsCPUAndMemoryAffinity WorkloadWithJob
`)

/** Stable or deprecated, on by default. */
const ON = words(`
  AllowServiceExternalIPs ClusterTrustBundle ClusterTrustBundleProjection CustomCPUCFSQuotaPeriod DRADeviceTaintRules DRADeviceTaints
  KubeProxyIPVS KubeletPodResourcesListUseActivePods MutatingAdmissionPolicy PodCertificateRequest SELinuxMount ServiceCIDRStatusFieldWiping
  StorageNamespaceIndex StorageVersionMigrator
`)

/** Deprecated, off by default. */
const OFF = words(`
  AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests ChangeContainerStatusOnKubeletRestart KMSv1
  KubeletRegistrationGetOnExistsOnly WindowsHostNetwork
`)

/** Always on. */
const FIXED_ON = words(`
  AggregatedDiscoveryRemoveBetaType CPUManagerPolicyOptions CRDValidationRatcheting CSIServiceAccountTokenSecrets
  CustomResourceFieldSelectors DRAAdminAccess DRAExtendedResource DRAPrioritizedList DRAResourceClaimDeviceStatus DeclarativeValidation
  DisableAllocatorDualWrite DisableCPUQuotaWithExclusiveCPUs DisableNodeKubeProxyVersion DynamicResourceAllocation ExecProbeTimeout
  ExternalServiceAccountTokenSigner HPAConfigurableTolerance HostnameOverride ImageMaximumGCAge ImageVolume InPlacePodVerticalScaling
  InPlacePodVerticalScalingInitContainers JobManagedBy KubeletCgroupDriverFromCRI KubeletFineGrainedAuthz KubeletPSI
  KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletTracing MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator
  MutableCSINodeAllocatableCount NFTablesProxyMode NodeDeclaredFeatures NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap
  PLEGOnDemandRelist PodObservedGenerationTracking PodReadyToStartContainersCondition PodSchedulingReadiness PreferSameTrafficDistribution
  ProcMountType RecoverVolumeExpansionFailure RecursiveReadOnlyMounts RelaxedEnvironmentVariableValidation RelaxedServiceNameValidation
  SELinuxChangePolicy SELinuxMountReadWriteOncePod SeparateTaintEvictionController ServiceAccountTokenJTI ServiceAccountTokenNodeBinding
  ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo SupplementalGroupsPolicy SystemdWatchdog
  TopologyManagerPolicyOptions UserNamespacesSupport VolumeAttributesClass WatchCacheInitializationPostStartHook WinDSR WinOverlay
`)

/** Never on. */
const FIXED_OFF = words(`
  AllowOverwriteTerminationGracePeriodSeconds DeclarativeValidationTakeover GitRepoVolumeDriver SeparateCacheWatchRPC
`)
