/** The fields of KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) and of the arguments of plugins. */
import { NodeAffinity, TopologySpreadConstraint } from '../../kinds/rules/pod/scheduling/affinity.ts'
import { atomic, bool, bytes, double, duration, int32, int64, message, raw, type Static, string } from '../../schema/types.ts'

export const VERSION = 'kubescheduler.config.k8s.io/v1'
export const KIND = 'KubeSchedulerConfiguration'

const Plugin = message('Plugin', {
  name: [1, string.always(), 'The name of the plugin; `*` for all, where plugins are disabled.'],
  weight: [2, int32.optional(), 'The weight of its scores.'],
})
const PluginSet = message('PluginSet', {
  enabled: [1, atomic(Plugin), 'Plugins beside the default ones, or with another weight.'],
  disabled: [2, atomic(Plugin), 'Default plugins that do not take part.'],
})
export type PluginSet = Static<typeof PluginSet>

const Plugins = message('Plugins', {
  preEnqueue: [1, PluginSet.orEmpty(), 'Before a pod enters the queue.'],
  queueSort: [2, PluginSet.orEmpty(), 'The order of the queue.'],
  preFilter: [3, PluginSet.orEmpty(), 'Before nodes are looked at.'],
  filter: [4, PluginSet.orEmpty(), 'Whether a node fits.'],
  postFilter: [5, PluginSet.orEmpty(), 'When no node fits.'],
  preScore: [6, PluginSet.orEmpty(), 'Before nodes are scored.'],
  score: [7, PluginSet.orEmpty(), 'How good a node is.'],
  reserve: [8, PluginSet.orEmpty(), 'When a node is chosen.'],
  permit: [9, PluginSet.orEmpty(), 'Whether the pod may be bound.'],
  preBind: [10, PluginSet.orEmpty(), 'Before the pod is bound.'],
  bind: [11, PluginSet.orEmpty(), 'The binding.'],
  postBind: [12, PluginSet.orEmpty(), 'After the pod is bound.'],
  multiPoint: [13, PluginSet.orEmpty(), 'Wherever the plugin can take part.'],
  placementGenerate: [14, PluginSet.orEmpty(), 'The placements of a group of pods.'],
  placementScore: [15, PluginSet.orEmpty(), 'How good a placement is.'],
  podGroupPostFilter: [16, PluginSet.orEmpty(), 'When no placement fits.'],
})
export type Plugins = Static<typeof Plugins>

const PluginConfig = message('PluginConfig', {
  name: [1, string.always(), 'The name of the plugin.'],
  args: [2, raw.optional(), 'Its arguments.'],
})

const KubeSchedulerProfile = message('KubeSchedulerProfile', {
  schedulerName: [1, string.optional(), 'Pods with this scheduler name are decided by the profile.'],
  percentageOfNodesToScore: [2, int32.optional(), 'The share of nodes that is enough to choose from.'],
  plugins: [3, Plugins, 'Plugins that take part in addition to the default ones, or do not.'],
  pluginConfig: [4, atomic(PluginConfig), 'The arguments of plugins.'],
})
export type KubeSchedulerProfile = Static<typeof KubeSchedulerProfile>

const ExtenderTLSConfig = message('ExtenderTLSConfig', {
  insecure: [1, bool, 'Whether the certificate is not verified.'],
  serverName: [2, string, 'The name that the certificate has to be valid for.'],
  certFile: [3, string, 'The client certificate.'],
  keyFile: [4, string, 'Its key.'],
  caFile: [5, string, 'Trusted certificates.'],
  certData: [6, bytes, 'The client certificate, in place of the file.'],
  keyData: [7, bytes, 'Its key.'],
  caData: [8, bytes, 'Trusted certificates.'],
})

const Extender = message('Extender', {
  urlPrefix: [1, string.always(), 'The address before the verbs.'],
  filterVerb: [2, string, 'Empty when it does not filter.'],
  preemptVerb: [3, string, 'Empty when it has no say in preemption.'],
  prioritizeVerb: [4, string, 'Empty when it does not score.'],
  weight: [5, int64, 'The weight of its scores.'],
  bindVerb: [6, string, 'Empty when it does not bind.'],
  enableHTTPS: [7, bool, 'Whether the address is https.'],
  tlsConfig: [8, ExtenderTLSConfig, 'Certificates.'],
  httpTimeout: [9, duration, 'How long a call may take.'],
  nodeCacheCapable: [10, bool, 'Whether names of nodes are enough for it.'],
  managedResources: [
    11,
    atomic(
      message('ExtenderManagedResource', {
        name: [1, string.always(), 'An extended resource.'],
        ignoredByScheduler: [2, bool, 'Whether only the extender compares it.'],
      }),
    ),
    'It is asked only about pods that ask for one of these.',
  ],
  ignorable: [12, bool, 'Whether pods are scheduled without it when it fails.'],
})
export type ExtenderConfiguration = Static<typeof Extender>

export const Configuration = message(KIND, {
  parallelism: [1, int32.optional(), 'Accepted.'],
  leaderElection: [
    2,
    message('LeaderElectionConfiguration', {
      leaderElect: [1, bool.optional(), 'Accepted.'],
      leaseDuration: [2, duration, 'Accepted.'],
      renewDeadline: [3, duration, 'Accepted.'],
      retryPeriod: [4, duration, 'Accepted.'],
      resourceLock: [5, string, 'Accepted.'],
      resourceName: [6, string, 'Accepted.'],
      resourceNamespace: [7, string, 'Accepted.'],
    }).orEmpty(),
    'Accepted.',
  ],
  clientConnection: [
    3,
    message('ClientConnectionConfiguration', {
      kubeconfig: [1, string, 'Accepted.'],
      acceptContentTypes: [2, string, 'Accepted.'],
      contentType: [3, string, 'Accepted.'],
      qps: [4, double, 'Accepted.'],
      burst: [5, int32, 'Accepted.'],
    }).orEmpty(),
    'Accepted.',
  ],
  enableProfiling: [4, bool.optional(), 'Accepted.'],
  enableContentionProfiling: [5, bool.optional(), 'Accepted.'],
  percentageOfNodesToScore: [6, int32.optional(), 'The share of nodes that is enough to choose from.'],
  podInitialBackoffSeconds: [7, int64.optional(), 'How long a pod waits after its first attempt.'],
  podMaxBackoffSeconds: [8, int64.optional(), 'How long it waits at most.'],
  profiles: [9, atomic(KubeSchedulerProfile), 'The profiles.'],
  extenders: [10, atomic(Extender), 'The extenders.'],
  delayCacheUntilActive: [11, bool, 'Accepted.'],
})
export type Configuration = Static<typeof Configuration>

const ResourceSpec = message('ResourceSpec', { name: [1, string.always(), ''], weight: [2, int64, ''] })
export type ResourceSpec = Static<typeof ResourceSpec>
const UtilizationShapePoint = message('UtilizationShapePoint', { utilization: [1, int32.always(), ''], score: [2, int32.always(), ''] })
export type UtilizationShapePoint = Static<typeof UtilizationShapePoint>

const ScoringStrategy = message('ScoringStrategy', {
  type: [1, string, ''],
  resources: [2, atomic(ResourceSpec), ''],
  requestedToCapacityRatio: [3, message('RequestedToCapacityRatioParam', { shape: [1, atomic(UtilizationShapePoint), ''] }), ''],
})

/** The arguments of the plugins that take some, by the name of the plugin. */
export const ARGS = {
  DefaultPreemption: message('DefaultPreemptionArgs', {
    minCandidateNodesPercentage: [1, int32.optional(), ''],
    minCandidateNodesAbsolute: [2, int32.optional(), ''],
  }),
  DynamicResources: message('DynamicResourcesArgs', {
    filterTimeout: [1, duration.optional(), ''],
    bindingTimeout: [2, duration.optional(), ''],
  }),
  InterPodAffinity: message('InterPodAffinityArgs', {
    hardPodAffinityWeight: [1, int32.optional(), ''],
    ignorePreferredTermsOfExistingPods: [2, bool, ''],
  }),
  NodeAffinity: message('NodeAffinityArgs', { addedAffinity: [1, NodeAffinity, ''] }),
  NodeResourcesBalancedAllocation: message('NodeResourcesBalancedAllocationArgs', { resources: [1, atomic(ResourceSpec), ''] }),
  NodeResourcesFit: message('NodeResourcesFitArgs', {
    ignoredResources: [1, atomic(string), ''],
    ignoredResourceGroups: [2, atomic(string), ''],
    scoringStrategy: [3, ScoringStrategy, ''],
  }),
  PodTopologySpread: message('PodTopologySpreadArgs', {
    defaultConstraints: [1, atomic(TopologySpreadConstraint), ''],
    defaultingType: [2, string, ''],
  }),
  VolumeBinding: message('VolumeBindingArgs', {
    bindTimeoutSeconds: [1, int64.optional(), ''],
    shape: [2, atomic(UtilizationShapePoint), ''],
  }),
} as const

export type ArgsName = keyof typeof ARGS
/** The arguments of plugins as they are written. */
export type Args = { readonly [N in ArgsName]: Static<(typeof ARGS)[N]> }
