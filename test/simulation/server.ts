/** A server of a run: the real one, on the simulated store and network, that is killed, stopped, paused and started again. */
import type { Port } from '../../src/http/listener/listen.ts'
import type { Log } from '../../src/http/observability/log.ts'
import { type Clock, systemClock } from '../../src/lib/clock.ts'
import type { StartOptions } from '../../src/public.d.ts'
import type { Server } from '../../src/server/running-server.ts'
import { startServer } from '../../src/server/start.ts'
import type { ServerResources } from '../../src/server/start-parts.ts'
import { configOf } from '../../src/start-options.ts'
import { NO_STORE_FAULTS, type StoreFaults, type StoreView } from './database.ts'
import type { Footing, Ground } from './ground.ts'
import type { Host } from './network.ts'
import { Process, type World } from './world.ts'

const START_AGAIN_MS = 500
const MEMORY = 2 ** 31

/** Resources never change: servers with the same feature gates have the same ones, and those of a later run need not be made again. */
const RESOURCES = new Map<string, Promise<ServerResources>>()

export class SimulatedServer implements Host {
  readonly name: string
  readonly exchanges: Host['exchanges'] = new Set()
  process: Process
  serve: Host['serve']
  #footing: Footing | undefined
  /** The faults of its way to the store, whichever life it has. */
  readonly storeFaults: StoreFaults = { ...NO_STORE_FAULTS }
  isCutOff = false
  readonly #world: World
  readonly #ground: Ground
  readonly #options: StartOptions
  readonly #number: number
  #server: Server | undefined

  constructor(world: World, ground: Ground, { number, options }: { readonly number: number; readonly options: StartOptions }) {
    this.name = `server ${number}`
    this.#world = world
    this.#ground = ground
    this.#options = options
    this.#number = number
    this.process = new Process(this.name)
    this.process.isDead = true
  }

  /** The server's own view of the store, where it has one. */
  get view(): StoreView | undefined {
    return this.#footing?.view
  }

  get isUp(): boolean {
    return this.#server !== undefined
  }

  /** Starts it, and again if that fails, as a supervisor does. */
  async start(): Promise<void> {
    if (!this.process.isDead) return
    for (;;) {
      const life = new Process(this.name)
      this.process = life
      const footing = this.#ground.begin(life, { number: this.#number, server: this })
      this.#footing = footing
      // The life may end before it has begun.
      const started = await Promise.race([
        this.#world.in(life, `${this.name} starts`, () => this.#startOnce(footing)).catch(error => error),
        this.#death(life),
      ])
      if (started === 'dead') return
      if (!(started instanceof Error)) {
        this.#server = started as Server
        this.#world.note(`${this.name} is ready`)
        return
      }
      this.#world.note(`${this.name} could not start: ${started.message}`)
      this.kill()
      await this.#world.sleep(START_AGAIN_MS, 'start again')
    }
  }

  /** Ends it at once; writes that are not synced may be lost. */
  kill(): void {
    if (this.process.isDead) return
    this.#world.kill(this.process)
    this.#footing!.crash()
    this.#gone()
  }

  /** Asks it to end, and waits until it has; one that does not end in time is killed. */
  async stop(graceMs: number): Promise<void> {
    const server = this.#server
    const life = this.process
    if (!server || life.isDead) return this.kill()
    this.#server = undefined
    const stopping = this.#world.in(life, `${this.name} stops`, () => server.close())
    const ended = await Promise.race([stopping.then(() => true), this.#world.sleep(graceMs, 'grace').then(() => false)])
    if (!ended) this.#world.note(`${this.name} did not stop in time`)
    if (this.process === life) this.kill()
  }

  #gone(): void {
    this.serve = undefined
    this.#server = undefined
    for (const exchange of [...this.exchanges]) exchange.cut()
    this.exchanges.clear()
    for (const resolve of this.#deaths.splice(0)) resolve('dead')
  }

  readonly #deaths: ((how: 'dead') => void)[] = []
  #death(life: Process): Promise<'dead'> {
    return new Promise(resolve => (life.isDead ? resolve('dead') : this.#deaths.push(resolve)))
  }

  async #startOnce({ options, parts, machine }: Footing): Promise<Server> {
    const own = await parts()
    const server = await startServer(configOf({ ...this.#options, ...options }), {
      ...own,
      clock: this.#clock(),
      memory: MEMORY,
      resolveName: () => Promise.reject(new Error('names are not resolved')),
      machine: {
        listen: async ({ serve }) => this.#listen(serve),
        log: this.#log(),
        keys: this.#ground.keys,
        resources: make => resourcesFor(this.#options, make),
        ...machine,
      },
    })
    own.siblings?.ready({ url: server.url, ca: server.credentials.ca })
    return server
  }

  #clock(): Clock {
    return systemClock
  }

  #listen(serve: NonNullable<Host['serve']>): Port {
    this.serve = serve
    return {
      address: { address: '127.0.0.1', port: 6442 + this.#number, family: 'IPv4' },
      handshakeErrors: 0,
      presented: [],
      unref() {},
      readAuthorities() {},
      reload() {},
      renewCertified() {},
      cutAll: () => () => {},
      sendAway() {},
      drain: graceMs => this.#drain(graceMs),
    }
  }

  /** No further requests; those that are open have some time to end. */
  async #drain(graceMs: number): Promise<void> {
    this.serve = undefined
    for (let waited = 0; this.exchanges.size > 0 && waited < graceMs; waited += 10) await this.#world.sleep(10, 'drain')
    for (const exchange of [...this.exchanges]) exchange.cut()
  }

  #log(): Log {
    const world = this.#world
    const write = (level: string) => (fields: object, message: string) => {
      world.note(`${this.name} logs ${level}: ${message}`)
      // An error of the server itself.
      if (level === 'error' && ('stack' in fields || 'assertion' in fields))
        world.failures.push(`${this.name} logged: ${message} ${JSON.stringify(fields)}`)
    }
    return {
      enabled: level => level === 'warn' || level === 'error',
      debug() {},
      info() {},
      warn: write('warn'),
      error: write('error'),
    }
  }
}

function resourcesFor({ featureGates = '' }: StartOptions, make: () => Promise<ServerResources>): Promise<ServerResources> {
  const key = String(featureGates)
  const known = RESOURCES.get(key) ?? make()
  RESOURCES.set(key, known)
  return known
}
