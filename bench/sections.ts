/** The parts of `npm run bench`, each with what it measures. */
import { spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AdmissionFigures, admission } from './admission.ts'
import { type AuditFigure, audit } from './audit.ts'
import { type ChurnFigures, churn } from './churn.ts'
import { WATCH, watchedAt } from './compare-servers.ts'
import { type Cost, costs, costsOfEvent, nanosOf, type Rounds } from './cost.ts'
import { type DartboardFigures, dartboard } from './dartboard.ts'
import { type DeviceFigures, deviceFigures } from './devices.ts'
import { type Measured, onEtcd, type ReadFigures } from './etcd.ts'
import { type Fair, fairness } from './fairness.ts'
import { readFigures } from './figures.ts'
import type { Programs } from './kube-apiserver.ts'
import { type MillionFigure, million } from './million.ts'
import { manyNodes, type NodesFigures } from './nodes.ts'
import { median } from './numbers.ts'
import { configMap } from './objects.ts'
import { CONFIG_MAPS, operationsIn, prepare, prepareApplied } from './operations.ts'
import { type ProcessFigures, processFigures } from './processes.ts'
import { bodyOf, HTTP1, HTTP1_STREAMS, type Protocol, requestBytes, run, type Target } from './raw-client.ts'
import { HTTP2 } from './raw-http2.ts'
import { type Scale, scale } from './scale.ts'
import { type SchedulerFigure, schedulerFigures } from './scheduler.ts'
import { bareStore, newFolder, PLAIN_ENVIRONMENT, residentMB, startBare, startBareWrites, startKeelson } from './servers.ts'
import { type ApiFigure, apiSets, type ExecutableFigures, executable } from './starts.ts'
import { type Took, testLibrary } from './test-library.ts'
import { workloads } from './workloads.ts'
import { type WorkspaceFigures, workspaces } from './workspaces.ts'

export type StartFigures = {
  readonly readyMs: number
  readonly readyCpuMs: number
  readonly idleMB: number
  /** The same of Node alone. */
  readonly nodeMs: number
}

/** A request at Keelson, and at a bare server that sends the same bytes or stores the same body. */
export type RequestFigure = { readonly name: string; readonly protocol: Protocol['name']; readonly keelson: Cost; readonly ceiling: Cost }
/** A request that is answered directly, the same by node:http, and over HTTP/2: main thread, microseconds. */
export type PlainFigure = { readonly name: string; readonly direct: number; readonly streams: number; readonly http2: number }
export type StoreFigure = { readonly writers: number; readonly perSecond: number; readonly storeAlone: number }
export type GrowthFigure = Readonly<Record<'objects' | 'get' | 'page' | 'create' | 'patch' | 'residentMB', number>>
export type TestFigure = Took & { readonly what: string; readonly targetMs?: number }
export type WorkloadFigures = Readonly<
  Record<'availableMs' | 'deployments' | 'pods' | 'settledSeconds' | 'getP99Ms' | 'idleShare' | 'idleMB', number>
>
export type EtcdWrites = Readonly<Record<'ours' | 'https' | 'alone', Measured>> & { readonly members: number; readonly writers: number }
export type EtcdFigures = {
  readonly writes: readonly EtcdWrites[]
  readonly reads: readonly (ReadFigures & { readonly connections: number })[]
  readonly load: { readonly objects: number; readonly ms: number }
}
export type ScaleFigures = Scale & { readonly objects: number; readonly watches: number; readonly writesPerSecond: number }

/** All that `npm run bench` measures, by part. */
export type Measurements = {
  readonly start: StartFigures
  readonly requests: { readonly costs: readonly RequestFigure[] }
  readonly plain: { readonly costs: readonly PlainFigure[] }
  readonly store: { readonly creates: readonly StoreFigure[] }
  readonly growth: { readonly sizes: readonly GrowthFigure[] }
  readonly tests: { readonly took: readonly TestFigure[]; readonly mbEach: number }
  readonly workspaces: WorkspaceFigures
  readonly apis: { readonly sets: readonly ApiFigure[] }
  readonly workloads: WorkloadFigures
  readonly admission: AdmissionFigures
  readonly audit: { readonly costs: readonly AuditFigure[] }
  readonly devices: DeviceFigures
  readonly etcd: EtcdFigures
  readonly processes: ProcessFigures
  readonly fairness: { readonly floods: readonly Fair[] }
  readonly scale: ScaleFigures
  readonly scheduler: { readonly workloads: readonly SchedulerFigure[] }
  readonly dartboard: DartboardFigures
  readonly nodes: NodesFigures
  readonly million: { readonly sizes: readonly MillionFigure[] }
  readonly churn: ChurnFigures
  readonly executable: ExecutableFigures
}

/** Choices for the parts at scale: how many objects, nodes or writes; which workloads; and the programs to compare with. */
export type Choices = { readonly size?: number; readonly workload?: string; readonly programs?: Programs }
export type Sections = {
  readonly [Name in keyof Measurements]: (quick: boolean, choices: Choices) => Promise<Measurements[Name] | undefined>
}

/** Parts that take long: they are measured when they are named. */
export const AT_SCALE: readonly (keyof Measurements)[] = ['scheduler', 'dartboard', 'nodes', 'million', 'churn', 'executable']

/** In the order in which they are measured. A part that cannot be measured on this machine has no figures. */
export const SECTIONS: Sections = {
  start: starts,
  requests,
  plain,
  store,
  growth,
  tests,
  workspaces,
  apis: apiSets,
  workloads: workload,
  admission: quick => admission({ quick }),
  audit: async quick => ({ costs: await audit(quick) }),
  devices: async quick => deviceFigures(quick),
  etcd,
  processes: processFigures,
  fairness: async quick => ({ floods: await fairness(quick ? 0.5 : 1) }),
  scale: scales,
  scheduler: async (quick, { workload: only }) => {
    const earlier = readFigures().scheduler?.workloads
    return { workloads: await schedulerFigures(quick, { ...(only !== undefined && { only }), ...(earlier && { earlier }) }) }
  },
  dartboard: (quick, choices) => dartboard(quick, choices),
  nodes: (quick, { size }) => manyNodes(quick, size),
  million: async (quick, { size }) => ({ sizes: await million(quick, size) }),
  churn: (quick, { size }) => churn(quick, size),
  executable,
}

async function starts(quick: boolean): Promise<StartFigures> {
  const ready: { ms: number; cpuMs: number; mb: number }[] = []
  for (let i = 0; i < (quick ? 3 : 5); i++) {
    const keelson = await startKeelson()
    const cpuMs = nanosOf(keelson.pid).all / 1e6
    await sleep(1000)
    ready.push({ ms: keelson.readyMs, cpuMs, mb: residentMB(keelson.pid) })
    await keelson.stop()
  }
  const nodeMs = Array.from({ length: 5 }, () => {
    const began = performance.now()
    spawnSync(process.execPath, ['-e', '0'], { env: PLAIN_ENVIRONMENT })
    return performance.now() - began
  })
  return {
    readyMs: median(ready.map(({ ms }) => ms)),
    readyCpuMs: median(ready.map(({ cpuMs }) => cpuMs)),
    idleMB: median(ready.map(({ mb }) => mb)),
    nodeMs: median(nodeMs),
  }
}

/** No controller rolls Deployments out meanwhile. */
const NO_CONTROLLERS = ['--controllers=none']

async function requests(quick: boolean): Promise<Measurements['requests']> {
  const dir = newFolder()
  const keelson = await startKeelson(dir, NO_CONTROLLERS)
  await prepare(keelson.target)
  const paths = operationsIn(HTTP1).flatMap(({ path }) => path ?? [])
  const bodies: Record<string, string> = {}
  for (const path of paths) bodies[path] = (await bodyOf(keelson.target, path)).toString()
  bodies['/watch'] = `{"type":"ADDED","object":${bodies[`${CONFIG_MAPS}/cm-7`]}}\n`
  const [reads, writes] = [await startBare(dir, bodies, keelson.target), await startBareWrites(dir, keelson.target)]
  const lengths: Rounds = quick ? { rounds: 2, requests: 100, warmUp: 300 } : { rounds: 7, requests: 400, warmUp: 1500 }
  const measured: RequestFigure[] = []
  try {
    for (const protocol of [HTTP1, HTTP2]) {
      await prepareApplied(keelson.target, protocol)
      const ours = { target: keelson.target, pids: [keelson.pid] }
      const add = (name: string, [mine, bare]: readonly Cost[]) =>
        measured.push({ name, protocol: protocol.name, keelson: mine!, ceiling: bare! })
      for (const operation of operationsIn(protocol)) {
        const bare = operation.path === undefined ? writes : reads
        const theirs = { target: bare.at(protocol), pids: [bare.pid], protocol, operation }
        add(operation.name, await costs([{ ...ours, protocol, operation }, theirs], lengths))
      }
      const bare = {
        target: reads.at(protocol),
        pids: [reads.pid],
        watchPath: async () => '/watch',
        write: () => protocol.request('POST', '/', '{}'),
      }
      add(WATCH, await costsOfEvent([watchedAt(ours, protocol), bare], protocol, { rounds: quick ? 1 : 4, writes: 30 }))
    }
    return { costs: measured }
  } finally {
    await Promise.all([keelson, reads, writes].map(server => server.stop()))
  }
}

/** The cost of plain requests over HTTP/1.1, and their cost if node:http answered them (docs/decisions/006-plain-requests.md). */
async function plain(quick: boolean): Promise<Measurements['plain']> {
  const { target, pid, stop } = await startKeelson(newFolder(), NO_CONTROLLERS)
  await prepare(target)
  const lengths: Rounds = quick ? { rounds: 2, requests: 200, warmUp: 1000 } : { rounds: 15, requests: 400, warmUp: 4000 }
  const measured: PlainFigure[] = []
  for (const name of ['GET one object', 'create']) {
    const sent = [HTTP1, HTTP1_STREAMS, HTTP2].map(protocol => {
      const operation = operationsIn(protocol).find(operation => operation.name === name)!
      return { target, pids: [pid], protocol, operation }
    })
    const [direct, streams, http2] = (await costs(sent, lengths)).map(({ mainMicros }) => mainMicros)
    measured.push({ name, direct: direct!, streams: streams!, http2: http2! })
  }
  await stop()
  return { costs: measured }
}

/** Creates with many writers and with one, beside the store doing the same durable commits without anything around it. */
async function store(quick: boolean): Promise<Measurements['store']> {
  const keelson = await startKeelson()
  const [seconds, rounds] = quick ? [0.5, 1] : [1, 3]
  let created = 0
  const request = () => requestBytes('POST', CONFIG_MAPS, configMap(`stored-${++created}`))
  await run(keelson.target, { request, connections: 64, seconds: 60, requests: quick ? 1000 : 6000 })
  const value = await bodyOf(keelson.target, `${CONFIG_MAPS}/stored-1`)
  const creates: StoreFigure[] = []
  for (const writers of [64, 1]) {
    const measured: { ours: number; alone: number }[] = []
    for (let i = 0; i < rounds; i++) {
      const ours = await rateOf(keelson.target, request, { connections: writers, seconds })
      measured.push({ ours, alone: await bareStore(value, { writers, seconds, mode: 'create' }) })
    }
    creates.push({ writers, perSecond: median(measured.map(({ ours }) => ours)), storeAlone: median(measured.map(({ alone }) => alone)) })
  }
  await keelson.stop()
  return { creates }
}

async function rateOf(
  target: Target,
  request: (iteration: number) => Buffer,
  load: { readonly connections: number; readonly seconds: number },
): Promise<number> {
  const { failures, requests: sent, perSecond } = await run(target, { request, ...load })
  if (failures > 0) throw new Error(`${failures} of ${sent} requests failed`)
  return perSecond
}

async function growth(quick: boolean): Promise<Measurements['growth']> {
  const keelson = await startKeelson()
  const sizes: GrowthFigure[] = []
  const seconds = quick ? 0.5 : 1
  let have = 0
  let turn = 0
  for (const size of quick ? [100, 5000] : [100, 10_000, 50_000]) {
    const offset = have
    const fill = (iteration: number) => requestBytes('POST', CONFIG_MAPS, configMap(`cm-${offset + iteration}`, iteration))
    await run(keelson.target, { request: fill, connections: 64, seconds: 600, requests: size - have })
    have = size
    const measure = (request: (iteration: number) => Buffer, connections: number) =>
      rateOf(keelson.target, request, { connections, seconds })
    sizes.push({
      objects: size,
      get: await measure(i => requestBytes('GET', `${CONFIG_MAPS}/cm-${i % size}`), 32),
      page: await measure(() => requestBytes('GET', `${CONFIG_MAPS}?limit=100`), 16),
      create: await measure(() => requestBytes('POST', '/api/v1/namespaces/kube-system/configmaps', configMap(`grow-${++turn}`)), 64),
      patch: await measure(
        i => requestBytes('PATCH', `${CONFIG_MAPS}/cm-${i % size}`, `{"data":{"turn":"g${++turn}"}}`, 'application/merge-patch+json'),
        64,
      ),
      residentMB: residentMB(keelson.pid),
    })
  }
  await keelson.stop()
  return { sizes }
}

const RESET_MS = 20

async function tests(quick: boolean): Promise<Measurements['tests']> {
  const { firstStart, start, close, reset, snapshot, restore, tenReady, tenClosed, mbEach } = await testLibrary(quick)
  const line = (what: string, took: readonly Took[], targetMs?: number): TestFigure => ({
    what,
    ms: median(took.map(({ ms }) => ms)),
    cpuMs: median(took.map(({ cpuMs }) => cpuMs)),
    ...(targetMs !== undefined && { targetMs }),
  })
  const took = [
    line('the first `start` of a process, with the import', firstStart),
    line('a later `start`, controllers and a node included', start),
    line('`close`', close),
    line('`reset` after one config map', reset.little, RESET_MS),
    line('`reset` after a definition, 10 objects of it, 20 config maps, a namespace and a Deployment of 3 pods', reset.typical, RESET_MS),
    line('`reset` after 1,000 config maps', reset.much),
    line('`snapshot` of that Deployment and the rest', snapshot),
    line('`restore` after 20 config maps', restore, RESET_MS),
    line('ten servers in one process, all ready', tenReady),
    line('and all closed', tenClosed),
  ]
  return { took, mbEach }
}

async function workload(quick: boolean): Promise<WorkloadFigures> {
  const { availableMs, getMs, ...rest } = await workloads(quick)
  const getP99Ms = [...getMs].sort((a, b) => a - b)[Math.floor(getMs.length * 0.99)]!
  return { ...rest, availableMs: median(availableMs), getP99Ms }
}

async function etcd(quick: boolean): Promise<EtcdFigures | undefined> {
  const figures = await onEtcd({ quick })
  if (figures === undefined) return undefined
  const writes = figures.writes.map(({ members, writers, rounds }): EtcdWrites => {
    const of = (whose: keyof (typeof rounds)[number]): Measured => ({
      perSecond: median(rounds.map(round => round[whose].perSecond)),
      micros: median(rounds.map(round => round[whose].micros)),
      etcdMicros: median(rounds.map(round => round[whose].etcdMicros)),
    })
    return { members, writers, ours: of('ours'), https: of('https'), alone: of('bare') }
  })
  return { ...figures, writes }
}

async function scales(quick: boolean): Promise<ScaleFigures> {
  const job = quick
    ? { objects: 10_000, watches: 1000, writesPerSecond: 500, seconds: 3 }
    : { objects: 100_000, watches: 5000, writesPerSecond: 500, seconds: 10 }
  const { objects, watches, writesPerSecond } = job
  return { objects, watches, writesPerSecond, ...(await scale(job)) }
}
