/**
 * A command as a worker runs it. The worker asks the main thread for an object when the command reads it:
 * a pod may mount far more than its commands ever read.
 */

import { parseObject } from '../../codec/stored-bytes.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { type Container, containersOf } from '../../kinds/rules/pod/containers/container.ts'
import { Budget, BudgetExceeded, exceededText } from '../container/budget.ts'
import { paidInputs } from '../container/container-inputs.ts'
import { mountProblem } from '../container/files.ts'
import { inputsOf, withAddresses } from '../container/inputs-of-container.ts'
import { type Entries, entriesOfMap, entriesOfSecret, type Sources, type TrustBundleProjection } from '../container/sources.ts'
import { exceededRun, type Understood } from '../container/understood.ts'
import { understand } from './command.ts'

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
  | { readonly type: 'run'; readonly of: OfContainer; readonly left: ReadonlyMap<string, string> | undefined }
  /** Checks mounts whose paths contain variables. */
  | { readonly type: 'mounts'; readonly of: OfContainer }

export type JobResult = {
  /** Undefined when the command is not understood. */
  readonly understood?: Understood | undefined
  readonly mountProblem?: string | undefined
  /** Whether the command read labels or annotations of the pod. */
  readonly usesMetadata?: true
}

export type Question =
  | { readonly about: 'pod' }
  | { readonly about: 'configmaps' | 'secrets'; readonly name: string }
  | { readonly about: 'services'; readonly withOwn: boolean }
  | { readonly about: 'bundles'; readonly projection: TrustBundleProjection }

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
  const budget = new Budget()
  const inputs = paidInputs(inputsOf(container, pod, askedSources(ask, budget, allocatable)), budget, lookupCost(pod))
  const found: JobResult =
    job.type === 'run' ? { understood: understand(container, { inputs, left: job.left, budget }) } : problemOf(container, inputs.variables)
  return isUsed ? { ...found, usesMetadata: true } : found
}

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

/** Reads and charges each object once. */
function askedSources(ask: Ask, budget: Budget, allocatable: Sources['allocatable']): Sources {
  const known = new Map<string, Entries | undefined>()
  const read = (question: Question): any => {
    const bytes = ask(question)
    budget.spend('inputs', bytes?.byteLength ?? 0)
    return bytes && parseObject(bytes)
  }
  return {
    entries(plural, name = '') {
      const key = `${plural}/${name}`
      if (!known.has(key)) {
        const object = read({ about: plural, name })
        known.set(key, object && (plural === 'secrets' ? entriesOfSecret : entriesOfMap)(object))
      }
      return known.get(key)
    },
    services: withOwn => read({ about: 'services', withOwn }),
    bundles: projection => read({ about: 'bundles', projection }),
    allocatable,
  }
}
