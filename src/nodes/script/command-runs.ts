/**
 * Runs the commands of simulated containers, their probes and hooks. Small ones run at once, on the main thread; all others run in a
 * worker thread that the servers of a process share, and in which the namespaces of each server take turns. Results are kept, so that
 * a caller looks a result up, requests it when it is pending, and looks it up again when it is called:
 *
 *     of(pod).run(container, 0)  'pending' ─→ request(…) ─→ the worker runs it ─→ onResults() ─→ run(container, 0)  { exitCode: 3, … }
 */

import { createHash } from 'node:crypto'
import { inflateRawSync } from 'node:zlib'
import type { Client } from '../../client/client.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import { Cancellable } from '../../lib/cancellation.ts'
import { nextIteration } from '../../lib/environment.ts'
import { LIMITS } from '../../lib/limits.ts'
import { programFromSource, WorkerPool } from '../../lib/worker-pool.ts'
import { tooManyRequests } from '../../schema/status-error.ts'
import { exceededText } from '../container/budget.ts'
import { ChangedFiles } from '../container/changed-files.ts'
import { mountProblem } from '../container/files.ts'
import { HostFiles } from '../container/host-files.ts'
import { exceededRun, type Understood } from '../container/understood.ts'
import { PodTokens } from '../process/pod-tokens.ts'
import { followRuns, MAX_RUNS } from './command.ts'
import { answerTo, stampOf } from './command-answers.ts'
import { commandHere, firstRunHere } from './command-here.ts'
import type { CommandJob, ExecJob, Executed, JobResult, OfContainer, Question } from './command-job.ts'
import type { CommandRequest, Commands } from './commands.ts'
import { type Kept, KeptResults } from './kept-results.ts'

/** A pod whose commands are run, with what its node gives it. */
export type PodToRun = {
  readonly pod: Pod
  readonly hostIPs: readonly string[]
  /** The addresses that the pod has, or is about to get. */
  readonly podIPs: readonly string[]
  readonly allocatable: OfContainer['allocatable']
}

/** A result to keep, and the work that produces it. */
type Task = {
  readonly pod: Pod
  readonly key: string
  /** The key of a result that is the same for all runs. */
  readonly sameKey?: string
  /** Whether nobody asks for the result again. */
  readonly isOnce?: true
  readonly work: (send: (job: CommandJob) => Promise<JobResult>) => Promise<JobResult>
}

type Sent = { readonly job: CommandJob; readonly answer: (question: Question) => Uint8Array | undefined }
/** A pod with results under way: their number, a way to cancel them, and the function to call when all of them are known. */
type OfPod = { count: number; readonly ending: Cancellable; onResults: () => void }

type Parts = { readonly client: Client; readonly groupDomain: string; readonly onError: (error: unknown) => void }

let instances = 0

export class CommandRuns implements AsyncDisposable {
  readonly #client: Client
  readonly #groupDomain: string
  readonly #onError: (error: unknown) => void
  readonly #id = ++instances
  readonly #kept = new KeptResults()
  /** Files that clients' commands have changed. */
  readonly files = new ChangedFiles()
  readonly #hostFiles = new HostFiles()
  /** The tokens that commands have read, by the uid of their pod. */
  readonly #tokens = new Map<string, PodTokens>()
  readonly #pending = new Map<string, Promise<JobResult>>()
  /** Number of results under way, by namespace. */
  readonly #counts = new Map<string, number>()
  /** Pods that wait for a place in the queue of their namespace, by namespace. */
  readonly #refused = new Map<string, Map<string, () => void>>()
  /** Pods with results under way, by uid. */
  readonly #pods = new Map<string, OfPod>()
  #isClosed = false
  #executions = 0
  #hasPool = false
  #onProgress: (() => void)[] = []

  constructor({ client, groupDomain, onError }: Parts) {
    this.#client = client
    this.#groupDomain = groupDomain
    this.#onError = onError
  }

  /** Looks up results of the commands of a pod. */
  of(to: PodToRun): Commands {
    const { pod } = to
    const known = <R>(task: Task, of: (result: JobResult) => R): R | 'pending' => {
      const found = this.#find(task)
      return found ? of(found) : 'pending'
    }
    const understood = (result: JobResult) => result.understood
    return {
      run: (container, run) => {
        const here = runOfContainerHere(pod, container, run)
        return here ? here.understood : known(runOf(to, container, run), understood)
      },
      knownRun: (container, run) => (runOfContainerHere(pod, container, run) ?? this.#find(runOf(to, container, run)))?.understood,
      command: words => {
        const here = commandHere(words)
        return here ? here.understood : known(commandOf(pod, words), understood)
      },
      mountProblem: container =>
        container.volumeMounts?.some(({ subPathExpr }) => subPathExpr)
          ? known(mountsOf(to, container), result => result.mountProblem)
          : mountProblem(container, () => new Map()),
    }
  }

  /** Starts work on results that are pending. `onResults` is called when all results of the pod that are under way are known. */
  request(to: PodToRun, requests: readonly CommandRequest[], onResults: () => void): void {
    const { namespace = '', uid = '' } = to.pod.metadata
    for (const request of requests) {
      if (this.#start(taskOf(to, request))) this.#pods.get(uid)!.onResults = onResults
      else if (!this.#isClosed) this.#refused.set(namespace, (this.#refused.get(namespace) ?? new Map()).set(uid, onResults))
    }
  }

  /** Resolves with the result of a run of a container. Throws a StatusError when too many commands of the namespace are waiting. */
  async resultOf(to: PodToRun, container: Container, run: number): Promise<Understood | undefined> {
    const here = runOfContainerHere(to.pod, container, run)
    if (here) return here.understood
    const task = runOf(to, container, run)
    const found = this.#find(task)
    if (found) return found.understood
    const { namespace = '' } = to.pod.metadata
    const pending = this.#start(task)
    if (!pending) throw tooManyRequests(`too many commands of namespace "${namespace}" are waiting to be run`, 1)
    return (await pending).understood
  }

  /** Runs a command that a client sends, in a container. Throws a StatusError when too many commands of the namespace are waiting. */
  async execute(to: PodToRun, container: Container, run: Omit<ExecJob, 'of'>): Promise<Executed | 'input'> {
    const { namespace = '', uid = '' } = to.pod.metadata
    const key = `${uid} exec ${++this.#executions}`
    const pending = this.#start({
      pod: to.pod,
      key,
      isOnce: true,
      work: send => send({ ...run, type: 'exec', of: containerOf(to, container) }),
    })
    if (!pending) throw tooManyRequests(`too many commands of namespace "${namespace}" are waiting to be run`, 1)
    const { executed, understood } = await pending
    if (executed) return executed
    // The worker was stopped.
    const text = `${understood?.exceeded ?? 'the pod is gone'}\n`
    return { exitCode: 137, runMs: 0, outputs: [{ isError: true, text }], changed: [], variables: new Map(), hasExited: false }
  }

  /** Resolves when another result is known; undefined when nothing is under way. */
  progress(): Promise<void> | undefined {
    if (this.#pending.size === 0 && this.#refused.size === 0) return undefined
    return new Promise(resolve => this.#onProgress.push(resolve))
  }

  /** Cancels the work for a pod that is gone. */
  forget(uid: string): void {
    this.#pods.get(uid)?.ending.abort(new Error('the pod is gone'))
    this.#kept.deleteOf(uid)
    this.files.forget(uid)
    this.#hostFiles.forget(uid)
    this.#tokens.delete(uid)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    this.#refused.clear()
    for (const uid of [...this.#pods.keys()]) this.forget(uid)
    this.#progressed()
    if (this.#hasPool) await releasePool()
    this.#hasPool = false
  }

  #find({ pod, key, sameKey }: Task): JobResult | undefined {
    const { namespace = '' } = pod.metadata
    const isCurrent = ({ questions, metadata }: Kept) =>
      questions.every(({ question, stamp }) => stampOf(this.#client, namespace, question) === stamp) &&
      (metadata === undefined || metadata === digestOf(pod))
    return (sameKey === undefined ? undefined : this.#kept.get(sameKey, isCurrent)) ?? this.#kept.get(key, isCurrent)
  }

  /** Undefined when too many commands of the namespace are waiting. */
  #start(task: Task): Promise<JobResult> | undefined {
    const { namespace = '', name = '', uid = '' } = task.pod.metadata
    const underWay = this.#pending.get(task.key)
    if (underWay) return underWay
    const count = this.#counts.get(namespace) ?? 0
    if (this.#isClosed || count >= LIMITS.commands.worker.waitingPerUser) return undefined
    this.#counts.set(namespace, count + 1)
    const own = this.#pods.get(uid) ?? { count: 0, ending: new Cancellable(), onResults: () => {} }
    own.count++
    this.#pods.set(uid, own)
    const questions = new Map<string, Kept['questions'][number]>()
    let lacksToken = false
    const answer = (question: Question) => {
      if (question.about === 'token') {
        const tokens = this.#tokens.get(uid)
        const token = tokens?.of(question.projection)
        lacksToken ||= !tokens || tokens.isDue(question.projection, this.#now())
        return token === undefined ? undefined : Buffer.from(JSON.stringify(token))
      }
      if (question.about !== 'pod') questions.set(JSON.stringify(question), { question, stamp: stampOf(this.#client, namespace, question) })
      return answerTo(this.#client, { namespace, name, uid }, question)
    }
    const send = async (job: CommandJob): Promise<JobResult> => {
      this.#hasPool ||= holdPool()
      const host = job.type === 'run' || job.type === 'exec' ? this.#hostFiles.seenBy(task.pod) : undefined
      const sent = { job: host ? ({ ...job, host } as CommandJob) : job, answer }
      const run = () => pool!.run(sent, { user: `${this.#id} ${namespace}`, signal: own.ending })
      const result = await run()
      // Tokens are requested when a command reads one, which then runs again.
      return lacksToken && (await this.#bringTokens(task.pod)) ? run() : result
    }
    const result = this.#work(task, { own, questions, send })
    this.#pending.set(task.key, result)
    void result.then(() => this.#ended(task))
    return result
  }

  /** Requests the tokens of a pod. False when it gets none: a kubelet requests them for a pod that runs, and so does a simulated node. */
  async #bringTokens(pod: Pod): Promise<boolean> {
    const { uid = '' } = pod.metadata
    if (isOver(pod) || this.#isClosed) return false
    const tokens = this.#tokens.get(uid) ?? new PodTokens(this.#client, this.#groupDomain)
    try {
      await tokens.bring(pod, this.#now())
    } catch (error) {
      this.#onError(error)
      return false
    }
    if (this.#pods.has(uid)) this.#tokens.set(uid, tokens)
    return true
  }

  #now(): number {
    return this.#client.now.getTime()
  }

  /** Never rejects: a command that breaks its worker counts as unknown. */
  async #work(task: Task, { own, questions, send }: Working): Promise<JobResult> {
    let found: JobResult = {}
    try {
      found = await task.work(send)
    } catch (error) {
      if (own.ending.aborted || this.#isClosed) return found
      this.#onError(error)
    }
    const { sameKey, key, pod } = task
    const { understood, usesMetadata, host } = found
    if (host && !isOver(pod)) this.#hostFiles.change(pod.spec.nodeName ?? '', host)
    // Contents of files are needed only while further runs are followed.
    const left = understood?.left && new Map([...understood.left.keys()].map(path => [path, ''] as const))
    const result = left ? { ...found, understood: { ...understood, left } } : found
    const keptAs = left || sameKey === undefined ? key : sameKey
    if (!own.ending.aborted && !task.isOnce)
      this.#kept.set(keptAs, {
        owner: pod.metadata.uid ?? '',
        result,
        questions: [...questions.values()],
        metadata: usesMetadata ? digestOf(pod) : undefined,
      })
    return result
  }

  #ended({ key, pod: { metadata } }: Task): void {
    const { namespace = '', uid = '' } = metadata
    this.#pending.delete(key)
    const own = this.#pods.get(uid)!
    if (--own.count === 0) this.#pods.delete(uid)
    const count = this.#counts.get(namespace)! - 1
    if (count > 0) this.#counts.set(namespace, count)
    else this.#counts.delete(namespace)
    if (own.count === 0) own.onResults()
    this.#admit(namespace)
    this.#progressed()
  }

  /** Calls refused pods once half of the queue is free, one for each free place. */
  #admit(namespace: string): void {
    const refused = this.#refused.get(namespace)
    if (!refused) return
    const count = this.#counts.get(namespace) ?? 0
    let room = LIMITS.commands.worker.waitingPerUser - count
    if (room < LIMITS.commands.worker.waitingPerUser / 2) return
    for (const [uid, onResults] of refused) {
      if (room-- === 0) break
      refused.delete(uid)
      onResults()
    }
    if (refused.size === 0) this.#refused.delete(namespace)
    // The pods that were called may need nothing any more.
    else if (count === 0) nextIteration(() => this.#admit(namespace))
  }

  #progressed(): void {
    const resolves = this.#onProgress
    this.#onProgress = []
    for (const resolve of resolves) resolve()
  }
}

/** Whether no command of a pod runs any more. A log may still need the result of one. */
const isOver = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp !== undefined || status.phase === 'Succeeded' || status.phase === 'Failed'

type Working = {
  readonly own: OfPod
  readonly questions: ReadonlyMap<string, Kept['questions'][number]>
  readonly send: (job: CommandJob) => Promise<JobResult>
}

/** A further run depends on the files of the first, so a worker follows it. */
function runOfContainerHere(pod: Pod, container: Container, run: number): { readonly understood: Understood | undefined } | undefined {
  const here = firstRunHere(pod, container)
  return run === 0 || !here?.understood?.left ? here : undefined
}

function taskOf(to: PodToRun, request: CommandRequest): Task {
  switch (request.type) {
    case 'run':
      return runOf(to, request.container, request.run)
    case 'command':
      return commandOf(to.pod, request.words)
    case 'mounts':
      return mountsOf(to, request.container)
  }
}

function runOf(to: PodToRun, container: Container, run: number): Task {
  const sameKey = keyOf(to, container)
  return {
    pod: to.pod,
    key: `${sameKey} ${Math.min(run, MAX_RUNS)}`,
    sameKey,
    async work(send) {
      let last: JobResult = {}
      const understood = await followRuns(run, async left => {
        last = await send({ type: 'run', of: containerOf(to, container), left })
        return last.understood
      })
      return { ...last, understood }
    },
  }
}

const mountsOf = (to: PodToRun, container: Container): Task => ({
  pod: to.pod,
  key: `${keyOf(to, container)} mounts`,
  work: send => send({ type: 'mounts', of: containerOf(to, container) }),
})

const commandOf = (pod: Pod, command: readonly string[]): Task => ({
  pod,
  key: `${pod.metadata.uid} ${createHash('sha256').update(JSON.stringify(command)).digest('base64')}`,
  work: send => send({ type: 'command', command }),
})

/** A result depends on the spec and the addresses of the pod. */
const keyOf = ({ pod: { metadata }, podIPs }: PodToRun, { name }: Container): string =>
  `${metadata.uid} ${name} ${metadata.generation} ${podIPs.join()}`

const containerOf = ({ pod, hostIPs, podIPs, allocatable }: PodToRun, { name }: Container): OfContainer => ({
  uid: pod.metadata.uid ?? '',
  revision: Number(pod.metadata.resourceVersion ?? 0),
  container: name,
  hostIPs,
  podIPs,
  allocatable,
})

const digestOf = ({ metadata: { labels, annotations } }: Pod): string =>
  createHash('sha256')
    .update(JSON.stringify([labels, annotations]))
    .digest('base64')

/** The source of the worker, compressed, inserted by the build. */
declare const KEELSON_COMMAND_WORKER: string | undefined

/** The servers of a process share one worker. */
let pool: WorkerPool<Sent, JobResult> | undefined
let holders = 0

function holdPool(): true {
  holders++
  pool ??= new WorkerPool<Sent, JobResult>({
    name: 'commands',
    program: () =>
      typeof KEELSON_COMMAND_WORKER === 'string'
        ? inflateRawSync(Buffer.from(KEELSON_COMMAND_WORKER, 'base64')).toString()
        : programFromSource(new URL('./command-worker.ts', import.meta.url)),
    send: ({ job }) => ({ message: job, transfer: [] }),
    answer({ answer }, question: Question) {
      const found = answer(question)
      if (!found) return { message: undefined, transfer: [] }
      const bytes = Uint8Array.from(found)
      return { message: bytes, transfer: [bytes.buffer] }
    },
    tooExpensive: { understood: exceededRun(exceededText('time and memory')) },
    tooMany: () => new Error('too many commands are waiting'),
    limits: LIMITS.commands.worker,
  })
  return true
}

async function releasePool(): Promise<void> {
  if (--holders > 0) return
  const last = pool
  pool = undefined
  await last?.[Symbol.asyncDispose]()
}
