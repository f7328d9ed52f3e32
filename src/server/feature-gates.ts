/** Feature gates of Kubernetes 1.37: which there are, what each is by default, and which can no longer be changed. */

export class FeatureGateError extends Error {}

/** Reads `A=true,B=false` and answers whether a gate is on. Throws FeatureGateError for gates that are unknown or fixed. */
export function readFeatureGates(text: string): (name: string) => boolean {
  const chosen = new Map<string, boolean>()
  for (const part of text.split(',').filter(p => p.trim() !== '')) {
    const [name = '', value = ''] = part.split('=').map(p => p.trim())
    if (!/^(true|false)$/i.test(value)) throw new FeatureGateError(`feature gate "${part}": write it as NAME=true or NAME=false`)
    const wanted = value.toLowerCase() === 'true'
    if (FIXED_ON.has(name) && !wanted)
      throw new FeatureGateError(`feature gate ${name} cannot be turned off: the feature is always on in 1.37`)
    if (FIXED_OFF.has(name) && wanted) throw new FeatureGateError(`feature gate ${name} cannot be turned on: the feature is gone in 1.37`)
    if (!isKnown(name)) throw new FeatureGateError(`unknown feature gate ${name || '(no name)'}${suggestion(name)}`)
    chosen.set(name, wanted)
  }
  return name => chosen.get(name) ?? (ON.has(name) || FIXED_ON.has(name))
}

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))
const isKnown = (name: string) => [ON, OFF, FIXED_ON, FIXED_OFF].some(set => set.has(name))

function suggestion(name: string): string {
  const like = [...ON, ...OFF].find(known => known.toLowerCase() === name.toLowerCase())
  return like === undefined ? '' : `; did you mean ${like}?`
}

/** On unless turned off. */
const ON = words(`
  APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AllowServiceExternalIPs AllowUnsafeMalformedObjectDeletion
  AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions CRDObservedGenerationTracking
  ClearingNominatedNodeNameAfterBinding ClusterTrustBundle ClusterTrustBundleProjection ComponentFlagz ComponentStatusz
  ConcurrentWatchObjectDecode ConstrainedImpersonation ContainerCheckpoint ContainerRestartRules CustomCPUCFSQuotaPeriod
  DRAConsumableCapacity DRADeviceBindingConditions DRADeviceTaintRules DRADeviceTaints DRAFractionalCapacityRange DRAPartitionableDevices
  DRAResourceClaimGranularStatusAuthorization DRASchedulerFilterTimeout DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas
  DetectCacheInconsistency EnvFiles EtcdRangeStream ExcludeAdmissionWebhookVirtualResources ExtendWebSocketsToKubelet GracefulNodeShutdown
  GracefulNodeShutdownBasedOnPodPriority HPAGeneration HPAOptimizedSelectorStore HPAScaleToZero HugepageAwareEviction
  InPlacePodLevelResourcesVerticalScaling KubeProxyIPVS KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages KubeletInUserNamespace
  KubeletPodResourcesListUseActivePods KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot
  ManifestBasedAdmissionControlConfig MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge
  MaxUnavailableStatefulSet MemoryQoS MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs
  MutatingAdmissionPolicy NFTablesNetlink NodeControllerLeaseCircuitBreaker NominatedNodeNameForExpectation OpenAPIEnums
  OpportunisticBatching PersistentVolumeClaimUnusedSinceTime PodCertificateRequest PodDeletionCost PodLevelResources
  PodLevelResourcesFixDefaulting PodLevelResourcesFixKubeletQOSClass PodTopologyLabelsAdmission PodsAPI PortForwardWebsockets
  ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile RemoteRequestHeaderUID ResourceHealthStatus ResourceHealthStatusMessage
  RestartAllContainersOnContainerExits RotateKubeletServerCertificate SELinuxMount SchedulerAsyncPreemption SchedulerPopFromBackoffQ
  ServiceAccountNodeAudienceRestriction ServiceCIDRStatusFieldWiping SizeBasedListCostEstimate StaleControllerConsistencyDaemonSet
  StaleControllerConsistencyHPA StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet
  StatefulSetSemanticRevisionComparison StorageCapacityScoring StorageNamespaceIndex StorageVersionHash StorageVersionMigrator
  StrictIPCIDRValidation StructuredAuthenticationConfigurationEgressSelector StructuredAuthenticationConfigurationJWKSMetrics
  TokenRequestServiceAccountUIDValidation TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests
  UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy VolumeLimitScaling WatchList WatchListCompression
  WebhookRoundTripLoadBalancing WindowsGracefulNodeShutdown
`)

/** Off unless turned on. */
const OFF = words(`
  APIServerWebhookAuthenticationToken APIServingWithRoutine AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
  AtomicWriteVolumeUserFields CBORServingAndStorage CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth
  ChangeContainerStatusOnKubeletRestart CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook
  CompositePodGroup ConsistentListFromCacheSkipTimeoutFallback ContainerStopSignals CoordinatedLeaderElection
  CrossNamespaceVolumeDataSource DRADerivedAttributes DRADeviceCompatibilityGroups DRAListTypeAttributes DRANodeAllocatableResources
  DRAOptionalNodeOperations DRAPartitionableDevicesType DRAResourcePoolStatus DRAWorkloadResourceClaims DefaultPodSysctls
  EmptyDirVolumeMode EventedPLEG EvictionRequestAPI GRPCContainerProbeTLS GenericWorkload H2CContainerProbe ImageVolumeWithDigest
  InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory InPlacePodVerticalScalingMemoryBackedVolumes
  InPlacePodVerticalScalingSchedulerPreemption InterPodAffinityHostnameFastPath KMSv1 KubeProxyNFTablesLocalhostNodePorts
  KubeletAllocatedPodsEndpoint KubeletRegistrationGetOnExistsOnly LocalStorageCapacityIsolationFSQuotaMonitoring MutablePVNodeAffinity
  NodeLifecycleConditions PodAndContainerStatsFromCRI PodGroupPreemptionPolicy PodLevelResourceManagers PodLogsQuerySplitStreams
  QOSReserved ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi SchedulerAsyncAPICalls SchedulerPreQueueingHints
  ShardedListAndWatch StatefulSetRecreateStrategy StorageVersionAPI TaintTolerationComparisonOperators TopologyAwareWorkloadScheduling
  TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport VolumeBindMountOptions WindowsCPUAndMemoryAffinity WindowsHostNetwork
  WorkloadWithJob
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
