/** The arguments of plugins: read strictly, completed with defaults, and in the form that the plugins take. */

import { ConfigurationError } from '../../codec/configuration-document.ts'
import { parseDuration } from '../../lib/duration.ts'
import { isObject, type Json, type JsonObject, jsonTypeName } from '../../lib/json-value.ts'
import { ConformError, conform } from '../../schema/conform.ts'
import type { BalancedAllocationArgs } from '../plugins/balanced-allocation.ts'
import type { DynamicResourcesArgs } from '../plugins/dynamic-resources.ts'
import type { InterPodAffinityArgs } from '../plugins/inter-pod-affinity.ts'
import type { NodeAffinityArgs } from '../plugins/node-affinity.ts'
import type { FitArgs } from '../plugins/node-resources-fit.ts'
import type { TopologySpreadArgs } from '../plugins/pod-topology-spread.ts'
import type { VolumeBindingArgs } from '../plugins/volume-binding.ts'
import type { PreemptionArgs } from '../preemption.ts'
import type { ScoringStrategy, WeightedResource } from '../resource-scoring.ts'
import { ARGS, type Args, type ArgsName, type ResourceSpec, type UtilizationShapePoint, VERSION } from './types.ts'

export type Gate = (name: string) => boolean

/** The arguments in the form that the plugins take. */
export type CompleteArgs = {
  readonly DefaultPreemption: PreemptionArgs
  readonly DynamicResources: DynamicResourcesArgs
  readonly InterPodAffinity: InterPodAffinityArgs
  readonly NodeAffinity: NodeAffinityArgs
  readonly NodeResourcesBalancedAllocation: BalancedAllocationArgs
  readonly NodeResourcesFit: FitArgs
  readonly PodTopologySpread: TopologySpreadArgs
  readonly VolumeBinding: VolumeBindingArgs
}

export const takesArgs = (plugin: string): plugin is ArgsName => Object.hasOwn(ARGS, plugin)

/** The arguments of one plugin, with the problems that only strict reading has. Throws ConfigurationError. */
export function readArgs<N extends ArgsName>(
  plugin: N,
  args: Json | undefined,
): { readonly args: Args[N]; readonly problems: readonly string[] } {
  const document = argsDocument(plugin, args)
  const { apiVersion = VERSION, kind = `${plugin}Args`, ...fields } = document
  if (kind !== `${plugin}Args` || apiVersion !== VERSION) throw wrongKind(plugin, String(apiVersion), String(kind))
  try {
    const { value, problems } = conform(ARGS[plugin], fields)
    return { args: value as Args[N], problems }
  } catch (error) {
    if (error instanceof ConformError) throw new ConfigurationError(`decoding args for plugin ${plugin}: ${error.message}`)
    throw error
  }
}

/** Without arguments all are at their defaults. */
function argsDocument(plugin: string, args: Json | undefined): JsonObject {
  if (args === undefined || args === null) return {}
  if (isObject(args)) return args
  throw new ConfigurationError(`decoding args for plugin ${plugin}: ${notAnObject(args)}`)
}

function wrongKind(plugin: string, apiVersion: string, kind: string): ConfigurationError {
  const [group] = VERSION.split('/')
  return new ConfigurationError(
    isArgsKind(apiVersion, kind)
      ? `args for plugin ${plugin} were not of type ${plugin}Args.${group}, got ${kind}.${group}`
      : `decoding args for plugin ${plugin}: ${notRegistered(apiVersion, kind)}`,
  )
}

/** Whether a document is the arguments of a plugin. */
export const isArgsKind = (apiVersion: string, kind: string): boolean =>
  apiVersion === VERSION && kind.endsWith('Args') && takesArgs(kind.slice(0, -'Args'.length))

/** The message about a kind that is not known, in the words of kube-scheduler. */
export const notRegistered = (apiVersion: string, kind: string): string =>
  `no kind "${kind}" is registered for version "${apiVersion}" in scheme "pkg/scheduler/apis/config/scheme/scheme.go:29"`

/** The message about a value that has no fields. */
export const notAnObject = (value: Json): string =>
  `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonTypeName(value)} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`

const CPU_AND_MEMORY: ResourceSpec[] = [
  { name: 'cpu', weight: 1 },
  { name: 'memory', weight: 1 },
]

const weighted = (resources: ResourceSpec[] = []): ResourceSpec[] =>
  resources.length === 0 ? CPU_AND_MEMORY : resources.map(({ name, weight }) => ({ name, weight: weight || 1 }))

/** Fills in absent fields, as kube-scheduler does. */
export const COMPLETED: { readonly [N in ArgsName]: (args: Args[N], gate: Gate) => Args[N] } = {
  DefaultPreemption: args => ({ minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100, ...args }),
  DynamicResources: (args, gate) => ({
    ...(gate('DRASchedulerFilterTimeout') && { filterTimeout: '10s' }),
    ...(gate('DRADeviceBindingConditions') && gate('DRAResourceClaimDeviceStatus') && { bindingTimeout: '10m0s' }),
    ...args,
  }),
  InterPodAffinity: args => ({ hardPodAffinityWeight: 1, ...args }),
  NodeAffinity: args => args,
  NodeResourcesBalancedAllocation: ({ resources }) => ({ resources: weighted(resources) }),
  NodeResourcesFit: args => {
    const { scoringStrategy = { type: 'LeastAllocated' } } = args
    return { ...args, scoringStrategy: { ...scoringStrategy, resources: weighted(scoringStrategy.resources) } }
  },
  PodTopologySpread: args => ({ ...args, defaultingType: args.defaultingType ?? 'System' }),
  VolumeBinding: (args, gate) => ({
    bindTimeoutSeconds: 600,
    ...args,
    ...(!args.shape?.length && gate('StorageCapacityScoring') && { shape: LESS_IS_BETTER }),
  }),
}

const LESS_IS_BETTER: UtilizationShapePoint[] = [
  { utilization: 0, score: 10 },
  { utilization: 100, score: 0 },
]

/** Converts complete and valid arguments to the options of the plugins. */
export function argsForPlugins(args: Args): CompleteArgs {
  const { DefaultPreemption, DynamicResources, InterPodAffinity, NodeAffinity } = args
  const { NodeResourcesFit, PodTopologySpread, VolumeBinding } = args
  return {
    DefaultPreemption: {
      minCandidateNodesPercentage: DefaultPreemption.minCandidateNodesPercentage ?? 0,
      minCandidateNodesAbsolute: DefaultPreemption.minCandidateNodesAbsolute ?? 0,
    },
    DynamicResources: {
      bindingTimeoutMs: milliseconds(DynamicResources.bindingTimeout ?? '10m'),
      filterTimeoutMs: milliseconds(DynamicResources.filterTimeout ?? '0s'),
    },
    InterPodAffinity: {
      hardPodAffinityWeight: InterPodAffinity.hardPodAffinityWeight ?? 0,
      ignorePreferredTermsOfExistingPods: InterPodAffinity.ignorePreferredTermsOfExistingPods ?? false,
    },
    NodeAffinity,
    NodeResourcesBalancedAllocation: { resources: numbered(args.NodeResourcesBalancedAllocation.resources) },
    NodeResourcesFit: {
      ignoredResources: NodeResourcesFit.ignoredResources ?? [],
      ignoredResourceGroups: NodeResourcesFit.ignoredResourceGroups ?? [],
      scoringStrategy: strategyOf(NodeResourcesFit.scoringStrategy ?? {}),
    },
    PodTopologySpread:
      PodTopologySpread.defaultingType === 'List' ? { defaultConstraints: PodTopologySpread.defaultConstraints ?? [] } : {},
    VolumeBinding: { bindTimeoutMs: Number(VolumeBinding.bindTimeoutSeconds ?? 600) * 1000, shape: VolumeBinding.shape },
  }
}

function strategyOf({
  type,
  resources,
  requestedToCapacityRatio,
}: NonNullable<Args['NodeResourcesFit']['scoringStrategy']>): ScoringStrategy {
  const counted = { resources: numbered(resources) }
  if (type === 'RequestedToCapacityRatio') return { type, ...counted, shape: requestedToCapacityRatio?.shape ?? [] }
  return { type: type === 'MostAllocated' ? 'MostAllocated' : 'LeastAllocated', ...counted }
}

const numbered = (resources: ResourceSpec[] = []): WeightedResource[] =>
  resources.map(({ name, weight = 1 }) => ({ name, weight: Number(weight) }))

export const milliseconds = (text: string): number => Number(parseDuration(text) / 1_000_000n)
