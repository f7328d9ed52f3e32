/**
 * Time, chance, the event loop and the name of the machine, for everything between the port and the store. They are those of the process,
 * unless a simulation has replaced them: then every run of a server follows from a seed. `test/environment.test.ts` lists the files that may use the system's
 * directly. The clock of requests and controllers, which tests advance, is `clock.ts`; its timers are made here.
 */
import { randomFillSync, randomBytes as systemBytes, randomInt as systemInt } from 'node:crypto'
import { hostname, type NetworkInterfaceInfo, networkInterfaces } from 'node:os'
import { setTimeout as systemSleep } from 'node:timers/promises'
import { UUID_BYTES, uuidOf } from './uuid.ts'

/** A timer that can be stopped. */
export interface Timer {
  /** The timer alone does not keep the process alive. */
  unref(): this
}

/** The programs of worker threads. */
export type WorkerProgram = 'commands' | 'transcoding' | 'validation'
/** A job of a worker, done at once; `ask` answers its questions. */
export type InLineJob = (message: any, ask: (question: any) => any) => any

export type SleepOptions = { readonly signal?: AbortSignal; readonly ref?: boolean }

/** The substitute of a simulation. */
export interface Environment {
  /** Milliseconds since the epoch. */
  wallMs(): number
  /** Milliseconds of a clock that is never set. */
  monotonicMs(): number
  /** Calls a function once, or again and again, after a number of milliseconds. */
  startTimer(run: () => void, ms: number, repeats: boolean): Timer
  stopTimer(timer: Timer): void
  /** Calls a function in the next iteration of the event loop. */
  nextIteration(run: () => void): void
  /** A number from 0 to 1, without 1. */
  chance(): number
  /** Does the work of a worker thread; left out where there are threads nevertheless. */
  inLine?(program: WorkerProgram): InLineJob
}

let simulated: Environment | undefined

/** Replaces time, chance and the event loop for the whole process, until it is called with undefined. */
export function simulate(environment: Environment | undefined): void {
  simulated = environment
}

export const isSimulated = (): boolean => simulated !== undefined

export const wallMs = (): number => (simulated === undefined ? Date.now() : simulated.wallMs())

export const monotonicMs = (): number => (simulated === undefined ? performance.now() : simulated.monotonicMs())

/** When this process began, in milliseconds since the epoch. Nothing in a simulation depends on it, so it is the same in all. */
export const processBeganMs = (): number => (simulated === undefined ? performance.timeOrigin : 0)

export const startTimer = (run: () => void, ms: number): Timer =>
  simulated === undefined ? setTimeout(run, ms) : simulated.startTimer(run, ms, false)

/**
 * A timer for the deadline of something that others do. A process that could not run for a while sees its timers before the answers that
 * have come meanwhile, so what has arrived is handled first.
 */
export const startDeadline = (late: () => void, ms: number): Timer => startTimer(() => nextIteration(late), ms)

export const startInterval = (run: () => void, ms: number): Timer =>
  simulated === undefined ? setInterval(run, ms) : simulated.startTimer(run, ms, true)

/** Stops a timer or an interval. */
export function stopTimer(timer: Timer | undefined): void {
  if (timer === undefined) return
  if (simulated === undefined) clearTimeout(timer as NodeJS.Timeout)
  else simulated.stopTimer(timer)
}

export function nextIteration(run: () => void): void {
  if (simulated === undefined) setImmediate(run)
  else simulated.nextIteration(run)
}

/** Calls a function as soon as all work is done that waits for nothing but promises that are settled. */
export function afterMicrotasks(run: () => void): void {
  if (simulated === undefined) queueMicrotask(() => process.nextTick(run))
  else simulated.nextIteration(run)
}

/** Does the work of worker threads of a program in this one; undefined where there are threads. */
export const inLine = (program: WorkerProgram): InLineJob | undefined => simulated?.inLine?.(program)

/** Resolves after a number of milliseconds; rejects when the signal aborts. */
export function sleep(ms: number, options: SleepOptions = {}): Promise<void> {
  if (simulated === undefined) return systemSleep(ms, undefined, options)
  const { signal } = options
  return new Promise((resolve, reject) => {
    const abort = () => {
      stopTimer(timer)
      reject(new DOMException('The operation was aborted', { name: 'AbortError', cause: signal?.reason }))
    }
    const timer = startTimer(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}

/** A signal that aborts after a number of milliseconds. */
export function timeoutSignal(ms: number): AbortSignal {
  if (simulated === undefined) return AbortSignal.timeout(ms)
  const controller = new AbortController()
  startTimer(() => controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')), ms)
  return controller.signal
}

/** A number from 0 to 1, without 1; not for secrets. */
export const chance = (): number => (simulated === undefined ? Math.random() : simulated.chance())

/** A whole number from 0 to `below`, without `below`. Nobody can guess it. */
export const randomInt = (below: number): number => (simulated === undefined ? systemInt(below) : Math.floor(simulated.chance() * below))

/** Bytes that nobody can guess. */
export function randomBytes(count: number): Buffer {
  if (simulated === undefined) return systemBytes(count)
  const bytes = Buffer.alloc(count)
  for (let i = 0; i < count; i++) bytes[i] = simulated.chance() * 256
  return bytes
}

/** Random bytes for many UUIDs: to get them costs as much for one. */
const uuidBytes = Buffer.allocUnsafeSlow(256 * UUID_BYTES)
let nextUuid = uuidBytes.byteLength

/** A random UUID. */
export function newUuid(): string {
  if (simulated !== undefined) return uuidOf(randomBytes(UUID_BYTES), 0)
  if (nextUuid === uuidBytes.byteLength) {
    randomFillSync(uuidBytes)
    nextUuid = 0
  }
  nextUuid += UUID_BYTES
  return uuidOf(uuidBytes, nextUuid - UUID_BYTES)
}

const SIMULATED_ADDRESS: NetworkInterfaceInfo = {
  address: '192.0.2.1',
  netmask: '255.255.255.0',
  family: 'IPv4',
  mac: '00:00:00:00:00:00',
  internal: false,
  cidr: '192.0.2.1/24',
}

/** The name of the machine; all simulated ones have the same. */
export const hostName = (): string => (simulated === undefined ? hostname() : 'simulated')

/** The addresses of the machine. */
export const ownAddresses = (): readonly NetworkInterfaceInfo[] =>
  simulated === undefined ? Object.values(networkInterfaces()).flatMap(addresses => addresses ?? []) : [SIMULATED_ADDRESS]
