/** The feature gates of Kubernetes 1.37, with their defaults and those that can no longer be changed. */
import { CURRENT_RELEASES, isBefore, type Releases } from '../schema/lifecycle.ts'

export class FeatureGateError extends Error {}

/** The stages of gates in an earlier release, by name, where they were others than today; `-` for gates that did not exist. */
export type FormerStages = ReadonlyMap<string, string>

export type GateOptions = { readonly releases?: Releases; readonly former?: FormerStages }

/**
 * Reads `A=true,B=false`. Returns a function that tells whether a gate is on. `AllAlpha` and `AllBeta` stand for every gate of that
 * stage that is not named itself. Throws FeatureGateError for gates that are unknown or fixed, and where another gate is needed.
 */
export function readFeatureGates(text: string, { releases = CURRENT_RELEASES, former }: GateOptions = {}): (name: string) => boolean {
  const stage = (name: string) => former?.get(name) ?? stageIn(releases, name)
  const chosen = new Map<string, boolean>()
  for (const part of text.split(',').filter(p => p.trim() !== '')) {
    const [written = '', value = ''] = part.split('=').map(p => p.trim())
    // Kubernetes has gates of several components; the server's may be prefixed with its name.
    const name = written.replace(/^kube:/, '')
    if (!/^(true|false|t|f|1|0)$/i.test(value)) throw new FeatureGateError(`feature gate "${part}": write it as NAME=true or NAME=false`)
    const isOn = /^(t|1)/i.test(value)
    const found = stage(name)
    if (found === ALWAYS_ON && !isOn)
      throw new FeatureGateError(`feature gate ${name} cannot be turned off: the feature is always on in ${releases.emulated}`)
    if (found === ALWAYS_OFF && isOn)
      throw new FeatureGateError(`feature gate ${name} cannot be turned on: the feature is gone in ${releases.emulated}`)
    if (found === ABSENT && isOn)
      throw new FeatureGateError(
        `cannot set feature gate ${name} to true, feature is PreAlpha at emulated version ${releases.emulated}, min compatibility version ${releases.oldest}`,
      )
    if (!isKnown(name)) throw new FeatureGateError(`unknown feature gate ${name || '(no name)'}${suggestion(name)}`)
    chosen.set(name, isOn)
  }
  const isOn = (name: string) => {
    const found = stage(name)
    return chosen.get(name) ?? chosen.get(ALL_OF[found.toLowerCase()] ?? '') ?? found !== found.toLowerCase()
  }
  // Rules ask for the same few again and again.
  const states = new Map<string, boolean>()
  const gate = (name: string): boolean => {
    const known = states.get(name)
    if (known !== undefined) return known
    const state = isOn(name)
    states.set(name, state)
    return state
  }
  if (text !== '') checkNeeds(gate)
  return gate
}

/** Refuses gates that are on although one that they need is off. */
function checkNeeds(gate: (name: string) => boolean): void {
  const problems = [...NEEDS].flatMap(([name, needed]) => {
    const missing = gate(name) ? needed.filter(each => !gate(each)) : []
    return missing.length > 0 ? [`${name} is enabled, but depends on features that are disabled: [${missing.join(' ')}]`] : []
  })
  if (problems.length > 0) throw new FeatureGateError(problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`)
}

/** Whether a gate is on today and cannot be turned off. */
export const isAlwaysOn = (name: string): boolean => FIXED_ON.has(name)

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

/** Stages are letters: alpha, beta, stable or deprecated, always so, absent; capital letters for gates that are on by default. */
const ALWAYS_ON = 'L'
const ALWAYS_OFF = 'l'
const ABSENT = '-'
const ALL_OF: Readonly<Record<string, string>> = { a: ALL_ALPHA, b: ALL_BETA }

/** The stage of a gate today. */
function stageIn({ oldest }: Releases, name: string): string {
  const since = ON_WITHOUT.get(name)
  if (since !== undefined && !isBefore(oldest, since)) return 'B'
  return STAGES().find(([, names]) => names.has(name))?.[0] ?? ''
}
const STAGES = () =>
  [
    ['B', BETA_ON],
    ['b', BETA_OFF],
    ['a', ALPHA],
    ['S', ON],
    ['d', OFF],
    [ALWAYS_ON, FIXED_ON],
    [ALWAYS_OFF, FIXED_OFF],
  ] as const

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
  ContainerCheckpoint ContainerRestartRules ContextualLogging DRAConsumableCapacity DRADeviceBindingConditions
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
  CoordinatedLeaderElection DRAFractionalCapacityRange DRAWorkloadResourceClaims GenericWorkload LocalStorageCapacityIsolationFSQuotaMonitoring
  PodAndContainerStatsFromCRI PodLevelResourceManagers SchedulerAsyncAPICalls
`)

/** Alpha, off by default. */
const ALPHA = words(`
  APIServerWebhookAuthenticationToken APIServingWithRoutine AtomicWriteVolumeUserFields CBORServingAndStorage CPUManagerPolicyAlphaOptions
  CRIListStreaming CSIVolumeHealth CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook CompositePodGroup
  ConsistentListFromCacheSkipTimeoutFallback ContainerStopSignals ControllerManagerReleaseLeaderElectionLockOnExit CrossNamespaceVolumeDataSource DRADerivedAttributes
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

/** Gates that are on by default once no release before this one has to read the records. */
const ON_WITHOUT = new Map([['DRAFractionalCapacityRange', '1.37' as const]])

/** Gates that need others, which can be off. */
const NEEDS: ReadonlyMap<string, readonly string[]> = new Map(
  `
  ClusterTrustBundleProjection:ClusterTrustBundle CompositePodGroup:GenericWorkload,TopologyAwareWorkloadScheduling
  DRADeviceCompatibilityGroups:DRAPartitionableDevices DRADeviceTaintRules:DRADeviceTaints
  DRAFractionalCapacityRange:DRAConsumableCapacity DRAPartitionableDevicesType:DRAPartitionableDevices,DRAResourcePoolStatus
  DRAWorkloadResourceClaims:GenericWorkload GracefulNodeShutdownBasedOnPodPriority:GracefulNodeShutdown
  InPlacePodLevelResourcesVerticalScaling:PodLevelResources
  MatchLabelKeysInPodTopologySpreadSelectorMerge:MatchLabelKeysInPodTopologySpread PodGroupPreemptionPolicy:GenericWorkload
  PodLevelResourceManagers:PodLevelResources PodLevelResourcesFixDefaulting:PodLevelResources
  PodLevelResourcesFixKubeletQOSClass:PodLevelResources ResourceHealthStatusMessage:ResourceHealthStatus
  RestartAllContainersOnContainerExits:ContainerRestartRules StorageVersionAPI:APIServerIdentity
  TopologyAwareWorkloadScheduling:GenericWorkload UnknownVersionInteroperabilityProxy:APIServerIdentity
  WindowsGracefulNodeShutdown:GracefulNodeShutdown WorkloadWithJob:GenericWorkload
`
    .trim()
    .split(/\s+/)
    .map(each => {
      const [name = '', needed = ''] = each.split(':')
      return [name, needed.split(',')] as const
    }),
)
