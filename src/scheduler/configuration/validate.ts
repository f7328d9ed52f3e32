/** The rules of a KubeSchedulerConfiguration, with the messages of kube-scheduler. */

import { isExtendedResourceName } from '../../kinds/rules/pod/resources/resource-rules.ts'
import { parseDuration } from '../../lib/duration.ts'
import type { Json } from '../../lib/json-value.ts'
import { isQualifiedName } from '../../lib/names.ts'
import { duplicate, type FieldError, invalid, type Ref, refTo, required, withValue } from '../../schema/refs.ts'
import type { Gate } from './args.ts'
import type { CompleteConfiguration, CompleteProfile } from './complete.ts'
import { POINTS } from './plugin-table.ts'
import { type ExtenderConfiguration, type PluginSet, VERSION } from './types.ts'
import { validateArgs } from './validate-args.ts'

/** Plugins that are gone. */
const REMOVED: ReadonlySet<string> = new Set(['AzureDiskLimits', 'CinderLimits', 'EBSLimits', 'GCEPDLimits'])
/** The version that kube-scheduler names for them. */
const REMOVED_IN = 'v1'

export function* validateConfiguration(configuration: CompleteConfiguration, gate: Gate): Iterable<FieldError> {
  const at = refTo(configuration)
  yield* validateClient(configuration, at.clientConnection)
  yield* validateLeaderElection(configuration.leaderElection, at.leaderElection)
  if (configuration.parallelism <= 0) yield invalid(at.parallelism, 'should be an integer value greater than zero')
  yield* validateProfiles(configuration.profiles, at.profiles, gate)
  yield* validatePercentage(configuration.percentageOfNodesToScore, at.percentageOfNodesToScore)
  const { podInitialBackoffSeconds: first, podMaxBackoffSeconds: most } = configuration
  if (first <= 0) yield invalid(at.podInitialBackoffSeconds, 'must be greater than 0')
  if (most < first) yield invalid(at.podMaxBackoffSeconds, 'must be greater than or equal to PodInitialBackoffSeconds')
  yield* validateExtenders(configuration.extenders, at.extenders)
}

function* validateClient(
  { clientConnection: { burst = 0 } }: CompleteConfiguration,
  at: Ref<CompleteConfiguration['clientConnection']>,
): Iterable<FieldError> {
  if (burst < 0) yield invalid(at.burst, 'must be non-negative')
}

function* validateLeaderElection(
  { leaderElect, leaseDuration, renewDeadline, retryPeriod, resourceLock }: CompleteConfiguration['leaderElection'],
  at: Ref<CompleteConfiguration['leaderElection']>,
): Iterable<FieldError> {
  if (!leaderElect) return
  const isPositive = (text: string) => parseDuration(text) > 0n
  if (!isPositive(leaseDuration)) yield invalid(at.leaseDuration, 'must be greater than zero')
  if (!isPositive(renewDeadline)) yield invalid(at.renewDeadline, 'must be greater than zero')
  if (!isPositive(retryPeriod)) yield invalid(at.retryPeriod, 'must be greater than zero')
  // Kube-scheduler shows the deadline here.
  if (parseDuration(leaseDuration) <= parseDuration(renewDeadline))
    yield invalid(withValue(at.leaseDuration, renewDeadline), 'must be greater than `RenewDeadline`')
  if (resourceLock !== 'leases') yield invalid(at.resourceLock, 'resourceLock value must be "leases"')
}

function* validatePercentage(percentage: number | undefined, at: Ref<any>): Iterable<FieldError> {
  if (percentage !== undefined && (percentage < 0 || percentage > 100)) yield invalid(at, 'not in valid range [0-100]')
}

function* validateProfiles(profiles: readonly CompleteProfile[], at: Ref<readonly CompleteProfile[]>, gate: Gate): Iterable<FieldError> {
  const seen = new Set<string>()
  for (const [i, profile] of profiles.entries()) {
    const { schedulerName } = profile
    yield* validateProfile(profile, at[i]!, gate)
    // Kube-scheduler shows the earlier path in this way.
    if (seen.has(schedulerName)) yield duplicate(withValue(at[i]!.schedulerName, {}))
    seen.add(schedulerName)
  }
  yield* validateQueueSort(profiles, at)
}

function* validateProfile(profile: CompleteProfile, at: Ref<CompleteProfile>, gate: Gate): Iterable<FieldError> {
  if (profile.schedulerName === '') yield required(at.schedulerName)
  yield* validatePercentage(profile.percentageOfNodesToScore, at.percentageOfNodesToScore)
  for (const [point] of POINTS)
    if (!UNCHECKED.has(point))
      for (const [i, { name }] of (profile.plugins[point]?.enabled ?? []).entries())
        if (REMOVED.has(name)) yield invalid(withValue(at.plugins[point].enabled[i]!, name), REMOVED_MESSAGE)
  const seen = new Set<string>()
  for (const [i, { name, args }] of profile.pluginConfig.entries()) {
    const here = withValue(at.pluginConfig[i]!, name)
    if (seen.has(name)) yield duplicate(here)
    seen.add(name)
    if (REMOVED.has(name)) yield invalid(here, REMOVED_MESSAGE)
    else if (args) yield* validateArgs({ name, args }, at.pluginConfig[i]!.args, gate)
  }
}

/** Points at which kube-scheduler does not look for such plugins. */
const UNCHECKED: ReadonlySet<string> = new Set(['placementGenerate', 'placementScore'])

const REMOVED_MESSAGE = `was invalid in version "${REMOVED_IN}" (KubeSchedulerConfiguration is version "${VERSION}")`

/** One queue serves all profiles, so there is one order. */
function* validateQueueSort([first, ...others]: readonly CompleteProfile[], at: Ref<readonly CompleteProfile[]>): Iterable<FieldError> {
  const canon = first?.plugins.queueSort
  const count = canon?.enabled?.length ?? 0
  if (count > 1)
    yield invalid(withValue(refTo(undefined, 'profiles[0].plugins.queueSort.Enabled'), count), 'only one queue sort plugin can be enabled')
  for (const [i, { plugins }] of others.entries())
    if (JSON.stringify(shownSet(plugins.queueSort)) !== JSON.stringify(shownSet(canon)))
      yield invalid(withValue(at[i + 1]!.plugins.queueSort, shownSet(plugins.queueSort)), 'must be the same for all profiles')
}

/** A set of plugins as kube-scheduler shows it. */
function shownSet({ enabled, disabled }: PluginSet = {}): Json {
  const shown = (plugins: PluginSet['enabled']) => plugins?.map(({ name, weight = 0 }) => ({ Name: name, Weight: weight })) ?? null
  return { Enabled: shown(enabled), Disabled: shown(disabled) }
}

function* validateExtenders(extenders: readonly ExtenderConfiguration[], at: Ref<readonly ExtenderConfiguration[]>): Iterable<FieldError> {
  const managed = new Set<string>()
  for (const [i, { prioritizeVerb, weight = 0, managedResources = [] }] of extenders.entries()) {
    if (prioritizeVerb && weight <= 0) yield invalid(withValue(at[i]!.weight, Number(weight)), 'must have a positive weight applied to it')
    for (const [j, { name }] of managedResources.entries()) {
      const here = at[i]!.managedResources[j]!.name
      yield* validateExtendedResource(name, here)
      if (managed.has(name)) yield invalid(here, 'duplicate extender managed resource name')
      managed.add(name)
    }
  }
  const binders = extenders.filter(({ bindVerb }) => bindVerb).length
  if (binders > 1) yield invalid(withValue(at, `found ${binders} extenders implementing bind`), 'only one extender can implement bind')
}

function* validateExtendedResource(name: string, at: Ref<any>): Iterable<FieldError> {
  const faults = isQualifiedName(name)
  for (const fault of faults) yield invalid(at, fault)
  if (faults.length === 0 && !isExtendedResourceName(name)) yield invalid(at, 'is an invalid extended resource name')
}
