/**
 * One process beside two (`--processes 2`): throughput, processor time of each request, start and memory. The client is a light one:
 * where it needs more than a quarter of a core, two processes have no second core. The ceiling of this machine is measured in the same
 * run: two servers that share nothing do the same, and two processes that only compute show how much its second core is worth.
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { nanosOf } from './cost.ts'
import { Flood, type FloodOptions, Streams } from './light-client.ts'
import { median, percent } from './numbers.ts'
import { configMap } from './objects.ts'
import { CONFIG_MAPS, OBJECTS, prepare } from './operations.ts'
import { bodyOf, connectTo, HTTP1, requestBytes, type Target } from './raw-client.ts'
import { newFolder, PLAIN_ENVIRONMENT, type Running, residentMB, startKeelson } from './servers.ts'

/**
 * Requests or events a second of a server, processor time of all its processes for each, and that of its busiest thread, which limits the
 * throughput of a server with a core for every process.
 */
export type ProcessCost = { readonly perSecond: number; readonly micros: number; readonly busiestMicros: number }
export type ProcessFigure = {
  readonly name: string
  readonly one: ProcessCost
  readonly two: ProcessCost
  /** Two servers that share nothing: as much as two processes could do here beside this client. */
  readonly apart: ProcessCost
  /** The part of a core that the client needed beside two processes. */
  readonly clientShare: number
  /** How many times the throughput of one process two should have. */
  readonly target: number
}
export type ProcessFigures = {
  readonly costs: readonly ProcessFigure[]
  /** How many times the work of one process two do that only compute: near 2 on two cores, near 1 on two threads of one. */
  readonly computing: number
  readonly readyMs: readonly [one: number, two: number, apart: number]
  /** Until both of two processes serve: the server is ready with the first. */
  readonly bothMs?: number
  readonly residentMB: readonly [one: number, two: number]
  /** Resident memory of each of the two processes, and of their supervisor. */
  readonly eachMB: number
  readonly supervisorMB: number
}

/** Servers that are measured together: one of one or of two processes, or two of one. */
type Subject = { readonly servers: readonly Running[]; readonly processes: number }
type Round = ProcessCost & { readonly clientShare: number }
type Work = {
  readonly name: string
  readonly target: number
  /** How much of it one round is, and how much a process does before it is measured: until then its code is being compiled. */
  readonly size: number
  readonly warmUp: number
  /** Opens connections, so many times fewer than for a server alone, and returns how to do so much of it. */
  open(server: Running, fewer: number): Promise<Opened>
}
type Opened = {
  /** Prepares so much of it; calling the result does it, and resolves with how much it was. */
  run(size: number): Promise<() => Promise<number>>
  /** Closes all connections, and throws unless the server has done all that was counted. */
  close(): Promise<void>
}

const FLAGS = ['--controllers=none', '--nodes=0']
const STARTS = 5
const COMPUTE_MS = 800
const COMPUTE_TURNS = 5
const ROUNDS = 9
/** On a busy machine all takes long: after this time there are no more rounds than these, and processes are warm enough. */
const MAX_WORK_MS = 30_000
const FEWEST_ROUNDS = 3
const WARM_UPS = 10

export async function processFigures(quick: boolean): Promise<ProcessFigures> {
  const computing = await computedTogether(quick ? COMPUTE_MS / 4 : COMPUTE_MS)
  progress(`two processes that compute do × ${computing.toFixed(2)} of one`)
  const { readyMs, bothMs } = await startTimes(quick ? 2 : STARTS)
  progress(`ready after ${readyMs.map(ms => ms.toFixed(0)).join(', ')} ms; both of two serve after ${bothMs.toFixed(0)} ms`)
  const first = await startKeelson(newFolder(), FLAGS)
  const shared = await startKeelson(newFolder(), [...FLAGS, '--processes', '2'])
  const other = await startKeelson(newFolder(), FLAGS)
  const servers = [first, shared, other]
  const subjects: Subject[] = [
    { servers: [first], processes: 1 },
    { servers: [shared], processes: 2 },
    { servers: [first, other], processes: 2 },
  ]
  try {
    await untilServing(shared.target, 2)
    await sleep(1000)
    const [[one = 0], [supervisorMB = 0, ...processes]] = pair(servers.map(server => allPids(server).map(residentMB)))
    const all = processes.reduce((sum, each) => sum + each, 0)
    for (const { target } of servers) await prepare(target)
    const costs: ProcessFigure[] = []
    for (const work of WORKS) costs.push(await measured(work, subjects, quick))
    return { costs, computing, readyMs, bothMs, residentMB: [one, supervisorMB + all], eachMB: all / processes.length, supervisorMB }
  } finally {
    await Promise.all(servers.map(server => server.stop()))
  }
}

/** Parses and writes JSON, as servers do, for so many milliseconds, and prints how often. */
const COMPUTE = `
const made = { items: Array.from({ length: 200 }, (_, i) => ({ name: 'item-' + i, value: i * 1.5 })) }
const timesIn = ms => { let times = 0; for (const end = performance.now() + ms; performance.now() < end; times++) JSON.parse(JSON.stringify(made)); return times }
timesIn(200); console.log(timesIn(Number(process.argv[1])))`

/** The median of some turns: one process, and then two. */
async function computedTogether(ms: number): Promise<number> {
  const ratios: number[] = []
  for (let turn = 0; turn < COMPUTE_TURNS; turn++) {
    const alone = await computed(ms)
    const [first, second] = await Promise.all([computed(ms), computed(ms)])
    ratios.push((first + second) / alone)
  }
  return median(ratios)
}

async function computed(ms: number): Promise<number> {
  const child = spawn(process.execPath, ['-e', COMPUTE, String(ms)], { stdio: ['ignore', 'pipe', 'inherit'], env: PLAIN_ENVIRONMENT })
  return Number(await text(child.stdout))
}

/** The medians of some starts with everything that a server has, each on a new folder: of one process, of two, and of two servers at once. */
async function startTimes(starts: number): Promise<Required<Pick<ProcessFigures, 'readyMs' | 'bothMs'>>> {
  const flags: readonly (readonly string[][])[] = [[[]], [['--processes', '2']], [[], []]]
  const times = flags.map(() => [] as number[])
  const both: number[] = []
  for (let i = 0; i < starts; i++)
    for (const [which, each] of flags.entries()) {
      const began = performance.now()
      const servers = await Promise.all(each.map(flags => startKeelson(newFolder(), flags)))
      times[which]!.push(Math.max(...servers.map(({ readyMs }) => readyMs)))
      if (which === 1) {
        await untilServing(servers[0]!.target, 2)
        both.push(performance.now() - began)
      }
      await Promise.all(servers.map(server => server.stop()))
    }
  return { readyMs: [median(times[0]!), median(times[1]!), median(times[2]!)], bothMs: median(both) }
}

/** Resolves when so many processes of a server serve. */
async function untilServing(target: Target, processes: number): Promise<void> {
  while (Number(/^keelson_processes (\d+)$/m.exec((await bodyOf(target, '/metrics')).toString())?.[1]) < processes) await sleep(LOOK_MS)
}
/** Each look is a new connection, which costs the processes that are starting some milliseconds. */
const LOOK_MS = 50

/** Rounds of the servers alternate. */
async function measured(work: Work, subjects: readonly Subject[], quick: boolean): Promise<ProcessFigure> {
  const rounds = subjects.map(() => [] as Round[])
  const open: Opened[] = []
  for (const { servers } of subjects) open.push(await together(work, servers))
  for (const [i, { processes }] of subjects.entries()) await warmUp(open[i]!, (work.warmUp * processes) / (quick ? 5 : 1))
  const began = performance.now()
  const isTime = (round: number) => round < FEWEST_ROUNDS || (!quick && round < ROUNDS && performance.now() - began < MAX_WORK_MS)
  for (let round = 0; isTime(round); round++)
    for (const [i, subject] of subjects.entries()) rounds[i]!.push(await roundOf(subject, await open[i]!.run(work.size / (quick ? 2 : 1))))
  for (const { close } of open) await close()
  const middle = (of: (round: Round) => number, which: number) => median(rounds[which]!.map(of))
  const cost = (which: number) => ({
    perSecond: middle(each => each.perSecond, which),
    micros: middle(each => each.micros, which),
    busiestMicros: middle(each => each.busiestMicros, which),
  })
  const { name, target } = work
  const [one, two, apart] = [cost(0), cost(1), cost(2)]
  const times = (of: ProcessCost) => `× ${(of.perSecond / one.perSecond).toFixed(2)}`
  const spent = [one, two, apart].map(({ micros }) => micros.toFixed(0)).join(', ')
  const clientShare = middle(each => each.clientShare, 1)
  progress(`${name}: ${spent} µs, throughput ${times(two)}, two servers ${times(apart)}, client ${percent(clientShare, 1)} of a core`)
  return { name, target, one, two, apart, clientShare }
}

/** The same work at several servers at once, each with its part of the connections and of the requests. */
async function together(work: Work, servers: readonly Running[]): Promise<Opened> {
  const opened = await Promise.all(servers.map(server => work.open(server, servers.length)))
  return {
    async run(size) {
      const runs = await Promise.all(opened.map(each => each.run(Math.ceil(size / servers.length))))
      return async () => (await Promise.all(runs.map(run => run()))).reduce((sum, count) => sum + count, 0)
    },
    async close() {
      for (const each of opened) await each.close()
    },
  }
}

async function warmUp({ run }: Opened, size: number): Promise<void> {
  const until = performance.now() + MAX_WORK_MS / 2
  for (let part = 0; part < WARM_UPS && performance.now() < until; part++) await (await run(Math.ceil(size / WARM_UPS)))()
}

async function roundOf(subject: Subject, run: () => Promise<number>): Promise<Round> {
  const pids = subject.servers.flatMap(allPids)
  const [before, began, ours] = [pids.map(nanosOf), performance.now(), process.cpuUsage()]
  const count = await run()
  const [after, ms, { user, system }] = [pids.map(nanosOf), performance.now() - began, process.cpuUsage(ours)]
  const spent = (which: 'main' | 'all') => after.map((nanos, i) => (nanos[which] - before[i]![which]) / count / 1000)
  return {
    perSecond: (count / ms) * 1000,
    micros: spent('all').reduce((sum, micros) => sum + micros, 0),
    busiestMicros: Math.max(...spent('main')),
    clientShare: (user + system) / 1000 / ms,
  }
}

/** Says how far the measurement is. */
const progress = (text: string): void => void process.stderr.write(`processes: ${text}\n`)

/** Enough connections that both processes are busy, whichever of them are being answered. */
const CONNECTIONS = 32
/** Writes are not pipelined, as no client does that. With fewer under way, two processes wait for commits more than they work. */
const WRITE_CONNECTIONS = 256
/** Few: events of writes that are made together are sent together, and the more of them, the less each costs. */
const EVENT_WRITE_CONNECTIONS = 4

type ReadOptions = Pick<Work, 'target' | 'size' | 'warmUp'> & Pick<FloodOptions, 'depth' | 'sleepMs'>

const read = (name: string, path: string, { target, size, warmUp, ...more }: ReadOptions): Work => ({
  name,
  target,
  size,
  warmUp,
  async open({ target }, fewer) {
    const bytes = requestBytes('GET', path)
    const body = await bodyOf(target, path)
    const flood = await Flood.open(target, { connections: CONNECTIONS / fewer, request: () => bytes, ...more })
    return {
      run: size => prepared(flood, size),
      async close() {
        flood.close()
        const last = await bodyOf(target, path)
        if (last.length !== body.length) throw new Error(`${path}: at first ${body.length} bytes, at last ${last.length}`)
      },
    }
  },
})

async function prepared(flood: Flood, size: number): Promise<() => Promise<number>> {
  await flood.prepare(size)
  return () => flood.send(size)
}

let created = 0
/** Names are of the same length, so that answers and events are; but for the resourceVersion, which grows. */
const create = (path: string) => (): Buffer => requestBytes('POST', path, configMap(`light-${String(++created).padStart(8, '0')}`))
const GROWTH = 8

async function objectsIn(target: Target, path: string): Promise<number> {
  const { items, metadata } = JSON.parse((await bodyOf(target, `${path}?limit=1`)).toString())
  return items.length + (metadata.remainingItemCount ?? 0)
}

/** Creates that servers have answered. */
const answered = new Map<Target, number>()
const noteAnswered = (target: Target, more: number): void => void answered.set(target, (answered.get(target) ?? 0) + more)

type CreateOptions = Pick<FloodOptions, 'connections' | 'sleepMs'> & { readonly path: string }

/** Creates objects; throws at the end unless there are as many as were answered. */
async function creating(target: Target, { path, ...more }: CreateOptions): Promise<Opened> {
  const flood = await Flood.open(target, { request: create(path), slack: GROWTH, ...more })
  const made = () => answered.get(target) ?? 0
  // Its connections have made one each.
  noteAnswered(target, more.connections)
  const before = (await objectsIn(target, path)) - made()
  return {
    async run(size) {
      const send = await prepared(flood, size)
      return async () => {
        const count = await send()
        noteAnswered(target, count)
        return count
      }
    },
    async close() {
      flood.close()
      const objects = (await objectsIn(target, path)) - before
      if (objects !== made()) throw new Error(`${path}: ${made()} creates were answered, and ${objects} objects are there`)
    },
  }
}

const WATCHED = '/api/v1/namespaces/kube-public/configmaps'
const WATCHERS = 1_000

const WORKS: readonly Work[] = [
  read('GET one object', `${CONFIG_MAPS}/cm-7`, { target: 1.6, size: 10_000, warmUp: 20_000, depth: 16, sleepMs: 1 }),
  read('page of 100', `${CONFIG_MAPS}?limit=100`, { target: 1.6, size: 3_000, warmUp: 3_000 }),
  read(`LIST ${OBJECTS.toLocaleString('en-US')} objects`, CONFIG_MAPS, { target: 1.6, size: 400, warmUp: 200 }),
  {
    name: 'create',
    target: 1.3,
    size: 4_000,
    warmUp: 8_000,
    open: ({ target }, fewer) => creating(target, { path: CONFIG_MAPS, connections: WRITE_CONNECTIONS / fewer, sleepMs: 1 }),
  },
  {
    name: `watch event, ${WATCHERS.toLocaleString('en-US')} watchers`,
    target: 1.6,
    // Counted in writes. Of two servers each has half of the watchers, and all writes.
    size: 40,
    warmUp: 60,
    async open({ target }, fewer) {
      const length = await eventLength(target)
      const writer = await creating(target, { path: WATCHED, connections: EVENT_WRITE_CONNECTIONS / fewer })
      const streams = await Streams.open(target, {
        count: WATCHERS / fewer,
        request: requestBytes('GET', await watchPath(target)),
        length,
        slack: GROWTH,
        sleepMs: 8,
      })
      return {
        async run(size) {
          const send = await writer.run(size * fewer)
          return async () => {
            const all = streams.arrived(size * fewer)
            await Promise.all([all, send()])
            return size * WATCHERS
          }
        },
        async close() {
          streams.close()
          await writer.close()
        },
      }
    },
  },
]

async function watchPath(target: Target): Promise<string> {
  const { metadata } = JSON.parse((await bodyOf(target, `${WATCHED}?limit=1`)).toString())
  return `${WATCHED}?watch=true&timeoutSeconds=3600&resourceVersion=${metadata.resourceVersion}`
}

/** The bytes of the event of a create, without its framing. */
async function eventLength(target: Target): Promise<number> {
  let text = ''
  let found: (length: number) => void = () => {}
  const length = new Promise<number>(resolve => (found = resolve))
  const look = (chunk: Buffer) => {
    text += chunk.toString('latin1')
    const event = /\{"type":"ADDED".*\n/.exec(text)
    if (event) found(event[0].length)
  }
  const request = requestBytes('GET', await watchPath(target))
  const endWatch = await HTTP1.stream(target, { count: 1, request, onData: () => look })
  const writer = await connectTo(target)
  await writer.send(create(WATCHED)())
  noteAnswered(target, 1)
  writer.close()
  await length
  endWatch()
  return await length
}

const pair = <Each>([one, two]: readonly Each[]): readonly [Each, Each] => [one!, two!]

/** A server, and the processes that it has started. */
function allPids({ pid }: Running): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return [pid, ...(children === '' ? [] : children.split(' ').map(Number))]
}
