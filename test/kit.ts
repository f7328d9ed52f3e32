/** Real servers and real clients for end-to-end tests: started for one test, and gone after it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Agent, type RequestOptions, request } from 'node:https'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { startFor } from '../src/commands/start.ts'
import { readServeFlags, SERVE_DEFAULTS } from '../src/flags/read-flags.ts'
import { type RunningServer, type StartOptions, start } from '../src/index.ts'
import { withContext } from './kits/tls-context.ts'

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
export const KEELSON = join(ROOT, 'bin/keelson.js')

/** A test that hangs must end; working tests stay far below this, however busy the machine. */
export const PATIENCE_MS = 300_000
/** Options of every test that talks to a process. */
export const patient = { timeout: PATIENCE_MS }

/** So many repeats of something random, and as many times as many as KEELSON_PROPERTY_RUNS says if that is more than 1. */
export const repeats = (count: number): number => Math.ceil(count * Math.max(1, Number(process.env['KEELSON_PROPERTY_RUNS'] ?? 1)))

/** A test: runs functions at its end. */
export type Scope = { after(undo: () => unknown): void }

/** A directory that is removed with the test. */
export function temporaryDirectory(t: Scope): string {
  const directory = mkdtempSync(join(tmpdir(), 'keelson-test-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null }
export type Finished = Exit & { readonly stdout: string; readonly stderr: string }
export type RunOptions = { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv; readonly input?: string; readonly uid?: number }

/** Runs a program to its end. Programs in Go collect as little garbage as scripts/test.mjs says, whatever the environment is otherwise. */
export function run(program: string, args: readonly string[], { input = '', ...options }: RunOptions = {}): Promise<Finished> {
  const env = { GOGC: process.env['GOGC'], ...(options.env ?? process.env) }
  const child = spawn(program, args, { ...options, env, stdio: ['pipe', 'pipe', 'pipe'] })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) child[name].setEncoding('utf8').on('data', text => (output[name] += text))
  child.stdin.on('error', () => {}).end(input)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code, signal, ...output }))
  })
}

/** Runs the built command to its end. */
export const keelson = (...args: string[]) => run(process.execPath, [KEELSON, ...args])

export interface ServerProcess extends Target {
  readonly dataDir: string
  readonly kubeconfig: string
  /** The line it printed when it was ready. */
  readonly readyLine: string
  readonly child: ChildProcess
  readonly exited: Promise<Exit>
  /** Its standard error so far. */
  stderr(): string
  /** Sends a signal and waits for the exit. */
  stop(signal?: NodeJS.Signals): Promise<Exit>
}

export type ProcessOptions = {
  readonly dataDir?: string
  readonly port?: number
  readonly flags?: readonly string[]
  /** The command to run instead of the built one with this Node. */
  readonly command?: readonly [program: string, ...args: string[]]
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
}

/** Starts the built command with a data directory of its own on a free port, and waits until it is ready. */
export async function startProcess(t: Scope, options: ProcessOptions = {}): Promise<ServerProcess> {
  const dataDir = options.dataDir ?? join(temporaryDirectory(t), 'data')
  const starting = launch(t, { ...options, dataDir })
  const { child, exited } = starting
  const readyLine = await Promise.race([
    starting.firstLine,
    exited.then(({ code, signal }) => {
      throw new Error(`the server ended (${signal ?? `exit code ${code}`}) before it was ready: ${starting.stderr()}`)
    }),
  ])
  const file = readyLine.split('  kubeconfig ')[1] ?? ''
  const kubeconfig = readFileSync(file, 'utf8')
  const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal)
    return exited
  }
  return { ...targetOf(kubeconfig), dataDir, kubeconfig: file, readyLine, child, exited, stderr: starting.stderr, stop }
}

/**
 * All controllers except the one that creates a config map in every namespace: tests count their own. Nodes are simulated only on request.
 */
const CONTROLLERS = '*,-root-ca-certificate-publisher-controller'

function withDefaults({ dataDir = '', port = 0, flags = [] }: ProcessOptions): readonly string[] {
  const isGiven = (name: string) => flags.some(flag => flag.startsWith(name))
  // Pods on nodes wait for that config map.
  const controllers = isGiven('--controllers') || isGiven('--nodes') ? [] : [`--controllers=${CONTROLLERS}`]
  const nodes = isGiven('--nodes') ? [] : ['--nodes=0']
  return ['--data-dir', dataDir, '--secure-port', String(port), ...controllers, ...nodes, ...flags]
}

/** Starts the built command without waiting. It is killed with the test. */
export function launch(
  t: Scope,
  { dataDir = '', port = 0, flags = [], command = [process.execPath, KEELSON], cwd = ROOT, env = process.env }: ProcessOptions,
) {
  const [program, ...args] = command
  const child = spawn(program, [...args, 'serve', ...withDefaults({ dataDir, port, flags })], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', text => (errors += text))
  const exited = new Promise<Exit>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code, signal }))
  })
  exited.catch(() => {})
  const firstLine = new Promise<string>(resolve => createInterface(child.stdout).once('line', resolve))
  // A grandchild may keep the output open, so only the exit of the process itself is awaited.
  const gone = new Promise<void>(resolve => child.once('exit', () => resolve()).once('error', () => resolve()))
  t.after(() => {
    child.kill('SIGKILL')
    return gone
  })
  return { child, exited, firstLine, stderr: () => errors }
}

export interface ServedHere extends Target {
  readonly dataDir: string
  /** The file. */
  readonly kubeconfig: string
  stop(): Promise<void>
}

/**
 * Starts a server inside this process as `keelson serve` does with the same flags, for a fifth of the processor time of a process. Not for
 * tests of the command itself: its output, its signals and its end.
 */
export async function serveHere(t: Scope, options: Pick<ProcessOptions, 'dataDir' | 'port' | 'flags'> = {}): Promise<ServedHere> {
  const folders: (() => unknown)[] = []
  const dataDir = options.dataDir ?? join(temporaryDirectory({ after: remove => folders.push(remove) }), 'data')
  const { config, apply } = readServeFlags(withDefaults({ ...options, dataDir }), SERVE_DEFAULTS)
  const server = await startFor({ config, apply, flags: { processes: '1' } })
  let stopping: Promise<void> | undefined
  const stop = () => (stopping ??= server.close())
  // The folder of a server that runs is not removed.
  t.after(async () => {
    await stop()
    for (const remove of folders) remove()
  })
  return { ...targetOf(server.kubeconfig), dataDir, kubeconfig: String(config.kubeconfig), stop }
}

/** Starts a server inside this process, closed with the test. */
export async function startInProcess(t: Scope, options: StartOptions = {}): Promise<RunningServer & Target> {
  const server = await start({ ...(options.nodes ? {} : { controllers: CONTROLLERS.split(','), nodes: 0 }), ...options })
  t.after(() => server.close())
  return { ...server, ...targetOf(server.kubeconfig) }
}

/** How long a server that nobody uses is kept for the next test. */
const KEPT_MS = 2_000
type Kept = { readonly server: RunningServer & Target; readonly closing: NodeJS.Timeout }
const kept = new Map<string, Kept[]>()

/**
 * A server inside this process with the state of a fresh one. After the test it is reset and kept for the next test with the same options,
 * since a start costs more than a reset. Not for tests of starts and ends, of the clock, or of metrics.
 */
export async function freshServer(t: Scope, options: StartOptions = {}): Promise<RunningServer & Target> {
  const key = JSON.stringify(options)
  const idle = kept.get(key) ?? []
  kept.set(key, idle)
  const found = idle.pop()
  clearTimeout(found?.closing)
  const server = found?.server ?? (await startInProcess({ after() {} }, options))
  t.after(async () => {
    await server.reset()
    const unused: Kept = {
      server,
      closing: setTimeout(() => {
        idle.splice(idle.indexOf(unused), 1)
        void server.close()
      }, KEPT_MS),
    }
    idle.push(unused)
  })
  return server
}

/** A server inside this process for all tests of a file, closed after the last. Call it where tests are declared. */
export function serverOfFile(options: StartOptions = {}): RunningServer & Target {
  const server = {} as RunningServer & Target
  const untilTheEnd = { after() {} }
  before(async () => {
    Object.assign(server, await startInProcess(untilTheEnd, options))
  })
  after(() => server.close())
  return server
}

/** The URL and credentials of a server, from its kubeconfig. */
export type Target = {
  readonly url: string
  readonly port: number
  readonly credentials: { readonly ca: string; readonly cert: string; readonly key: string }
}

export function targetOf(kubeconfig: string): Target {
  const { clusters, users } = parse(kubeconfig) as Record<'clusters' | 'users', any[]>
  const decode = (base64: string) => Buffer.from(base64, 'base64').toString()
  // Other clusters may be in the file, too.
  const { server, 'certificate-authority-data': ca } = clusters.find(({ cluster }) => cluster['certificate-authority-data']).cluster
  const { 'client-certificate-data': cert, 'client-key-data': key } = users.find(({ user }) => user['client-key-data']).user
  return { url: server, port: Number(new URL(server).port), credentials: { ca: decode(ca), cert: decode(cert), key: decode(key) } }
}

export type Answer = {
  readonly status: number
  readonly headers: NodeJS.Dict<string | string[]>
  readonly text: string
  readonly json: any
}
export type Sent = Omit<RequestOptions, 'headers'> & { readonly body?: unknown; readonly headers?: Record<string, string> }

/** Connections that `ask` keeps: to open one costs server and client about twenty times as much as a request. */
const connections = new Agent({ keepAlive: true, maxFreeSockets: 100 })

/**
 * One request over a kept connection or over those of `agent`, of which `false` opens one for this request alone; by default with the
 * admin's credentials.
 */
export async function ask(target: Pick<Target, 'url' | 'credentials'>, path: string, sent: Sent = {}): Promise<Answer> {
  try {
    return await send(target, path, { agent: connections, ...sent })
  } catch (error) {
    // The server may have closed a kept connection just then. Clients in Go repeat such requests as well.
    const isRepeatable = error instanceof ClosedConnection && sent.agent === undefined && (sent.method ?? 'GET') === 'GET'
    if (!isRepeatable) throw error instanceof ClosedConnection ? error.cause : error
    return send(target, path, { agent: false, ...sent })
  }
}

/** A connection that earlier requests had used was closed before the response. */
class ClosedConnection extends Error {}

function send({ url, credentials }: Pick<Target, 'url' | 'credentials'>, path: string, sent: Sent): Promise<Answer> {
  const { body, headers = {}, ...options } = sent
  const bytes = Buffer.from(
    body === undefined || typeof body === 'string' || body instanceof Uint8Array ? (body ?? '') : JSON.stringify(body),
  )
  const framed = body === undefined ? headers : { 'content-type': 'application/json', 'content-length': String(bytes.length), ...headers }
  return new Promise((resolve, reject) => {
    const outgoing = request(new URL(url), withContext({ ...credentials, ...options, path, headers: framed }), answer => {
      let text = ''
      answer.setEncoding('utf8').on('data', chunk => (text += chunk))
      answer.on('error', reject)
      answer.on('end', () => resolve(answered(answer, text)))
    })
    outgoing.on('error', (error: NodeJS.ErrnoException) =>
      reject(outgoing.reusedSocket && error.code === 'ECONNRESET' ? new ClosedConnection('closed', { cause: error }) : error),
    )
    outgoing.end(bytes)
  })
}

/** No credentials: the server is trusted, the client unauthenticated. */
export const anonymous = { cert: undefined, key: undefined } as unknown as { cert: string; key: string }

/** JSON is parsed when it is looked at: some tests read large answers of which only the status matters. */
function answered({ statusCode = 0, headers }: IncomingMessage, text: string): Answer {
  let parsed: { readonly json: any } | undefined
  return {
    status: statusCode,
    headers,
    text,
    get json() {
      parsed ??= { json: jsonOf(text) }
      return parsed.json
    },
  }
}

function jsonOf(text: string): any {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** One keep-alive connection of its own. */
export function connection(t: Scope): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  return agent
}

export const configMap = (name: string, data: Record<string, string> = {}, more: Record<string, unknown> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...more },
  data,
})

/** The collection of config maps of a namespace. */
export const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'

export type WatchEvent = { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'; readonly object: any }

/** A watch, read one event after another. */
export class Watching {
  readonly #abort = new AbortController()
  readonly #events: WatchEvent[] = []
  #rest = ''
  #wake: () => void = () => {}
  /** Resolves at the next event. */
  #news = new Promise<void>(resolve => (this.#wake = resolve))
  #end: 'clean' | 'cut' | undefined

  /** Resolves with the head of the response; throws for any status but 200. */
  static async open(t: Scope, { url, credentials }: Pick<Target, 'url' | 'credentials'>, path: string): Promise<Watching> {
    const watching = new Watching()
    t.after(() => watching.close())
    await watching.#connect(url, { path, agent: false, ...credentials })
    return watching
  }

  #connect(url: string, options: RequestOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      const outgoing = request(new URL(url), withContext({ ...options, signal: this.#abort.signal }), answer => {
        if (answer.statusCode !== 200) return reject(new Error(`the watch was answered with ${answer.statusCode}`))
        resolve()
        answer.setEncoding('utf8').on('data', text => this.#received(text))
        answer.on('error', () => this.#ended('cut'))
        answer.on('end', () => this.#ended('clean'))
      })
      outgoing.on('error', error => {
        this.#ended('cut')
        reject(error)
      })
      outgoing.end()
    })
  }

  #received(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#events.push(JSON.parse(line))
    this.#announce()
  }

  #ended(how: 'clean' | 'cut'): void {
    this.#end ??= how
    this.#announce()
  }

  #announce(): void {
    const wake = this.#wake
    this.#news = new Promise(resolve => (this.#wake = resolve))
    wake()
  }

  /** The next event; undefined after the last. */
  async next(): Promise<WatchEvent | undefined> {
    while (this.#events.length === 0 && this.#end === undefined) await this.#news
    return this.#events.shift()
  }

  /** Reads until an event fits, and returns all events read, that one last. */
  async until(fits: (event: WatchEvent) => boolean): Promise<WatchEvent[]> {
    const seen: WatchEvent[] = []
    for (;;) {
      const event = await this.next()
      if (event === undefined) throw new Error(`the watch ended after ${seen.length} events without the one that was waited for`)
      seen.push(event)
      if (fits(event)) return seen
    }
  }

  /** The end of the watch: by an orderly last chunk, or cut off. */
  async end(): Promise<'clean' | 'cut'> {
    while (this.#end === undefined) await this.#news
    return this.#end
  }

  close(): void {
    this.#abort.abort()
  }
}

/** The time between two looks of `eventually` grows with the time that it has waited, up to the second. */
const LOOKS_MS = [20, 150] as const

/** Polls until the result is not undefined: for state without an event to wait for. */
export async function eventually<T>(what: string, look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const begun = performance.now()
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    const waited = performance.now() - begun
    if (waited > PATIENCE_MS / 2) throw new Error(`${what} did not happen`)
    // A look takes processor time from whatever it waits for.
    await new Promise(resolve => setTimeout(resolve, Math.min(Math.max(waited / 8, LOOKS_MS[0]), LOOKS_MS[1])))
  }
}
