/** What may change or reject a write after it is decoded and before it is stored. */
import { deepEqual } from '../lib/json-value.ts'
import { type MaybePromise, whenDone } from '../lib/maybe-promise.ts'
import type { Explanation } from '../schema/explanation.ts'
import type { Resource } from '../schema/resource.ts'
import type { Attributes } from './attributes.ts'
import type { AdmissionObserver, StepType, Timer } from './observer.ts'
import { Reinvocation } from './reinvocation.ts'

export interface Plugin {
  readonly name: string
  /** The plurals of the resources that it has to do with; without them, of all. It is not run for others. */
  readonly plurals?: readonly string[]
  /** Whether anything is in force that it acts on. It is not run, nor timed, where there is nothing. */
  readonly isIdle?: () => boolean
  /** Whether it explains what it does itself, in more detail than that it mutated or rejected. */
  readonly explains?: true
  /**
   * May change `attributes.object`, or reject by throwing a StatusError. Runs before the object is prepared and validated, and a second
   * time when a policy or webhook that came after it changed the object.
   */
  readonly mutate?: (attributes: Attributes, reinvocation: Reinvocation) => MaybePromise<void>
  /** May reject by throwing a StatusError. Runs on exactly what would be stored. */
  readonly validate?: (attributes: Attributes) => MaybePromise<void>
}

/** Everything that has a say in a write. Returns a promise only when something has to be waited for. */
export interface Admission {
  mutate(attributes: Attributes): MaybePromise<void>
  validate(attributes: Attributes): MaybePromise<void>
}

/** The plugins one after the other, each seeing what the ones before it changed. */
export function pluginChain(plugins: readonly Plugin[], observer: AdmissionObserver): Admission {
  const mutating = stepOf(plugins, 'admit', { observer, runOf: plugin => plugin.mutate })
  const validating = stepOf(plugins, 'validate', { observer, runOf: plugin => plugin.validate })
  return {
    mutate(attributes) {
      const reinvocation = new Reinvocation()
      return whenDone(mutating(attributes, reinvocation), () =>
        reinvocation.startSecond() ? mutating(attributes, reinvocation) : undefined,
      )
    },
    validate: attributes => validating(attributes, undefined),
  }
}

type Run<A> = (attributes: Attributes, argument: A) => MaybePromise<void>
type TimedPlugin<A> = {
  readonly plugin: Plugin
  readonly run: Run<A>
  readonly timer: Timer
  /** Counts a request over which it took no time. */
  readonly countIdle: CountIdle
}
type CountIdle = ReturnType<AdmissionObserver['uninvolved']>

/** All plugins that take part in a step, as one. */
function stepOf<A>(
  plugins: readonly Plugin[],
  type: StepType,
  { observer, runOf }: { readonly observer: AdmissionObserver; readonly runOf: (plugin: Plugin) => Run<A> | undefined },
): Run<A> {
  const taking = plugins.filter(runOf).map(plugin => ({
    plugin,
    run: runOf(plugin)!,
    timer: observer.plugin(plugin.name, type),
    countIdle: observer.uninvolved([plugin.name], type),
  }))
  const divided = new WeakMap<Resource, Division<A>>()
  const divisionFor = (resource: Resource) => {
    let known = divided.get(resource)
    if (!known) divided.set(resource, (known = divide(taking, resource, names => observer.uninvolved(names, type))))
    return known
  }
  const whole = observer.step(type)
  return (attributes, argument) => {
    const { operation, resource } = attributes
    const { concerned, countOthers } = divisionFor(resource)
    const begun = performance.now()
    const step: Step<A> = { plugins: concerned, attributes, argument, operation, now: begun }
    let waiting: MaybePromise<void>
    try {
      waiting = runFrom(0, step)
    } catch (error) {
      whole(operation, (step.now - begun) / 1000, true)
      throw error
    }
    if (waiting)
      return waiting.then(
        () => {
          whole(operation, (step.now - begun) / 1000, false)
          countOthers(operation)
        },
        (error: unknown) => {
          whole(operation, (step.now - begun) / 1000, true)
          throw error
        },
      )
    whole(operation, (step.now - begun) / 1000, false)
    countOthers(operation)
  }
}

type Division<A> = { readonly concerned: readonly TimedPlugin<A>[]; readonly countOthers: CountIdle }

/** The plugins that have to do with a resource, and the others, which are only counted: all of them at once, as they are many. */
function divide<A>(
  taking: readonly TimedPlugin<A>[],
  { plural }: Resource,
  counterOf: (names: readonly string[]) => CountIdle,
): Division<A> {
  const isConcerned = ({ plugin: { plurals } }: TimedPlugin<A>) => plurals?.includes(plural) ?? true
  const others = taking.filter(each => !isConcerned(each))
  return { concerned: taking.filter(isConcerned), countOthers: counterOf(others.map(({ plugin }) => plugin.name)) }
}

/** One request in a step. */
type Step<A> = {
  readonly plugins: readonly TimedPlugin<A>[]
  readonly attributes: Attributes
  readonly argument: A
  readonly operation: Attributes['operation']
  /** When the clock was read last. */
  now: number
}

/**
 * Runs the plugins from an index on. Most have nothing to do with most writes, and reading the clock would take longer than they do: it is
 * read around those that explain themselves, which can take long, and those between them share the time.
 */
function runFrom<A>(from: number, step: Step<A>): MaybePromise<void> {
  const { plugins, operation } = step
  /** The first that has not been told its time. */
  let first = from
  for (let i = from; i < plugins.length; i++) {
    const { plugin, countIdle } = plugins[i]!
    const { isIdle, explains } = plugin
    if (isIdle?.()) {
      countIdle(operation)
      if (first === i) first = i + 1
      continue
    }
    if (explains) {
      share(first, i, step)
      first = i
    }
    let waiting: MaybePromise<void>
    try {
      waiting = runOne(plugins[i]!, step)
    } catch (error) {
      share(first, i + 1, step, true)
      throw error
    }
    if (waiting) {
      share(first, i, step)
      return waitFor(waiting, i, step)
    }
    if (explains) {
      share(i, i + 1, step)
      first = i + 1
    }
  }
  share(first, plugins.length, step)
}

/** Reads the clock and tells plugins how long they took: equal parts of the time since it was read. Only the last can have rejected. */
function share<A>(from: number, to: number, step: Step<A>, rejected = false): void {
  if (from === to) return
  const { plugins, operation } = step
  const now = performance.now()
  const seconds = (now - step.now) / (to - from) / 1000
  step.now = now
  for (let i = from; i < to; i++) {
    const { plugin, timer } = plugins[i]!
    // Those that explain themselves have a time of their own; among others they were idle, and are counted already.
    if (plugin.explains && to - from > 1) continue
    timer(operation, seconds, rejected && i === to - 1)
  }
}

/** Waits for a plugin and goes on with those after it. */
async function waitFor<A>(waiting: Promise<void>, index: number, step: Step<A>): Promise<void> {
  let rejected = true
  try {
    await waiting
    rejected = false
  } finally {
    share(index, index + 1, step, rejected)
  }
  await runFrom(index + 1, step)
}

function runOne<A>({ plugin, run }: TimedPlugin<A>, { attributes, argument }: Step<A>): MaybePromise<void> {
  const { explanation } = attributes.ctx
  return explanation && !plugin.explains ? explained(plugin, run, { attributes, argument, explanation }) : run(attributes, argument)
}

/** Runs a plugin and tells whether it changed or rejected the object. */
async function explained<A>(
  { name: plugin }: Plugin,
  run: Run<A>,
  { attributes, argument, explanation }: { readonly attributes: Attributes; readonly argument: A; readonly explanation: Explanation },
): Promise<void> {
  const before = structuredClone(attributes.object)
  try {
    await run(attributes, argument)
  } catch (error) {
    explanation.add({ plugin, outcome: 'rejected', because: (error as Error).message })
    throw error
  }
  if (!deepEqual(before, attributes.object)) explanation.add({ plugin, outcome: 'mutated' })
}
