/** How long kubelets may cache Secrets and ConfigMaps: the more nodes a cluster has, the longer. */

/** Each step begins below the end of the one before, so that a cluster at a boundary does not go back and forth. */
const STEPS = [
  { min: 0, max: 100, seconds: 0 },
  { min: 90, max: 500, seconds: 15 },
  { min: 450, max: 1000, seconds: 30 },
  { min: 900, max: 2000, seconds: 60 },
  { min: 1800, max: Number.POSITIVE_INFINITY, seconds: 300 },
] as const

/** The step of a cluster that was on another one. */
export function stepOf(nodes: number, step: number): number {
  let next = step
  while (nodes > STEPS[next]!.max) next++
  while (nodes < STEPS[next]!.min) next--
  return next
}

export const secondsOf = (step: number): number => STEPS[step]!.seconds

/** Whether an annotation states this number. */
export const isStated = (annotation: string | undefined, seconds: number): boolean =>
  annotation !== undefined && /^[+-]?\d+$/.test(annotation) && Number(annotation) === seconds
