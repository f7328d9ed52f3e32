/**
 * A command as a worker runs it. The worker asks the main thread for an object when the command reads it:
 * a pod may mount far more than its commands ever read.
 */

import { parseObject } from '../../codec/stored-bytes.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { type Container, containersOf } from '../../kinds/rules/pod/containers/container.ts'
import { Budget, BudgetExceeded, exceededText } from '../container/budget.ts'
import type { ChangedFile } from '../container/changed-files.ts'
import { type ContainerInputs, paidInputs } from '../container/container-inputs.ts'
import { hostPathOf, type Mounting, mountProblem, pathsOfHost, pathsOfPlace, sharedPlaceOf } from '../container/files.ts'
import type { HostChanges } from '../container/host-files.ts'
import { inputsOf, withAddresses } from '../container/inputs-of-container.ts'
import type { ExecResult } from '../container/shell.ts'
import { entriesOfMap, entriesOfSecret, type Sources, type TokenProjection, type TrustBundleProjection } from '../container/sources.ts'
import { exceededRun, type Understood } from '../container/understood.ts'
import { type ExecRun, execute, type RunOptions, understand } from './command.ts'

/** A container of a stored pod, with values that are not stored yet. */
export type OfContainer = {
  readonly uid: string
  /** The revision of the pod: objects read for the same revision are reused. */
  readonly revision: number
  readonly container: string
  readonly hostIPs: readonly string[]
  readonly podIPs: readonly string[]
  readonly allocatable: Readonly<Record<string, string>> | undefined
}

export type CommandJob =
  /** The command of a probe or a hook, without inputs. */
  | { readonly type: 'command'; readonly command: readonly string[] }
  /** A run of a container, with the files that the previous run has left. */
  | (OnNode & { readonly type: 'run'; readonly of: OfContainer; readonly left: ReadonlyMap<string, string> | undefined })
  /** A command that a client runs in a container. */
  | (ExecJob & OnNode & { readonly type: 'exec' })
  /** Checks mounts whose paths contain variables. */
  | { readonly type: 'mounts'; readonly of: OfContainer }

/** The files of the node that the pod sees, by their path on the node. */
type OnNode = { readonly host?: ReadonlyMap<string, string> | undefined }

export type ExecJob = Pick<ExecRun, 'command' | 'stdin' | 'variables'> & {
  readonly of: OfContainer
  /** The id of the run of the container. */
  readonly run: string
  /** Files that earlier commands have changed. */
  readonly changed: readonly ChangedFile[]
  /** How long the containers of the pod have run, by name. */
  readonly elapsedMs: ReadonlyMap<string, number>
}

/** The result of a client's command, with the files that it has changed. */
export type Executed = Omit<ExecResult, 'files'> & { readonly changed: readonly ChangedFile[] }

export type JobResult = {
  /** The result of a client's command; `input` when it waits for input. */
  readonly executed?: Executed | 'input'
  /** Undefined when the command is not understood. */
  readonly understood?: Understood | undefined
  readonly mountProblem?: string | undefined
  /** The files of the node that a run has changed. */
  readonly host?: HostChanges
  /** Whether the command read labels or annotations of the pod. */
  readonly usesMetadata?: true
}

export type Question =
  | { readonly about: 'pod' }
  | { readonly about: 'configmaps' | 'secrets'; readonly name: string }
  | { readonly about: 'services'; readonly withOwn: boolean }
  | { readonly about: 'bundles'; readonly projection: TrustBundleProjection }
  | { readonly about: 'token'; readonly projection: TokenProjection }

/** Stored JSON, or a list of it; undefined when it does not exist. */
type Ask = (question: Question) => Uint8Array | undefined

/** The last pod that was read: the containers of one pod come one after the other. */
type LastPod = { uid: string; revision: number; pod: Pod }

/** Runs jobs, one after the other. */
export function jobRunner(ask: Ask): (job: CommandJob) => JobResult {
  let last: LastPod | undefined
  const podOf = ({ uid, revision }: OfContainer): Pod | undefined => {
    if (last?.uid === uid && last.revision === revision) return last.pod
    const bytes = ask({ about: 'pod' })
    const pod = bytes && (parseObject(bytes) as unknown as Pod)
    last = pod && { uid, revision, pod }
    return pod
  }
  return job => {
    try {
      if (job.type === 'command') return { understood: understand({ command: [...job.command] }) }
      const pod = podOf(job.of)
      return pod ? runInPod(job, pod, ask) : {}
    } catch (error) {
      // Nothing within the limits is nested that deeply; the thread survives it anyway.
      if (error instanceof RangeError) return { understood: exceededRun(exceededText('nested too deeply')) }
      throw error
    }
  }
}

function runInPod(job: Exclude<CommandJob, { type: 'command' }>, stored: Pod, ask: Ask): JobResult {
  const { container: name, hostIPs, podIPs, allocatable } = job.of
  let isUsed = false
  const pod = withAddresses(
    noticing(stored, () => {
      isUsed = true
    }),
    hostIPs,
    podIPs,
  )
  const container = containersOf(pod.spec).find(each => each.name === name)
  if (!container) return {}
  if (job.type === 'exec') return { executed: executeIn(job, { pod, container, ask, allocatable }) }
  const budget = new Budget()
  const inputs = paidInputs(inputsOf(container, pod, askedSources(ask, budget, allocatable)), budget, lookupCost(pod))
  const found =
    job.type === 'run'
      ? runOf(job, { pod, container, variables: variablesOf(inputs) }, { inputs, budget })
      : problemOf(container, inputs.variables)
  return isUsed ? { ...found, usesMetadata: true } : found
}

type RunJob = Extract<CommandJob, { type: 'run' }>

/** Runs the command of a container among the files of its node and those that its previous run has left. */
function runOf({ left, host }: RunJob, mounting: Mounting, options: Pick<RunOptions, 'inputs' | 'budget'>): JobResult {
  const before = left ?? leftOnNode(host, mounting)
  const understood = understand(mounting.container, { ...options, left: before })
  if (!host || !understood) return { understood }
  const changes = new Map<string, string | null>()
  for (const path of before?.keys() ?? []) if (!understood.left?.has(path)) changes.set(hostPathOf(path, mounting) ?? '', null)
  for (const [path, text] of understood.left ?? []) changes.set(hostPathOf(path, mounting) ?? '', text)
  changes.delete('')
  return { understood, ...(changes.size > 0 && { host: changes }) }
}

/** The files of the node, by their path in a container. */
function leftOnNode(host: OnNode['host'], mounting: Mounting): ReadonlyMap<string, string> | undefined {
  if (!host || host.size === 0) return undefined
  return new Map([...host].flatMap(([path, text]) => pathsOfHost(path, mounting).map(seen => [seen, text] as const)))
}

type Around = { readonly pod: Pod; readonly container: Container; readonly ask: Ask; readonly allocatable: Sources['allocatable'] }

/** Runs a client's command among the files that the containers of the pod have written until now. */
function executeIn(
  { command, stdin, variables, run, changed, elapsedMs, host }: ExecJob & OnNode,
  { pod, container, ask, allocatable }: Around,
): Executed | 'input' {
  const inputsFor = (each: Container, budget: Budget) =>
    paidInputs(inputsOf(each, pod, askedSources(ask, budget, allocatable)), budget, lookupCost(pod))
  const budget = new Budget()
  const inputs = inputsFor(container, budget)
  const own: Mounting = { pod, container, variables: variablesOf(inputs) }
  const before = new Map<string, string | null>()
  for (const each of containersOf(pod.spec).slice(0, MAX_CONTAINERS)) {
    const elapsed = elapsedMs.get(each.name)
    if (elapsed === undefined || (each.name !== container.name && !sharesFiles(each, container))) continue
    const written: NonNullable<RunOptions['written']> = new Map()
    const ofEach = new Budget()
    const inputsOfEach = inputsFor(each, ofEach)
    const mounting = { pod, container: each, variables: variablesOf(inputsOfEach) }
    understand(each, { inputs: inputsOfEach, budget: ofEach, written, left: leftOnNode(host, mounting) })
    for (const [path, { text, atMs }] of written) {
      if (atMs > elapsed) continue
      const place = sharedPlaceOf(path, mounting)
      for (const seen of place ? pathsOfPlace(place, own) : each.name === container.name ? [path] : []) before.set(seen, text)
    }
  }
  for (const { at, path, text } of changed)
    for (const seen of 'volume' in at ? pathsOfPlace({ volume: at.volume, path }, own) : [path]) before.set(seen, text)
  const executed = execute({ command, stdin, variables, files: before, inputs, budget })
  if (executed === 'input') return executed
  const { files, ...result } = executed
  const changes: ChangedFile[] = []
  for (const [path, text] of files) {
    if (before.get(path) === text) continue
    const place = sharedPlaceOf(path, own)
    changes.push(place ? { at: { volume: place.volume }, path: place.path, text } : { at: { run }, path, text })
  }
  return { ...result, changed: changes }
}
/** None where they exceed the budget: the command itself fails then. */
const variablesOf =
  ({ variables }: ContainerInputs): Mounting['variables'] =>
  () => {
    try {
      return variables()
    } catch (error) {
      if (error instanceof BudgetExceeded) return new Map()
      throw error
    }
  }

/** Files of further containers are not looked for. */
const MAX_CONTAINERS = 16

const sharesFiles = (a: Container, b: Container): boolean =>
  (a.volumeMounts ?? []).some(({ name }) => b.volumeMounts?.some(mount => mount.name === name))

function problemOf(container: Container, variables: () => ReadonlyMap<string, string>): JobResult {
  try {
    return { mountProblem: mountProblem(container, variables) }
  } catch (error) {
    if (error instanceof BudgetExceeded) return { mountProblem: error.message }
    throw error
  }
}

/** The cost of searching for a path, in equivalent bytes. */
function lookupCost({ spec }: Pod): number {
  const mounts = containersOf(spec).reduce((sum, { volumeMounts }) => sum + 1 + (volumeMounts?.length ?? 0), 0)
  return LOOK_COST * (mounts + (spec.volumes?.length ?? 0))
}
const LOOK_COST = 8

/** The same pod, with a note when its labels or annotations are read. */
function noticing(pod: Pod, notice: () => void): Pod {
  const { labels, annotations } = pod.metadata
  const metadata = {
    ...pod.metadata,
    get labels() {
      notice()
      return labels
    },
    get annotations() {
      notice()
      return annotations
    },
  }
  return { ...pod, metadata } as Pod
}

/** Reads and charges each object once, and puts its entries together once, however many variables refer to them. */
function askedSources(ask: Ask, budget: Budget, allocatable: Sources['allocatable']): Sources {
  const read = (question: Question): any => {
    const bytes = ask(question)
    budget.spend('inputs', bytes?.byteLength ?? 0)
    return bytes && parseObject(bytes)
  }
  return {
    entries: remembered((plural, name) => {
      const object = read({ about: plural, name })
      return object && (plural === 'secrets' ? entriesOfSecret : entriesOfMap)(object)
    }),
    services: withOwn => read({ about: 'services', withOwn }),
    bundles: projection => read({ about: 'bundles', projection }),
    token: projection => read({ about: 'token', projection }),
    allocatable,
  }
}

/** A function of an object's name that is called once for each. */
function remembered<T>(of: (plural: 'configmaps' | 'secrets', name: string) => T) {
  const known = new Map<string, T>()
  return (plural: 'configmaps' | 'secrets', name = ''): T => {
    const key = `${plural}/${name}`
    if (!known.has(key)) known.set(key, of(plural, name))
    return known.get(key)!
  }
}
