/**
 * The cost of a request: processor time of its threads, which other work on the machine disturbs less than rates. Rounds of several
 * servers alternate, and the median counts. Connections are open before a round begins: a handshake costs as much as several requests.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { fanOut } from './fan-out.ts'
import { median } from './numbers.ts'
import type { Operation } from './operations.ts'
import { drive, type Protocol, type Target } from './raw-client.ts'

export type Cost = {
  /** Microseconds of the first process: of the thread that runs JavaScript, and of all threads. */
  readonly mainMicros: number
  readonly allMicros: number
  /** Microseconds of all processes together. */
  readonly totalMicros: number
  readonly perSecond: number
}

/** A server that is running, as one process or several; the first one answers. */
export type Measured = { readonly target: Target; readonly pids: readonly number[] }
/** Requests, not seconds: until code has run often enough, it is interpreted, and a busy machine must not change how warm it is. */
export type Rounds = { readonly rounds: number; readonly requests: number; readonly warmUp: number }

/** Requests that a server is sent. */
export type Sending = Measured & { readonly protocol: Protocol; readonly operation: Operation }

/** The costs of each in turn: of one operation at several servers, or in several protocols. */
export async function costs(all: readonly Sending[], rounds: Rounds): Promise<readonly Cost[]> {
  return (await costsByRound(all, rounds)).map(medianCost)
}

/** The same round by round: rounds with the same number ran one after the other, so that their ratio tells more than that of medians. */
export async function costsByRound(all: readonly Sending[], { rounds, requests, warmUp }: Rounds): Promise<readonly (readonly Cost[])[]> {
  const measured = all.map(() => [] as Cost[])
  for (const each of all) await round(each, warmUp)
  const inTurn = [...all.entries()]
  for (let i = 0; i < rounds; i++) {
    for (const [at, each] of inTurn) measured[at]!.push(await round(each, requests))
    // The first of a round is not always the same.
    inTurn.reverse()
  }
  return measured
}

async function round({ target, pids, protocol, operation }: Sending, requests: number): Promise<Cost> {
  const { name, lanes: count, weight, request } = operation
  const lanes = await protocol.lanes(target, count)
  // The server has read the certificate of each client before it counts.
  await drive(lanes, { request, seconds: 60, requests: count })
  const before = processorTimes(pids)
  const { requests: sent, failures, perSecond } = await drive(lanes, { request, seconds: 600, requests: Math.ceil(requests / weight) })
  const after = processorTimes(pids)
  for (const lane of lanes) lane.close()
  if (failures > 0) throw new Error(`${name}: ${failures} of ${sent} requests failed`)
  return { ...costOf(before, after, sent), perSecond }
}

const WATCHERS = 100

export type Watched = Measured & { readonly watchPath: () => Promise<string>; readonly write: () => Buffer }

/**
 * The costs of an event at each server: one of many watchers is told of a write. The same writes are made without watchers as well, and
 * their cost is taken off.
 */
export async function costsOfEvent(all: readonly Watched[], protocol: Protocol, { rounds, writes }: { rounds: number; writes: number }) {
  const measured = all.map(() => [] as Cost[])
  for (let i = 0; i <= rounds; i++)
    for (const [at, { target, pids, watchPath, write }] of all.entries()) {
      const job = { target, protocol, watchPath: await watchPath(), write, marker: '"kind":"ConfigMap"' }
      const events = WATCHERS * writes
      const told = async (watchers: number) => {
        let before = processorTimes(pids)
        const { perSecond } = await fanOut(job, { watchers, writes, onOpen: () => (before = processorTimes(pids)) })
        return { ...costOf(before, processorTimes(pids), events), perSecond }
      }
      const [alone, cost] = [await told(0), await told(WATCHERS)]
      // The first round is for code that is still compiled.
      if (i > 0) measured[at]!.push(less(cost, alone))
    }
  return measured.map(medianCost)
}

const less = ({ mainMicros, allMicros, totalMicros, perSecond }: Cost, other: Cost): Cost => ({
  mainMicros: mainMicros - other.mainMicros,
  allMicros: allMicros - other.allMicros,
  totalMicros: totalMicros - other.totalMicros,
  perSecond,
})

export const medianCost = (rounds: readonly Cost[]): Cost => ({
  mainMicros: median(rounds.map(({ mainMicros }) => mainMicros)),
  allMicros: median(rounds.map(({ allMicros }) => allMicros)),
  totalMicros: median(rounds.map(({ totalMicros }) => totalMicros)),
  perSecond: median(rounds.map(({ perSecond }) => perSecond)),
})

type Nanos = { readonly main: number; readonly all: number }

function costOf(before: readonly Nanos[], after: readonly Nanos[], count: number): Omit<Cost, 'perSecond'> {
  const micros = (end: number, start: number) => (end - start) / count / 1000
  return {
    mainMicros: micros(after[0]!.main, before[0]!.main),
    allMicros: micros(after[0]!.all, before[0]!.all),
    totalMicros: micros(sum(after), sum(before)),
  }
}

const sum = (times: readonly Nanos[]) => times.reduce((total, { all }) => total + all, 0)
const processorTimes = (pids: readonly number[]) => pids.map(nanosOf)

/** Nanoseconds that the main thread and all threads of a process have run. */
export function nanosOf(pid: number): Nanos {
  const threads = readdirSync(`/proc/${pid}/task`).map(id => ({ id, nanos: nanosOfThread(`/proc/${pid}/task/${id}/schedstat`) }))
  return {
    main: threads.find(({ id }) => id === String(pid))!.nanos,
    all: threads.reduce((total, { nanos }) => total + nanos, 0),
  }
}

/** A thread that has ended meanwhile counts nothing. */
function nanosOfThread(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8').split(' ')[0])
  } catch {
    return 0
  }
}
