/**
 * The pods with containers that run as processes of this machine, or whose probes are really made. A caller decides the next status of a
 * pod with `of`, writes it, and then has `follow` do what the status says: processes of runs that are stored as running are started, all
 * others end.
 */
import { mkdirSync, mkdtempSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '../../client/client.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { type Container, containersOf } from '../../kinds/rules/pod/containers/container.ts'
import type { LifecycleHandler } from '../../kinds/rules/pod/containers/probes.ts'
import { startTimer, stopTimer } from '../../lib/environment.ts'
import { LIMITS } from '../../lib/limits.ts'
import type { ReportedDestination } from '../../transport/destination.ts'
import { standInOf } from '../connect/stand-in.ts'
import { environmentOf } from '../container/environment.ts'
import { expand } from '../container/expansion.ts'
import { withAddresses } from '../container/inputs-of-container.ts'
import type { Sources } from '../container/sources.ts'
import { type LiveContainers, NONE_LIVE, type ProcessStop } from '../pod/live-containers.ts'
import type { PodEvent } from '../pod/pod-draft.ts'
import { check, connects } from '../probe/check.ts'
import { PROBE_NAMES, Prober, probeOf } from '../probe/prober.ts'
import type { PodToRun } from '../script/command-runs.ts'
import { createRoot, movedPaths, type PodFolder, terminationMessage, withRoot, writeVolumes } from './container-folder.ts'
import { ProcessGuard } from './guard.ts'
import { type LocalImage, type LocalImages, wordsOfCommand, wordsOfRun } from './local-image.ts'
import { type Groups, LocalProcess, type Program } from './local-process.ts'
import { PodTokens } from './pod-tokens.ts'
import { kubeconfigOf, type OwnAddress, processEnvironment, ROOT_VARIABLE } from './process-environment.ts'
import { type CommandOutcome, runCommand } from './run-command.ts'
import { storedSources } from './stored-sources.ts'

export type LivePodsParts = {
  readonly client: Client
  readonly images: LocalImages
  readonly groupDomain: string
  readonly reported: ReportedDestination
  /** The address of this server, for processes. */
  readonly server: () => OwnAddress
  /** The version in the name of probes. */
  readonly version: string
  readonly inherited: Readonly<Record<string, string | undefined>>
  readonly onError: (error: unknown) => void
}

export type Follow = {
  readonly to: PodToRun
  readonly stops: readonly ProcessStop[]
  /** Has the pod looked at again. */
  readonly onChange: () => void
  readonly record: (event: PodEvent) => void
}

/** One run of a container on this machine. */
type Run = { readonly container: Container; readonly process: LocalProcess }

type OfPod = {
  readonly namespace: string
  /** The pod as it was last followed. */
  to: PodToRun
  readonly runs: Map<string, Run>
  readonly probers: Map<string, Prober>
  readonly tokens: PodTokens
  /** Writes of its volumes, one after the other. */
  writing: Promise<void>
  renewal: NodeJS.Timeout | undefined
  isGone: boolean
}

export class LivePods implements AsyncDisposable {
  readonly #parts: LivePodsParts
  readonly #pods = new Map<string, OfPod>()
  /** Processes of pods that are gone, until they have ended. */
  readonly #leaving = new Set<Promise<unknown>>()
  #folder: string | undefined
  #guard: ProcessGuard | undefined
  #isClosed = false

  constructor(parts: LivePodsParts) {
    this.#parts = parts
  }

  /** The local command of a container. */
  localImage({ image }: Container): LocalImage | undefined {
    return this.#parts.images.of(image)
  }

  /** Looks up the state of the containers of a pod. */
  of(pod: Pod): LiveContainers {
    if (!this.#isLive(pod)) return NONE_LIVE
    const own = this.#pods.get(pod.metadata.uid ?? '')
    return {
      isLocal: container => this.localImage(container) !== undefined,
      process: run => {
        const found = own?.runs.get(run)
        return found && (found.process.end ?? 'running')
      },
      output: (run, length) => own?.runs.get(run)?.process.log.tail(length) ?? '',
      isProbed: (container, probe) => this.localImage(container) !== undefined || (connects(probe) && standsFor(pod)),
      probe: (run, name) => own?.probers.get(run)?.of(name),
    }
  }

  /** Starts and ends processes and probes as the stored status of a pod says. */
  follow({ to, stops, onChange, record }: Follow): void {
    const { pod } = to
    const { uid = '', namespace = '', name = '' } = pod.metadata
    const known = this.#pods.get(uid)
    if ((!known && !this.#isLive(pod)) || this.#isClosed) return
    // A pod that was deleted meanwhile is forgotten already.
    if (this.#parts.client.of(Pod).revision({ namespace, name })?.uid !== uid) return
    const own = known ?? this.#open(to)
    own.to = to
    const running = runningIn(pod)
    for (const [id, { process }] of own.runs) if (!running.has(id) && !process.end) process.kill()
    for (const [id, container] of running) this.#run(own, id, { container, onChange, record })
    for (const [id, prober] of own.probers) {
      const container = running.get(id)
      if (container && this.#isProbed(pod, container) && !own.runs.get(id)?.process.end) continue
      prober.end()
      own.probers.delete(id)
    }
    for (const { run, killAt } of stops) own.runs.get(run)?.process.stop(killAt)
    dropFormerRuns(own, pod)
    if (running.size > 0) void this.#refresh(own)
  }

  /** The run of a container with a process. */
  run(id: string): Run | undefined {
    for (const { runs } of this.#pods.values()) {
      const found = runs.get(id)
      if (found) return found
    }
    return undefined
  }

  /** A command of a client in a container; undefined before the process was started. */
  commandIn({ container, process }: Run, words: readonly string[]): Program | undefined {
    const { program } = process
    const local = this.localImage(container)
    if (!program || !local) return undefined
    const root = program.variables.get(ROOT_VARIABLE) ?? ''
    const moved = wordsOfCommand(words, container, local).map(word => withRoot(word, movedPaths(container), root))
    return { ...program, words: moved }
  }

  /** Processes that end with the server. */
  get groups(): Groups {
    return this.#guarded()
  }

  /** The pods that mount an object. */
  *mounting(plural: 'configmaps' | 'secrets', namespace: string, name: string): Iterable<Pod> {
    for (const own of this.#pods.values())
      if (own.namespace === namespace && own.runs.size > 0 && mountsObject(own.to.pod, plural, name)) yield own.to.pod
  }

  /** Kills the processes of a pod that is gone, and removes its files. */
  forget(uid: string): void {
    const own = this.#pods.get(uid)
    if (!own) return
    this.#pods.delete(uid)
    own.isGone = true
    clearTimeout(own.renewal)
    for (const prober of own.probers.values()) prober.end()
    for (const { process } of own.runs.values()) process.kill()
    const gone = Promise.all([...own.runs.values()].map(({ process }) => process.ended))
      .then(() => own.writing)
      .then(() => (own.runs.size > 0 ? rm(this.#podFolder(uid).path, { recursive: true, force: true }) : undefined))
      .catch(this.#parts.onError)
    this.#leaving.add(gone)
    void gone.then(() => this.#leaving.delete(gone))
  }

  /** Ends all processes: politely first. */
  async endAll(): Promise<void> {
    const now = this.#parts.client.now.getTime()
    const runs = [...this.#pods.values()].flatMap(own => [...own.runs.values()])
    for (const { process } of runs) process.stop(now + LIMITS.localProcess.endMs)
    const kill = startTimer(() => {
      for (const { process } of runs) process.kill()
    }, LIMITS.localProcess.endMs)
    await Promise.all(runs.map(({ process }) => process.ended))
    stopTimer(kill)
    for (const uid of [...this.#pods.keys()]) this.forget(uid)
    await Promise.all(this.#leaving)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await this.endAll()
    await this.#guard?.close()
  }

  #isLive(pod: Pod): boolean {
    return standsFor(pod) || (!this.#parts.images.isEmpty && containersOf(pod.spec).some(each => this.localImage(each)))
  }

  /** Whether a probe of a container is really made. */
  #isProbed(pod: Pod, container: Container): boolean {
    const { isProbed } = this.of(pod)
    return PROBE_NAMES.some(name => {
      const probe = probeOf(container, name)
      return probe !== undefined && isProbed(container, probe)
    })
  }

  #open(to: PodToRun): OfPod {
    const { uid = '', namespace = '' } = to.pod.metadata
    const { client, groupDomain } = this.#parts
    const own: OfPod = {
      namespace,
      to,
      runs: new Map(),
      probers: new Map(),
      tokens: new PodTokens(client, groupDomain),
      writing: Promise.resolve(),
      renewal: undefined,
      isGone: false,
    }
    this.#pods.set(uid, own)
    return own
  }

  #run(own: OfPod, id: string, { container, onChange, record }: { container: Container } & Pick<Follow, 'onChange' | 'record'>): void {
    const local = this.localImage(container)
    if (local && !own.runs.has(id)) own.runs.set(id, this.#start(own, local, { container, onChange, record }))
    const run = own.runs.get(id)
    // Probes begin with the program.
    if (own.probers.has(id) || (local && !run?.process.program) || run?.process.end) return
    const { pod } = own.to
    if (!this.#isProbed(pod, container)) return
    const isMade = this.of(pod).isProbed
    const { reported, version } = this.#parts
    own.probers.set(
      id,
      new Prober({
        container,
        isMade: probe => isMade(container, probe),
        check: probe =>
          check(probe, container, {
            podIP: own.to.podIPs[0] ?? '',
            reported,
            run: run && ((words, timeoutMs) => this.#command(run, words, timeoutMs)),
            version,
            timeoutMs: Number(probe.timeoutSeconds ?? 1) * 1000,
          }),
        elapsedMs: 0,
        onChange,
      }),
    )
  }

  #start(
    own: OfPod,
    local: LocalImage,
    { container, onChange, record }: { container: Container } & Pick<Follow, 'onChange' | 'record'>,
  ): Run {
    const { client } = this.#parts
    const { postStart, preStop, stopSignal } = container.lifecycle ?? {}
    const previous = [...own.runs.values()].filter(run => run.container.name === container.name).map(({ process }) => process.ended)
    const folder = this.#podFolder(own.to.pod.metadata.uid ?? '')
    const run: Run = {
      container,
      process: new LocalProcess({
        prepare: async () => {
          await Promise.all(previous)
          return this.#prepare(own, local, container)
        },
        lastWords: () => terminationMessage(folder, container, MAX_MESSAGE_LENGTH),
        postStart: postStart && (() => this.#hook(own, run, postStart, HOOK_MS)),
        preStop: preStop && (leftMs => this.#hook(own, run, preStop, leftMs)),
        stopSignal: (stopSignal as NodeJS.Signals | undefined) ?? 'SIGTERM',
        hasInput: container.stdin === true,
        groups: this.#guarded(),
        now: () => client.now.getTime(),
        onChange,
        onHookFailure: (hook, message) =>
          record({ type: 'Warning', reason: `Failed${hook}Hook`, message: `${hook}Hook failed: ${message}` }),
      }),
    }
    return run
  }

  async #prepare(own: OfPod, local: LocalImage, container: Container): Promise<Program> {
    const { server, inherited } = this.#parts
    const { pod, folder, sources } = this.#around(own)
    await mkdir(folder.path, { recursive: true, mode: 0o700 })
    await this.#refresh(own, { isNeeded: true })
    const root = await createRoot(folder, container, environmentOf(pod, container, sources))
    const parts = { pod, container, sources, root, server: server(), inherited }
    const variables = processEnvironment(parts)
    const kubeconfig = kubeconfigOf(parts)
    await writeFile(kubeconfig.path, kubeconfig.text, { mode: 0o600 })
    const paths = movedPaths(container)
    const words = wordsOfRun(container, local).map(word =>
      withRoot(
        expand(word, name => variables.get(name)),
        paths,
        root,
      ),
    )
    const { workingDir = '' } = container
    const moved = withRoot(workingDir, paths, root)
    return { words, variables, directory: moved === workingDir ? process.cwd() : moved }
  }

  #around(own: OfPod): { readonly pod: Pod; readonly folder: PodFolder; readonly sources: Sources } {
    const { pod: stored, hostIPs, podIPs, allocatable } = own.to
    const pod = withAddresses(stored, hostIPs, podIPs)
    const sources = storedSources({ client: this.#parts.client, pod, allocatable })
    const folder = this.#podFolder(pod.metadata.uid ?? '')
    return { pod, folder, sources: { ...sources, token: projection => own.tokens.of(projection) } }
  }

  /** Writes the volumes of a pod again, with new tokens when they are due. */
  #refresh(own: OfPod, { isNeeded = false } = {}): Promise<void> {
    if (own.runs.size === 0) return Promise.resolve()
    const write = async () => {
      if (own.isGone) return
      const now = this.#parts.client.now.getTime()
      const dueAt = await own.tokens.bring(own.to.pod, now)
      const { pod, folder, sources } = this.#around(own)
      await writeVolumes(folder, pod, sources)
      clearTimeout(own.renewal)
      if (!Number.isFinite(dueAt) || own.isGone) return
      own.renewal = setTimeout(() => void this.#refresh(own), Math.min(Math.max(dueAt - now, 1000), MAX_TIMER_MS))
      own.renewal.unref()
    }
    const written = own.writing.then(write)
    own.writing = written.catch(isNeeded ? () => {} : this.#parts.onError)
    return isNeeded ? written : own.writing
  }

  async #command(run: Run, words: readonly string[], timeoutMs: number): Promise<CommandOutcome> {
    const program = this.commandIn(run, words)
    if (!program) throw new Error('the container is not running')
    return runCommand(program, this.#guarded(), timeoutMs)
  }

  async #hook(own: OfPod, run: Run, { exec, httpGet, sleep, tcpSocket }: LifecycleHandler, timeoutMs: number): Promise<void> {
    if (sleep) {
      await new Promise(resolve => setTimeout(resolve, Math.min(Number(sleep.seconds) * 1000, timeoutMs)))
      return
    }
    const { reported, version } = this.#parts
    const problem = await check({ exec, httpGet, tcpSocket } as Parameters<typeof check>[0], run.container, {
      podIP: own.to.podIPs[0] ?? '',
      reported,
      run: (words, limit) => this.#command(run, words, limit),
      version,
      timeoutMs,
    })
    if (problem !== undefined) throw new Error(problem)
  }

  #podFolder(uid: string): PodFolder {
    const folder = this.#ownFolder()
    return { path: join(folder, 'pods', uid), claims: join(folder, 'claims') }
  }

  #ownFolder(): string {
    if (this.#folder === undefined) {
      this.#folder = mkdtempSync(join(tmpdir(), 'keelson-'))
      mkdirSync(join(this.#folder, 'pods'), { mode: 0o700 })
    }
    return this.#folder
  }

  #guarded(): ProcessGuard {
    return (this.#guard ??= new ProcessGuard(this.#ownFolder()))
  }
}

/** The longest termination message that a kubelet reads. */
const MAX_MESSAGE_LENGTH = 4096
const MAX_TIMER_MS = 0x7fffffff
/** How long a postStart hook may take. */
const HOOK_MS = 60_000

/** Whether a pod stands for a process elsewhere. */
const standsFor = ({ metadata }: Pod): boolean => standInOf(metadata, 1) !== undefined

/** Containers that a status says are running, by the id of their run. */
function runningIn({ spec, status }: Pod): Map<string, Container> {
  const containers = new Map(containersOf(spec).map(container => [container.name, container]))
  const statuses = [
    ...(status.initContainerStatuses ?? []),
    ...(status.containerStatuses ?? []),
    ...(status.ephemeralContainerStatuses ?? []),
  ]
  return new Map(
    statuses.flatMap(({ name, state, containerID }) => {
      const container = containers.get(name)
      return container && containerID && state.running ? [[containerID, container] as const] : []
    }),
  )
}

/** Output is kept of the runs that a status still names: the present and the previous one. */
function dropFormerRuns(own: OfPod, { status }: Pod): void {
  const statuses = [
    ...(status.initContainerStatuses ?? []),
    ...(status.containerStatuses ?? []),
    ...(status.ephemeralContainerStatuses ?? []),
  ]
  const named = new Set(
    statuses.flatMap(each => [each.containerID, each.state.terminated?.containerID, each.lastState.terminated?.containerID]),
  )
  for (const [id, { process }] of own.runs) if (!named.has(id) && process.end) own.runs.delete(id)
}

function mountsObject({ spec }: Pod, plural: 'configmaps' | 'secrets', name: string): boolean {
  return (spec.volumes ?? []).some(({ configMap, secret, projected }) => {
    const sources = projected?.sources ?? []
    return plural === 'configmaps'
      ? configMap?.name === name || sources.some(each => each.configMap?.name === name)
      : secret?.secretName === name || sources.some(each => each.secret?.name === name)
  })
}
