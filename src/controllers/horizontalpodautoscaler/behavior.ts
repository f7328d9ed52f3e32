/** Limits how far and how fast a size changes: bounds, rates, and stabilization by earlier recommendations. */

export type Policy = { readonly type: string; readonly value: number; readonly periodSeconds: number }
export type Rules = {
  readonly stabilizationWindowSeconds?: number
  readonly selectPolicy?: string
  readonly policies?: readonly Policy[]
}
export type Behavior = { readonly scaleUp?: Rules; readonly scaleDown?: Rules }

export type Recommendation = { readonly replicas: number; readonly atMs: number }
export type ScaleEvent = { readonly change: number; readonly atMs: number }

/** The memory of an autoscaler. Kubernetes keeps it in memory as well: after a restart it starts with the current size. */
export type Memory = {
  readonly recommendations: readonly Recommendation[]
  readonly ups: readonly ScaleEvent[]
  readonly downs: readonly ScaleEvent[]
}
export const NOTHING_REMEMBERED: Memory = { recommendations: [], ups: [], downs: [] }

export type Limits = {
  readonly current: number
  readonly min: number
  readonly max: number
  readonly behavior: Behavior | undefined
  /** How far back higher recommendations count where the rules do not say. */
  readonly downscaleStabilizationMs: number
  readonly nowMs: number
}

export type Finding = { readonly status: 'True' | 'False'; readonly reason: string; readonly message: string }
export type Normalized = { readonly desired: number; readonly able: Finding; readonly limited: Finding; readonly memory: Memory }

/** The size that follows from a recommendation, with the conditions AbleToScale and ScalingLimited. */
export function normalize(recommended: number, memory: Memory, limits: Limits): Normalized {
  const { behavior } = limits
  const stabilized = behavior ? stabilizedBy(behavior, recommended, memory, limits) : stabilizedPlainly(recommended, memory, limits)
  const able: Finding =
    stabilized.replicas === recommended
      ? { status: 'True', reason: 'ReadyForNewScale', message: 'recommended size matches current size' }
      : { status: 'True', ...(stabilized.isUp ? UP_STABILIZED : DOWN_STABILIZED) }
  const rated = behavior ? ratedBy(behavior, stabilized.replicas, memory, limits) : ratedPlainly(stabilized.replicas, limits)
  const { desired, reason, message } = rated
  const limited: Finding = { status: desired === stabilized.replicas ? 'False' : 'True', reason, message }
  return { desired, able, limited, memory: { ...memory, recommendations: stabilized.recommendations } }
}

/** Remembers that a size was changed, where rules will ask for it. */
export function afterScaling(memory: Memory, behavior: Behavior | undefined, { from, to, nowMs }: Scaling): Memory {
  if (!behavior) return memory
  const side = to > from ? 'ups' : 'downs'
  const rules = to > from ? behavior.scaleUp : behavior.scaleDown
  const longestMs = Math.max(0, ...(rules?.policies ?? []).map(({ periodSeconds }) => periodSeconds * 1000))
  const kept = memory[side].filter(({ atMs }) => atMs >= nowMs - longestMs)
  return { ...memory, [side]: [...kept, { change: Math.abs(to - from), atMs: nowMs }] }
}
export type Scaling = { readonly from: number; readonly to: number; readonly nowMs: number }

const UP_STABILIZED = {
  reason: 'ScaleUpStabilized',
  message: 'recent recommendations were lower than current one, applying the lowest recent recommendation',
}
const DOWN_STABILIZED = {
  reason: 'ScaleDownStabilized',
  message: 'recent recommendations were higher than current one, applying the highest recent recommendation',
}
const WITHIN = { reason: 'DesiredWithinRange', message: 'the desired count is within the acceptable range' }
const TOO_MANY = { reason: 'TooManyReplicas', message: 'the desired replica count is more than the maximum replica count' }
const TOO_FEW = { reason: 'TooFewReplicas', message: 'the desired replica count is less than the minimum replica count' }
const UP_LIMIT = { reason: 'ScaleUpLimit', message: 'the desired replica count is increasing faster than the maximum scale rate' }
const DOWN_LIMIT = { reason: 'ScaleDownLimit', message: 'the desired replica count is decreasing faster than the maximum scale rate' }

type Stabilized = { readonly replicas: number; readonly isUp: boolean; readonly recommendations: readonly Recommendation[] }

/** The highest of the recommendations of a while. */
function stabilizedPlainly(recommended: number, { recommendations }: Memory, { downscaleStabilizationMs, nowMs }: Limits): Stabilized {
  const recent = recommendations.filter(({ atMs }) => atMs >= nowMs - downscaleStabilizationMs)
  const replicas = Math.max(recommended, ...recent.map(each => each.replicas))
  return { replicas, isUp: false, recommendations: [...recent, { replicas: recommended, atMs: nowMs }] }
}

/** The size as it is, brought between the lowest and the highest of the recommendations of the windows for growing and shrinking. */
function stabilizedBy({ scaleUp, scaleDown }: Behavior, recommended: number, { recommendations }: Memory, limits: Limits): Stabilized {
  const { current, downscaleStabilizationMs, nowMs } = limits
  const upMs = (scaleUp?.stabilizationWindowSeconds ?? 0) * 1000
  const downMs =
    scaleDown?.stabilizationWindowSeconds === undefined ? downscaleStabilizationMs : scaleDown.stabilizationWindowSeconds * 1000
  const within = (ms: number) => recommendations.filter(({ atMs }) => atMs > nowMs - ms).map(each => each.replicas)
  const lowest = Math.min(recommended, ...within(upMs))
  const highest = Math.max(recommended, ...within(downMs))
  const replicas = Math.min(Math.max(current, lowest), highest)
  const kept = recommendations.filter(({ atMs }) => atMs >= nowMs - Math.max(upMs, downMs))
  return { replicas, isUp: recommended >= current, recommendations: [...kept, { replicas: recommended, atMs: nowMs }] }
}

type Rated = { readonly desired: number; readonly reason: string; readonly message: string }

const GROWTH_FACTOR = 2
const GROWTH_MINIMUM = 4

function ratedPlainly(desired: number, { current, min, max }: Limits): Rated {
  const growth = Math.max(GROWTH_FACTOR * current, GROWTH_MINIMUM)
  if (desired < min) return { desired: min, ...TOO_FEW }
  const most = Math.min(max, growth)
  return desired > most ? { desired: most, ...(max > growth ? UP_LIMIT : TOO_MANY) } : { desired, ...WITHIN }
}

function ratedBy({ scaleUp = {}, scaleDown = {} }: Behavior, desired: number, memory: Memory, { current, min, max, nowMs }: Limits): Rated {
  if (desired > current) {
    const limit = Math.max(current, limitOf(scaleUp, 'up', { current, memory, nowMs }))
    const most = Math.min(max, limit)
    return desired > most ? { desired: most, ...(max > limit ? UP_LIMIT : TOO_MANY) } : { desired, ...WITHIN }
  }
  if (desired < current) {
    const limit = Math.min(current, limitOf(scaleDown, 'down', { current, memory, nowMs }))
    const least = Math.max(min, limit)
    return desired < least ? { desired: least, ...(min < limit ? DOWN_LIMIT : TOO_FEW) } : { desired, ...WITHIN }
  }
  return { desired, ...WITHIN }
}

type Past = { readonly current: number; readonly memory: Memory; readonly nowMs: number }

/** How far the policies let the size go in one direction, counted from the size at the beginning of each period. */
function limitOf({ selectPolicy = 'Max', policies = [] }: Rules, direction: 'up' | 'down', { current, memory, nowMs }: Past): number {
  if (selectPolicy === 'Disabled') return current
  const isUp = direction === 'up'
  const proposals = policies.map(({ type, value, periodSeconds }) => {
    const within = (events: readonly ScaleEvent[]) =>
      events.reduce((sum, { change, atMs }) => (atMs > nowMs - periodSeconds * 1000 ? sum + change : sum), 0)
    const start = current - within(memory.ups) + within(memory.downs)
    if (type === 'Pods') return isUp ? start + value : start - value
    return isUp ? Math.ceil(start * (1 + value / 100)) : Math.trunc(start * (1 - value / 100))
  })
  // The most change is the highest size when growing, and the lowest when shrinking.
  return (selectPolicy === 'Min') === isUp ? Math.min(...proposals) : Math.max(...proposals)
}
