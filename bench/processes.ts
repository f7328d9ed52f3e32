/**
 * One process beside two (`--processes 2`): throughput, processor time of each request, start and memory. The client is a light one:
 * where it needs more than a quarter of a core, two processes have no second core, and the ratio says little.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { nanosOf } from './cost.ts'
import { batchesOf, Flood, type Flooded, type RequestBatch, Streams } from './light-client.ts'
import { median } from './numbers.ts'
import { configMap } from './objects.ts'
import { CONFIG_MAPS, OBJECTS, prepare } from './operations.ts'
import { bodyOf, requestBytes } from './raw-client.ts'
import { newFolder, type Running, residentMB, startKeelson } from './servers.ts'

/** Requests or events a second of a server, and processor time of all its processes for each. */
export type ProcessCost = { readonly perSecond: number; readonly micros: number }
export type ProcessFigure = {
  readonly name: string
  readonly one: ProcessCost
  readonly two: ProcessCost
  /** The part of a core that the client needed beside two processes. */
  readonly clientShare: number
  /** How many times the throughput of one process two should have. */
  readonly target: number
}
export type ProcessFigures = {
  readonly costs: readonly ProcessFigure[]
  readonly readyMs: readonly [one: number, two: number]
  readonly residentMB: readonly [one: number, two: number]
}

type Subject = Running & { readonly processes: number }
type Round = ProcessCost & { readonly clientShare: number }
type Work = {
  readonly name: string
  readonly target: number
  /** How much of it one round is, and how much a process does before it is measured: until then its code is being compiled. */
  readonly size: number
  readonly warmUp: number
  /** Opens connections, and returns how to do so much of it. */
  open(subject: Subject): Promise<{ run(size: number): Promise<() => Promise<number>>; close(): void }>
}

const FLAGS = ['--controllers=none', '--nodes=0']
const STARTS = 3

export async function processFigures(quick: boolean): Promise<ProcessFigures> {
  const readyMs = pair([await startMs([]), await startMs(['--processes', '2'])])
  const subjects: Subject[] = [
    { ...(await startKeelson(newFolder(), FLAGS)), processes: 1 },
    { ...(await startKeelson(newFolder(), [...FLAGS, '--processes', '2'])), processes: 2 },
  ]
  try {
    await sleep(1000)
    const residents = subjects.map(server => allPids(server).reduce((sum, pid) => sum + residentMB(pid), 0))
    for (const { target } of subjects) await prepare(target)
    const costs: ProcessFigure[] = []
    for (const work of WORKS) costs.push(await measured(work, subjects, quick))
    return { costs, readyMs, residentMB: pair(residents) }
  } finally {
    await Promise.all(subjects.map(server => server.stop()))
  }
}

/** The median of some starts with everything that a server has, each on a new folder. */
async function startMs(flags: readonly string[]): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < STARTS; i++) {
    const server = await startKeelson(newFolder(), flags)
    times.push(server.readyMs)
    await server.stop()
  }
  return median(times)
}

/** Rounds of the servers alternate. */
async function measured(work: Work, subjects: readonly Subject[], quick: boolean): Promise<ProcessFigure> {
  const rounds = subjects.map(() => [] as Round[])
  const open = await Promise.all(subjects.map(subject => work.open(subject)))
  for (const [i, { processes }] of subjects.entries()) await (await open[i]!.run((work.warmUp * processes) / (quick ? 5 : 1)))()
  for (let round = 0; round < (quick ? 3 : 7); round++)
    for (const [i, subject] of subjects.entries()) rounds[i]!.push(await roundOf(subject, await open[i]!.run(work.size / (quick ? 2 : 1))))
  for (const { close } of open) close()
  const middle = (of: (round: Round) => number, which: number) => median(rounds[which]!.map(of))
  const cost = (which: number) => ({ perSecond: middle(each => each.perSecond, which), micros: middle(each => each.micros, which) })
  const { name, target } = work
  return { name, target, one: cost(0), two: cost(1), clientShare: middle(each => each.clientShare, 1) }
}

async function roundOf(subject: Subject, run: () => Promise<number>): Promise<Round> {
  const pids = allPids(subject)
  const nanos = () => pids.reduce((sum, pid) => sum + nanosOf(pid).all, 0)
  const [before, began, ours] = [nanos(), performance.now(), process.cpuUsage()]
  const count = await run()
  const [after, ms, { user, system }] = [nanos(), performance.now() - began, process.cpuUsage(ours)]
  return { perSecond: (count / ms) * 1000, micros: (after - before) / count / 1000, clientShare: (user + system) / 1000 / ms }
}

/** Enough connections that both processes are busy, whichever of them are being answered. */
const CONNECTIONS = 32

const read = (name: string, path: string, more: Pick<Work, 'target' | 'size' | 'warmUp'> & { readonly depth: number }): Work => ({
  name,
  ...more,
  open: subject => flooding(subject, requests => batchesOf(requestBytes('GET', path), { requests, depth: more.depth })),
})

async function flooding({ target }: Subject, batches: (requests: number) => readonly RequestBatch[]) {
  const flood = await Flood.open(target, CONNECTIONS)
  return {
    async run(size: number) {
      const made = batches(size)
      return async () => counted(await flood.send(made))
    },
    close: () => flood.close(),
  }
}

function counted({ answers, failures }: Flooded): number {
  if (failures > 0) throw new Error(`${failures} of ${answers} requests failed`)
  return answers
}

let created = 0
const createBatches = (path: string, requests: number, depth: number): RequestBatch[] =>
  Array.from({ length: Math.ceil(requests / depth) }, () => ({
    bytes: Buffer.concat(Array.from({ length: depth }, () => requestBytes('POST', path, configMap(`light-${++created}`)))),
    count: depth,
  }))

const WATCHED = '/api/v1/namespaces/kube-public/configmaps'
const WATCHERS = 200

const WORKS: readonly Work[] = [
  read('GET one object', `${CONFIG_MAPS}/cm-7`, { target: 1.6, size: 20_000, warmUp: 30_000, depth: 16 }),
  read('page of 100', `${CONFIG_MAPS}?limit=100`, { target: 1.6, size: 3_000, warmUp: 3_000, depth: 2 }),
  read(`LIST ${OBJECTS.toLocaleString('en-US')} objects`, CONFIG_MAPS, { target: 1.6, size: 400, warmUp: 200, depth: 1 }),
  {
    name: 'create',
    target: 1.3,
    size: 4_000,
    warmUp: 8_000,
    open: subject => flooding(subject, requests => createBatches(CONFIG_MAPS, requests, 2)),
  },
  {
    name: `watch event, ${WATCHERS} watchers`,
    target: 1.6,
    // Counted in writes.
    size: 100,
    warmUp: 100,
    async open({ target }) {
      const { metadata } = JSON.parse((await bodyOf(target, `${WATCHED}?limit=1`)).toString())
      const path = `${WATCHED}?watch=true&timeoutSeconds=3600&resourceVersion=${metadata.resourceVersion}`
      const streams = await Streams.open(target, {
        count: WATCHERS,
        request: requestBytes('GET', path),
        marker: '"kind":"ConfigMap"',
      })
      const writer = await Flood.open(target, 2)
      return {
        async run(size: number) {
          const batches = createBatches(WATCHED, size, 2)
          const events = batches.reduce((sum, { count }) => sum + count, 0) * WATCHERS
          return async () => {
            const all = streams.arrived(events)
            counted(await writer.send(batches))
            await all
            return events
          }
        },
        close() {
          streams.close()
          writer.close()
        },
      }
    },
  },
]

const pair = ([one, two]: readonly number[]): readonly [number, number] => [one!, two!]

/** A server, and the processes that it has started. */
function allPids({ pid }: Running): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return [pid, ...(children === '' ? [] : children.split(' ').map(Number))]
}
