/** Plugins that may change or reject a write after it is decoded and before it is stored, run one after the other. */
import { monotonicMs } from '../lib/environment.ts'
import { copyJson, deepEqual } from '../lib/json-value.ts'
import type { Step } from '../lib/step.ts'
import type { Explanation } from '../schema/explanation.ts'
import type { Resource } from '../schema/resource.ts'
import type { Attributes } from './attributes.ts'
import type { AdmissionObserver, StepType, Timer } from './observer.ts'
import { Reinvocation } from './reinvocation.ts'

export interface Plugin {
  readonly name: string
  /** The plurals of the resources that it is about; by default all. It is not run for others. */
  readonly plurals?: readonly string[]
  /** Whether it has nothing to act on, such as a policy. It is then not run, nor timed. */
  readonly isIdle?: () => boolean
  /** Whether it explains its decisions itself, in more detail than that it mutated or rejected. */
  readonly explains?: true
  /**
   * May change `attributes.object`, or reject by throwing a StatusError. Runs before the object is prepared and validated, and a second
   * time when a policy or webhook that came after it changed the object.
   */
  readonly mutate?: (attributes: Attributes, reinvocation: Reinvocation) => Step<void> | void
  /** May reject by throwing a StatusError. Runs on exactly the object that would be stored. */
  readonly validate?: (attributes: Attributes) => Step<void> | void
}

/** All plugins of a server. */
export interface Admission {
  mutate(attributes: Attributes): Step<void>
  validate(attributes: Attributes): Step<void>
}

/** The plugins one after the other, each seeing the object as the ones before it have left it. */
export function pluginChain(plugins: readonly Plugin[], observer: AdmissionObserver): Admission {
  const mutating = new Phase(plugins, 'admit', { observer, methodOf: plugin => plugin.mutate })
  const validating = new Phase(plugins, 'validate', { observer, methodOf: plugin => plugin.validate })
  return {
    *mutate(attributes) {
      const reinvocation = new Reinvocation()
      yield* mutating.run(attributes, reinvocation)
      if (reinvocation.startSecond()) yield* mutating.run(attributes, reinvocation)
    },
    validate: attributes => validating.run(attributes, undefined),
  }
}

type Method<A> = (attributes: Attributes, argument: A) => Step<void> | void
type TimedPlugin<A> = {
  readonly plugin: Plugin
  readonly method: Method<A>
  readonly type: StepType
  readonly timer: Timer
  /** Counts a request over which it took no time. */
  readonly countIdle: CountIdle
}
type CountIdle = ReturnType<AdmissionObserver['uninvolved']>
type Division<A> = { readonly concerned: readonly TimedPlugin<A>[]; readonly countOthers: CountIdle }

/** All plugins that mutate, or all that validate. */
class Phase<A> {
  readonly #plugins: readonly TimedPlugin<A>[]
  readonly #countsOf: (names: readonly string[]) => CountIdle
  readonly #whole: Timer
  readonly #divided = new WeakMap<Resource, Division<A>>()

  constructor(
    plugins: readonly Plugin[],
    type: StepType,
    { observer, methodOf }: { readonly observer: AdmissionObserver; readonly methodOf: (plugin: Plugin) => Method<A> | undefined },
  ) {
    this.#plugins = plugins.filter(methodOf).map(plugin => ({
      plugin,
      method: methodOf(plugin)!,
      type,
      timer: observer.plugin(plugin.name, type),
      countIdle: observer.uninvolved([plugin.name], type),
    }))
    this.#countsOf = names => observer.uninvolved(names, type)
    this.#whole = observer.step(type)
  }

  *run(attributes: Attributes, argument: A): Step<void> {
    const { operation, resource } = attributes
    const { concerned, countOthers } = this.#divisionFor(resource)
    const timing = new Timing(concerned, operation)
    let i = 0
    try {
      for (; i < concerned.length; i++) {
        if (concerned[i]!.plugin.isIdle?.()) {
          timing.skip(i)
          continue
        }
        const { explains } = concerned[i]!.plugin
        if (explains) timing.tell(i)
        const work = start(concerned[i]!, attributes, argument)
        if (work) {
          timing.tell(i)
          yield* work
        }
        if (work || explains) timing.tell(i + 1)
      }
      timing.tell(i)
    } catch (error) {
      timing.tell(i + 1, true)
      this.#whole(operation, timing.seconds, true)
      throw error
    }
    this.#whole(operation, timing.seconds, false)
    countOthers(operation)
  }

  /** The plugins that are about a resource, and the others, which are only counted: all of them at once, as they are many. */
  #divisionFor(resource: Resource): Division<A> {
    let known = this.#divided.get(resource)
    if (!known) {
      const isConcerned = ({ plugin: { plurals } }: TimedPlugin<A>) => plurals?.includes(resource.plural) ?? true
      const others = this.#plugins.filter(each => !isConcerned(each)).map(({ plugin }) => plugin.name)
      known = { concerned: this.#plugins.filter(isConcerned), countOthers: this.#countsOf(others) }
      this.#divided.set(resource, known)
    }
    return known
  }
}

/**
 * The times of plugins over one request. Most have nothing to do with most writes, and reading the clock would take longer than they do:
 * it is read around those that wait, or that explain themselves and can take long, and the others share the time between.
 */
class Timing<A> {
  readonly #plugins: readonly TimedPlugin<A>[]
  readonly #operation: Attributes['operation']
  readonly #began = monotonicMs()
  #read = this.#began
  /** The first plugin that has not been told its time. */
  #first = 0

  constructor(plugins: readonly TimedPlugin<A>[], operation: Attributes['operation']) {
    this.#plugins = plugins
    this.#operation = operation
  }

  /** A plugin that is idle is counted, and takes no time. */
  skip(i: number): void {
    this.#plugins[i]!.countIdle(this.#operation)
    if (this.#first === i) this.#first = i + 1
  }

  /** Tells all plugins before an index their equal parts of the time since the clock was read. Only the last can have rejected. */
  tell(to: number, rejected = false): void {
    const from = this.#first
    if (from >= to) return
    this.#first = to
    const now = monotonicMs()
    const seconds = (now - this.#read) / (to - from) / 1000
    this.#read = now
    for (let i = from; i < to; i++) {
      const { plugin, timer } = this.#plugins[i]!
      // Those that explain themselves have a time of their own; among others they were idle, and are counted already.
      if (plugin.explains && to - from > 1) continue
      timer(this.#operation, seconds, rejected && i === to - 1)
    }
  }

  get seconds(): number {
    return (this.#read - this.#began) / 1000
  }
}

function start<A>(timed: TimedPlugin<A>, attributes: Attributes, argument: A): Step<void> | void {
  const { plugin, method } = timed
  const { explanation } = attributes.ctx
  return explanation && !plugin.explains
    ? explained(timed, () => method(attributes, argument), { attributes, explanation })
    : method(attributes, argument)
}

/** Runs a plugin and tells whether it changed or rejected the object; in detail, also that it did neither. */
function* explained<A>(
  { plugin: { name: plugin }, type }: TimedPlugin<A>,
  call: () => Step<void> | void,
  { attributes, explanation }: { readonly attributes: Attributes; readonly explanation: Explanation },
): Step<void> {
  const before = copyJson(attributes.object)
  const since = monotonicMs()
  try {
    const work = call()
    if (work) yield* work
  } catch (error) {
    explanation.add({ plugin, outcome: 'rejected', because: (error as Error).message }, { since })
    throw error
  }
  if (!deepEqual(before, attributes.object)) explanation.add({ plugin, outcome: 'mutated' }, { since, before, after: attributes.object })
  else if (explanation.isDetailed) explanation.add({ plugin, outcome: type === 'admit' ? 'unchanged' : 'admitted' }, { since })
}
