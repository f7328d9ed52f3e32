/** Reads a KubeSchedulerConfiguration strictly and completes it with the defaults of kube-scheduler. */
import { ConfigurationError } from '../../codec/configuration-document.ts'
import { parseYaml, YamlError } from '../../codec/yaml.ts'
import { isObject, type Json } from '../../lib/json-value.ts'
import { ConformError, conform } from '../../schema/conform.ts'
import { DEFAULT_SCHEDULER } from '../profile.ts'
import { COMPLETED, type Gate, isArgsKind, notAnObject, notRegistered, readArgs, takesArgs } from './args.ts'
import { neededPlugins, withDefaults } from './default-plugins.ts'
import {
  type Args,
  type ArgsName,
  Configuration,
  type ExtenderConfiguration,
  KIND,
  type KubeSchedulerProfile,
  type Plugins,
  VERSION,
} from './types.ts'

/** The arguments of a plugin; undefined for plugins that take none. */
export type PluginArgs = { readonly name: string; readonly args: Args[ArgsName] | undefined }

export type CompleteProfile = {
  readonly schedulerName: string
  readonly percentageOfNodesToScore: number | undefined
  readonly plugins: Plugins
  readonly pluginConfig: readonly PluginArgs[]
  /** The plugins whose arguments are given, or that take part; the arguments of the others are defaults without effect. */
  readonly configured: ReadonlySet<string>
}

type LeaderElection = Required<Configuration['leaderElection']>

export type CompleteConfiguration = {
  readonly parallelism: number
  readonly leaderElection: LeaderElection
  readonly clientConnection: Configuration['clientConnection']
  readonly percentageOfNodesToScore: number
  readonly podInitialBackoffSeconds: number
  readonly podMaxBackoffSeconds: number
  readonly profiles: readonly CompleteProfile[]
  readonly extenders: readonly ExtenderConfiguration[]
}

/** Throws ConfigurationError. */
export function readComplete(text: string, gate: Gate): CompleteConfiguration {
  const { configuration, problems } = decode(text)
  const profiles = configuration.profiles?.length ? configuration.profiles : [{}]
  const strict: string[] = [...problems]
  const complete = profiles.map((profile, i) => {
    const pluginConfig = (profile.pluginConfig ?? []).map(({ name, args }, j) => {
      const read = argsOf(name, args, `decoding .profiles[${i}].pluginConfig[${j}]`)
      for (const problem of read.problems) strict.push(problem)
      return { name, args: read.args && completed(name as ArgsName, read.args, gate) }
    })
    return completeProfile(profile, { pluginConfig, isOnly: profiles.length === 1, gate })
  })
  if (strict.length > 0) throw new ConfigurationError(`strict decoding error: ${strict.join(', ')}`)
  const { parallelism = 16, percentageOfNodesToScore = 0, podInitialBackoffSeconds = 1, podMaxBackoffSeconds = 10 } = configuration
  return {
    parallelism,
    leaderElection: completeLeaderElection(configuration.leaderElection),
    clientConnection: configuration.clientConnection,
    percentageOfNodesToScore,
    podInitialBackoffSeconds: Number(podInitialBackoffSeconds),
    podMaxBackoffSeconds: Number(podMaxBackoffSeconds),
    profiles: complete,
    extenders: configuration.extenders ?? [],
  }
}

function decode(text: string): { readonly configuration: Configuration; readonly problems: readonly string[] } {
  const { value: document, strictError } = parse(text)
  if (document === null) throw new ConfigurationError(`Object 'Kind' is missing in '${text}'`)
  if (!isObject(document)) throw new ConfigurationError(notAnObject(document))
  const { apiVersion, kind, ...fields } = document
  if (typeof kind !== 'string' || kind === '') throw new ConfigurationError(`Object 'Kind' is missing in '${text}'`)
  if (typeof apiVersion !== 'string' || apiVersion === '') throw new ConfigurationError(`Object 'apiVersion' is missing in '${text}'`)
  if (isArgsKind(apiVersion, kind)) throw new ConfigurationError(`couldn't decode as ${KIND}, got ${apiVersion}, Kind=${kind}: `)
  if (apiVersion !== VERSION || kind !== KIND) throw new ConfigurationError(notRegistered(apiVersion, kind))
  try {
    const { value, problems } = conform(Configuration, fields)
    return { configuration: value, problems: strictError === undefined ? problems : [strictError, ...problems] }
  } catch (error) {
    if (error instanceof ConformError) throw new ConfigurationError(error.message)
    throw error
  }
}

function parse(text: string): ReturnType<typeof parseYaml> {
  try {
    return parseYaml(text)
  } catch (error) {
    if (error instanceof YamlError) throw new ConfigurationError(error.message)
    throw error
  }
}

/** The arguments of one plugin; those of plugins that take none are left alone. */
function argsOf(
  name: string,
  args: Json | undefined,
  where: string,
): { readonly args: Args[ArgsName] | undefined; readonly problems: readonly string[] } {
  if (!takesArgs(name)) return { args: undefined, problems: [] }
  try {
    const read = readArgs(name, args)
    const problem = `${where}: strict decoding error: decoding args for plugin ${name}: strict decoding error: ${read.problems.join(', ')}`
    return { args: read.args, problems: read.problems.length > 0 ? [problem] : [] }
  } catch (error) {
    if (error instanceof ConfigurationError) throw new ConfigurationError(`${where}: ${error.message}`)
    throw error
  }
}

const completed = <N extends ArgsName>(name: N, args: Args[ArgsName], gate: Gate): Args[N] => COMPLETED[name](args as Args[N], gate)

type ProfileParts = { readonly pluginConfig: readonly PluginArgs[]; readonly isOnly: boolean; readonly gate: Gate }

/** Every plugin that takes arguments has some; only a single profile has a default name. */
function completeProfile(
  { schedulerName, percentageOfNodesToScore, plugins }: Partial<KubeSchedulerProfile>,
  { pluginConfig, isOnly, gate }: ProfileParts,
): CompleteProfile {
  const given = new Set(pluginConfig.map(({ name }) => name))
  const complete = withDefaults(plugins, gate)
  const others = (Object.keys(COMPLETED) as ArgsName[]).filter(name => !given.has(name))
  return {
    schedulerName: schedulerName ?? (isOnly ? DEFAULT_SCHEDULER : ''),
    percentageOfNodesToScore,
    plugins: complete,
    pluginConfig: [...pluginConfig, ...others.map(name => ({ name, args: completed(name, {}, gate) }))],
    configured: new Set([...given, ...neededPlugins(complete)]),
  }
}

function completeLeaderElection({ leaderElect = true, ...given }: Configuration['leaderElection']): LeaderElection {
  const isGiven = (text: string | undefined) => text !== undefined && text !== '' && text !== '0s'
  const or = (text: string | undefined, otherwise: string) => (isGiven(text) ? text! : otherwise)
  return {
    leaderElect,
    leaseDuration: or(given.leaseDuration, '15s'),
    renewDeadline: or(given.renewDeadline, '10s'),
    retryPeriod: or(given.retryPeriod, '2s'),
    resourceLock: or(given.resourceLock, 'leases'),
    resourceName: or(given.resourceName, 'kube-scheduler'),
    resourceNamespace: or(given.resourceNamespace, 'kube-system'),
  }
}
