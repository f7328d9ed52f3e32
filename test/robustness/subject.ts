/** The subject of a run: one server on its own store, one of several processes, or several on an etcd cluster; and its disturbances. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type ProcessOptions, type Scope, type ServerProcess, startProcess, type Target } from '../kit.ts'
import { type EtcdCluster, type EtcdMember, startEtcd } from '../kits/etcd.ts'
import { type ManyProcesses, startProcesses } from '../kits/processes.ts'
import type { Protocol } from './connection.ts'
import type { Random } from './random.ts'
import type { Open } from './run.ts'

export interface Subject {
  readonly targets: readonly Target[]
  /** Whether there are several servers, each with a cache that may be behind. */
  readonly isShared: boolean
  /** Whether its store may fail for a while. */
  readonly mayFail?: boolean
  /** Opens connections, where they are none of this machine. */
  readonly open?: Open
  /** The protocols of those that watch everything, one for each; both, unless they make no difference. */
  readonly protocols?: readonly Protocol[]
  start(): Promise<void>
  /** Disturbs the servers, or their dependencies, and undoes it. */
  disturb(random: Random): Promise<void>
  /** Whether all servers run. */
  isUp(): boolean
  /** The disturbances so far. */
  describe(): string
}

const isRunning = ({ child }: ServerProcess) => child.exitCode === null && child.signalCode === null

async function stop(server: ServerProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const { code } = await server.stop(signal)
  if (signal === 'SIGTERM' && code !== 0) throw new Error(`a server ended with ${code} when asked to stop: ${server.stderr()}`)
}

/** One server that is stopped and killed, and started again where it was. */
export class SingleServer implements Subject {
  readonly isShared = false
  readonly #scope: Scope
  readonly #options: ProcessOptions
  #server!: ServerProcess
  #stops = 0
  #kills = 0

  constructor(scope: Scope, options: ProcessOptions) {
    this.#scope = scope
    this.#options = options
  }

  get targets(): readonly Target[] {
    return [this.#server]
  }

  async start(): Promise<void> {
    const again = this.#server && { dataDir: this.#server.dataDir, port: this.#server.port }
    this.#server = await startProcess(this.#scope, { ...this.#options, ...again })
  }

  async disturb(): Promise<void> {
    const signal = this.#kills < this.#stops ? 'SIGKILL' : 'SIGTERM'
    await stop(this.#server, signal)
    if (signal === 'SIGTERM') this.#stops++
    else this.#kills++
    await this.start()
  }

  isUp(): boolean {
    return isRunning(this.#server)
  }

  describe(): string {
    return `${this.#stops} stops and ${this.#kills} kills`
  }
}

const PROCESSES = 3

/** One server of several processes: each of them is killed or stopped, and now and then all of them with their supervisor. */
export class SeveralProcesses implements Subject {
  readonly isShared = true
  readonly #scope: Scope
  readonly #options: ProcessOptions
  readonly #done = new Map<string, number>()
  #server!: ManyProcesses

  constructor(scope: Scope, options: ProcessOptions) {
    this.#scope = scope
    this.#options = options
  }

  /** One for each process: new connections go to those that have few. */
  get targets(): readonly Target[] {
    const { url, port, credentials } = this.#server
    return Array.from({ length: PROCESSES }, () => ({ url, port, credentials }))
  }

  async start(): Promise<void> {
    const again = this.#server && { dataDir: this.#server.dataDir, port: this.#server.port }
    this.#server = await startProcesses(this.#scope, PROCESSES, { ...this.#options, ...again })
  }

  async disturb(random: Random): Promise<void> {
    const [what, disturb] = random.pick<readonly [string, () => Promise<unknown>]>([
      ['kills of processes', () => this.#end(random, 'SIGKILL')],
      ['kills of processes', () => this.#end(random, 'SIGKILL')],
      ['kills of processes', () => this.#end(random, 'SIGKILL')],
      ['stops of processes', () => this.#end(random, 'SIGTERM')],
      ['kills of two processes', () => this.#killTwo(random)],
      ['stops of all', () => this.#restart()],
    ])
    await disturb()
    this.#done.set(what, (this.#done.get(what) ?? 0) + 1)
  }

  isUp(): boolean {
    return isRunning(this.#server)
  }

  describe(): string {
    return [...this.#done].map(([what, times]) => `${times} ${what}`).join(', ') || 'nothing done'
  }

  async #end(random: Random, signal: NodeJS.Signals): Promise<void> {
    const pid = random.pick(this.#server.pids())
    process.kill(pid, signal)
    await this.#server.complete(pid)
  }

  async #killTwo(random: Random): Promise<void> {
    const spared = random.pick(this.#server.pids())
    const [first, second] = this.#server.pids().filter(pid => pid !== spared)
    for (const pid of [first!, second!]) process.kill(pid, 'SIGKILL')
    await this.#server.complete(first)
  }

  async #restart(): Promise<void> {
    await stop(this.#server, 'SIGTERM')
    await this.start()
  }
}

const SERVERS = 3
const MEMBERS = 3
const MIN_PAUSE_MS = 300
const MAX_PAUSE_MS = 4_000

/** Several servers on an etcd cluster: each of them, and each member, is stopped, killed and paused, one at a time. */
export class Replicas implements Subject {
  readonly isShared = true
  readonly #scope: Scope
  readonly #options: ProcessOptions
  readonly #program: string
  readonly #servers: ServerProcess[] = []
  readonly #done = new Map<string, number>()
  #etcd!: EtcdCluster

  constructor(scope: Scope, { program, ...options }: ProcessOptions & { readonly program: string }) {
    this.#scope = scope
    this.#options = options
    this.#program = program
  }

  get targets(): readonly Target[] {
    // All servers accept the credentials of each.
    const { credentials } = this.#servers[0]!
    return this.#servers.map(({ url, port }) => ({ url, port, credentials }))
  }

  async start(): Promise<void> {
    const etcd = await startEtcd({ program: this.#program, members: MEMBERS })
    this.#etcd = etcd
    this.#scope.after(() => etcd[Symbol.asyncDispose]())
    const starting = Array.from({ length: SERVERS }, (_, i) => this.#startServer(i))
    this.#servers.push(...(await Promise.all(starting)))
  }

  async disturb(random: Random): Promise<void> {
    const [what, disturb] = random.pick<readonly [string, () => Promise<void>]>([
      ['stops of servers', () => this.#restartServer(random, 'SIGTERM')],
      ['kills of servers', () => this.#restartServer(random, 'SIGKILL')],
      ['pauses of servers', () => this.#pauseServer(random)],
      ['kills of members', () => this.#killMember(random, random.pick(this.#etcd.members))],
      ['pauses of members', () => this.#pauseMember(random, random.pick(this.#etcd.members))],
      ['kills of the leader', async () => this.#killMember(random, await this.#leader())],
      ['pauses of the leader', async () => this.#pauseMember(random, await this.#leader())],
    ])
    await disturb()
    this.#done.set(what, (this.#done.get(what) ?? 0) + 1)
  }

  isUp(): boolean {
    return this.#servers.every(isRunning)
  }

  describe(): string {
    return [...this.#done].map(([what, times]) => `${times} ${what}`).join(', ') || 'nothing done'
  }

  #startServer(i: number, again?: { readonly dataDir: string; readonly port: number }): Promise<ServerProcess> {
    const { endpoints } = this.#etcd
    const servers = [...endpoints.slice(i), ...endpoints.slice(0, i)].join(',')
    const { flags = [] } = this.#options
    return startProcess(this.#scope, {
      ...this.#options,
      ...again,
      flags: [...flags, '--store', 'etcd', '--etcd-servers', servers],
    })
  }

  async #restartServer(random: Random, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const i = random.below(SERVERS)
    const { dataDir, port } = this.#servers[i]!
    await stop(this.#servers[i]!, signal)
    this.#servers[i] = await this.#startServer(i, { dataDir, port })
  }

  async #pauseServer(random: Random): Promise<void> {
    const { child } = random.pick(this.#servers)
    child.kill('SIGSTOP')
    await sleep(pauseMs(random))
    child.kill('SIGCONT')
  }

  async #killMember(random: Random, member: EtcdMember): Promise<void> {
    await member.kill()
    await sleep(pauseMs(random) / 2)
    await member.restart()
  }

  async #pauseMember(random: Random, member: EtcdMember): Promise<void> {
    member.pause()
    await sleep(pauseMs(random))
    member.resume()
  }

  /** Any member when there is currently no leader. */
  async #leader(): Promise<EtcdMember> {
    for (const member of this.#etcd.members) {
      const metrics = await fetch(`${member.endpoint}/metrics`)
        .then(answer => answer.text())
        .catch(() => '')
      if (/^etcd_server_is_leader 1$/m.test(metrics)) return member
    }
    return this.#etcd.members[0]!
  }
}

const pauseMs = (random: Random) => MIN_PAUSE_MS + random.below(MAX_PAUSE_MS - MIN_PAUSE_MS)
