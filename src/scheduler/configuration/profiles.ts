/** Makes the profile of the scheduler from one of the configuration: which plugins take part at which point, in which order. */
import { ConfigurationError } from '../../codec/configuration-document.ts'
import { aggregate } from '../../lib/go-text.ts'
import { refTo } from '../../schema/refs.ts'
import { isRejection, type Plugin } from '../plugin.ts'
import type { Profile } from '../profile.ts'
import { argsForPlugins, type Gate } from './args.ts'
import type { CompleteProfile } from './complete.ts'
import { neededPlugins } from './default-plugins.ts'
import { PLUGIN_TABLE, POINTS, type Point } from './plugin-table.ts'
import type { Args, ArgsName, Plugins } from './types.ts'
import { validateFit } from './validate-args.ts'

/** Names of plugins by point, in their order. */
type Lists = { readonly [P in Point]: readonly string[] }

/** Throws ConfigurationError for plugins that do not exist or cannot take part where they are named. */
export function profileFrom(
  profile: CompleteProfile,
  { gate, ...defaults }: { readonly percentageOfNodesToScore: number; readonly gate: Gate },
): Profile {
  const { schedulerName, plugins } = profile
  try {
    const needed = neededPlugins(plugins)
    const args = Object.fromEntries(profile.pluginConfig.flatMap(({ name, args }) => (args ? [[name, args]] : []))) as Args
    if (needed.has('NodeResourcesFit')) checkFit(args)
    const lists = listsOf(profile)
    const complete = argsForPlugins(args)
    const byName = new Map<string, Plugin>()
    for (const [name, { make }] of PLUGIN_TABLE) if (make && needed.has(name)) byName.set(name, make(complete, gate))
    const pluginsIn = (names: readonly string[]) => names.flatMap(name => byName.get(name) ?? [])
    const weights = weightsOf(plugins)
    return {
      schedulerName,
      gates: pluginsIn(lists.preEnqueue),
      filters: filtersOf(lists, byName),
      scorers: pluginsIn(lists.score).map(plugin => ({ plugin, weight: weights.get(plugin.name) ?? 1 })),
      postFilters: pluginsIn(lists.postFilter),
      groupPostFilters: pluginsIn(lists.podGroupPostFilter),
      reservers: pluginsIn(lists.reserve).map(plugin => (lists.preBind.includes(plugin.name) ? plugin : withoutPreparation(plugin))),
      preemption: lists.postFilter.includes('DefaultPreemption') ? complete.DefaultPreemption : undefined,
      percentageOfNodesToScore: profile.percentageOfNodesToScore ?? defaults.percentageOfNodesToScore,
      byName,
    }
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    throw new ConfigurationError(`initializing profiles: creating profile for scheduler name ${schedulerName}: ${error.message}`)
  }
}

function checkFit(args: Pick<Args, Extract<ArgsName, 'NodeResourcesFit'>>): void {
  const errors = [...validateFit(args.NodeResourcesFit, refTo(args.NodeResourcesFit))]
  if (errors.length === 0) return
  throw new ConfigurationError(
    `initializing plugin "NodeResourcesFit": ${aggregate(errors.map(({ field, message }) => `${field}: ${message}`))}`,
  )
}

/** The plugins at each point. */
function listsOf({ schedulerName, plugins }: CompleteProfile): Lists {
  for (const [point, type] of POINTS) checkNamed(plugins, point, type)
  const lists = Object.fromEntries(POINTS.map(([point, type]) => [point, listAt(plugins, point, type)])) as unknown as Lists
  const { queueSort, bind, placementGenerate } = lists
  const name = JSON.stringify(schedulerName)
  if (queueSort.length !== 1)
    throw new ConfigurationError(`only one queue sort plugin required for profile with scheduler name ${name}, but got ${queueSort.length}`)
  if (bind.length === 0) throw new ConfigurationError(`at least one bind plugin is needed for profile with scheduler name ${name}`)
  if (placementGenerate.length > 1)
    throw new ConfigurationError(`at most one placement generate plugin is allowed for profile with scheduler name ${name}`)
  return lists
}

/** The plugins that are named at a point must be able to take part there. */
function checkNamed(plugins: Plugins, point: Point, type: string): void {
  const seen = new Set<string>()
  for (const { name } of plugins[point]?.enabled ?? []) {
    const entry = PLUGIN_TABLE.get(name)
    if (!entry) throw new ConfigurationError(`${type} "${name}" does not exist`)
    if (!entry.points.includes(point)) throw new ConfigurationError(`plugin "${name}" does not extend ${type} plugin`)
    if (seen.has(name)) throw new ConfigurationError(`plugin "${name}" already registered as "${type}"`)
    seen.add(name)
  }
}

/**
 * The plugins at a point: first those of all points that are named here as well, in the order of this point; then those of all points;
 * then those that are named only here.
 */
function listAt(plugins: Plugins, point: Point, type: string): readonly string[] {
  const named = (plugins[point]?.enabled ?? []).map(({ name }) => name)
  const disabled = new Set((plugins[point]?.disabled ?? []).map(({ name }) => name))
  if (disabled.has('*')) return named
  const overridden = new Set<string>()
  const everywhere = new Set<string>()
  for (const { name } of plugins.multiPoint.enabled ?? []) {
    const entry = PLUGIN_TABLE.get(name)
    if (!entry) throw new ConfigurationError(`${type} "${name}" does not exist`)
    if (!entry.points.includes(point) || disabled.has(name)) continue
    if (named.includes(name)) overridden.add(name)
    else if (everywhere.has(name)) throw new ConfigurationError(`plugin "${name}" already registered as "${type}"`)
    else everywhere.add(name)
  }
  return [...named.filter(name => overridden.has(name)), ...everywhere, ...named.filter(name => !overridden.has(name))]
}

/** The weight that is given for scores counts before that for all points. */
function weightsOf({ score, multiPoint }: Plugins): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const { name, weight } of [...(score?.enabled ?? []), ...(multiPoint.enabled ?? [])])
    if (!weights.has(name)) weights.set(name, weight || 1)
  return weights
}

/** Here one function prepares and filters. A plugin that takes part only in the preparation can still reject the pod as a whole. */
function filtersOf({ preFilter, filter }: Lists, byName: ReadonlyMap<string, Plugin>): readonly Plugin[] {
  const filters = filter.flatMap(name => byName.get(name) ?? [])
  const preparing = preFilter.filter(name => !filter.includes(name)).flatMap(name => byName.get(name) ?? [])
  return [...filters, ...preparing.map(withoutTest)]
}

const withoutTest = (plugin: Plugin): Plugin => ({
  ...plugin,
  filter: cycle => {
    const filter = plugin.filter?.(cycle)
    if (!filter || isRejection(filter)) return filter
    return { test: () => undefined, ...(filter.names && { names: filter.names }) }
  },
})

/** The reservation is held, but nothing is written before the pod is bound. */
const withoutPreparation = (plugin: Plugin): Plugin => ({
  ...plugin,
  reserve: (cycle, node) => {
    const reservation = plugin.reserve?.(cycle, node)
    return reservation && { ...reservation, isReady: true, prepare: async () => undefined }
  },
})
