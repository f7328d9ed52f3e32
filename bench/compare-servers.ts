/** kube-apiserver with etcd, and Keelson, each alone on the machine and asked the same by the same client. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Cost, costs, costsOfEvent, type Measured, nanosOf, type Rounds } from './cost.ts'
import { type Programs, startKubeApiserver, versionOf } from './kube-apiserver.ts'
import { median } from './numbers.ts'
import { configMap } from './objects.ts'
import { operationsIn, prepare, prepareApplied } from './operations.ts'
import { bodyOf, HTTP1, type Protocol, type Target } from './raw-client.ts'
import { HTTP2 } from './raw-http2.ts'
import { newFolder, type Running, residentMB, startKeelson } from './servers.ts'

/** The time until a server is ready, and the memory of its processes. */
export type Standing = {
  readonly readyMs: number
  /** Processor time of all processes until then. */
  readonly readyCpuMs: number
  /** Resident memory of each process: idle, and after all requests that are measured. */
  readonly idleMB: readonly number[]
  readonly usedMB: readonly number[]
}

export type ComparedCost = {
  readonly name: string
  readonly protocol: Protocol['name']
  readonly keelson: Cost
  readonly kubeApiserver: Cost
}

export type Comparison = {
  readonly versions: { readonly keelson: string; readonly kubeApiserver: string; readonly etcd: string }
  /** Keelson as it is started without flags, with controllers, scheduler and a node; its API server alone; kube-apiserver and etcd. */
  readonly whole: Omit<Standing, 'usedMB'>
  readonly keelson: Standing
  readonly kubeApiserver: Standing
  readonly requests: readonly ComparedCost[]
}

type Subject = Measured & Pick<Running, 'readyMs' | 'stop'>
type Start = () => Promise<Subject>
type Pass = Standing & { readonly costs: readonly { readonly name: string; readonly protocol: Protocol['name']; readonly cost: Cost }[] }

const SETTLED_MS = 3000

export async function compareServers(
  programs: Programs,
  { quick, passes: count, say }: { readonly quick: boolean; readonly passes: number; say(text: string): void },
): Promise<Comparison> {
  // Its certificates serve both.
  const dir = newFolder()
  const first = await startKeelson(dir)
  await first.stop()
  const keelson = (flags: readonly string[]) => async () => oneProcess(await startKeelson(newFolder(), flags))
  const starts = quick ? 1 : 3
  const whole = await standing(keelson([]), starts)
  const passes = { keelson: [] as Pass[], kubeApiserver: [] as Pass[] }
  for (let i = 0; i < count; i++) {
    passes.keelson.push(await pass(keelson(['--controllers=none']), { starts, quick, say: text => say(`Keelson: ${text}`) }))
    const real = () => startKubeApiserver(programs, dir, first.target)
    passes.kubeApiserver.push(await pass(real, { starts, quick, say: text => say(`kube-apiserver and etcd: ${text}`) }))
  }
  const [ours, theirs] = [ofPasses(passes.keelson), ofPasses(passes.kubeApiserver)]
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  return {
    versions: { keelson: version, kubeApiserver: versionOf(programs.kubeApiserver), etcd: versionOf(programs.etcd) },
    whole,
    keelson: standingOf(ours),
    kubeApiserver: standingOf(theirs),
    requests: ours.costs.map(({ name, protocol, cost }, i) => ({ name, protocol, keelson: cost, kubeApiserver: theirs.costs[i]!.cost })),
  }
}

const oneProcess = (server: Running): Subject => ({ ...server, pids: [server.pid] })
const standingOf = ({ readyMs, readyCpuMs, idleMB, usedMB }: Pass): Standing => ({ readyMs, readyCpuMs, idleMB, usedMB })

type Ready = { readonly subject: Subject; readonly readyMs: number; readonly readyCpuMs: number }

/** Starts a server some times and leaves the last one running. */
async function started(start: Start, times: number): Promise<Ready> {
  const ready: { ms: number; cpuMs: number }[] = []
  for (let i = 1; ; i++) {
    const subject = await start()
    ready.push({ ms: subject.readyMs, cpuMs: subject.pids.reduce((sum, pid) => sum + nanosOf(pid).all, 0) / 1e6 })
    if (i === times) return { subject, readyMs: median(ready.map(({ ms }) => ms)), readyCpuMs: median(ready.map(({ cpuMs }) => cpuMs)) }
    await subject.stop()
  }
}

async function standing(start: Start, times: number): Promise<Omit<Standing, 'usedMB'>> {
  const { subject, readyMs, readyCpuMs } = await started(start, times)
  await sleep(SETTLED_MS)
  const idleMB = subject.pids.map(residentMB)
  await subject.stop()
  return { readyMs, readyCpuMs, idleMB }
}

type Passing = { readonly starts: number; readonly quick: boolean; say(text: string): void }

async function pass(start: Start, { starts, quick, say }: Passing): Promise<Pass> {
  const { subject, readyMs, readyCpuMs } = await started(start, starts)
  await sleep(SETTLED_MS)
  const idleMB = subject.pids.map(residentMB)
  say(
    `ready after ${readyMs.toFixed(0)} ms, ${readyCpuMs.toFixed(0)} ms of processor time; ${idleMB.map(mb => mb.toFixed(0)).join(' and ')} MB`,
  )
  const measured: Pass['costs'][number][] = []
  try {
    await prepare(subject.target)
    const lengths: Rounds = quick ? { rounds: 2, requests: 100, warmUp: 300 } : { rounds: 3, requests: 300, warmUp: 1000 }
    for (const protocol of [HTTP1, HTTP2]) {
      await prepareApplied(subject.target, protocol)
      for (const operation of operationsIn(protocol)) {
        const [cost] = await costs([{ ...subject, protocol, operation }], lengths)
        measured.push({ name: operation.name, protocol: protocol.name, cost: cost! })
        say(`${operation.name}, ${protocol.name}: ${cost!.totalMicros.toFixed(0)} µs, ${cost!.perSecond.toFixed(0)}/s`)
      }
      const [cost] = await costsOfEvent([watchedAt(subject, protocol)], protocol, { rounds: 3, writes: 30 })
      measured.push({ name: WATCH, protocol: protocol.name, cost: cost! })
      say(`${WATCH}, ${protocol.name}: ${cost!.totalMicros.toFixed(1)} µs, ${cost!.perSecond.toFixed(0)}/s`)
    }
    return { readyMs, readyCpuMs, idleMB, usedMB: subject.pids.map(residentMB), costs: measured }
  } finally {
    await subject.stop()
  }
}

export const WATCH = 'watch event, 100 watchers'
const WATCHED = '/api/v1/namespaces/kube-public/configmaps'
let written = 0

/** Watches begin at the newest revision, so that every watcher sees the writes and nothing else. */
export const watchedAt = (server: Measured, protocol: Protocol) => ({
  ...server,
  watchPath: async () => `${WATCHED}?watch=true&timeoutSeconds=600&resourceVersion=${await newestRevision(server.target)}`,
  write: () => protocol.request('POST', WATCHED, configMap(`watched-${++written}`)),
})

async function newestRevision(target: Target): Promise<string> {
  const { metadata } = JSON.parse((await bodyOf(target, `${WATCHED}?limit=1`)).toString()) as { metadata: { resourceVersion: string } }
  return metadata.resourceVersion
}

/** The averages of several passes. */
function ofPasses(passes: readonly Pass[]): Pass {
  const mean = (of: (pass: Pass) => number) => average(passes.map(of))
  const memory = (of: (pass: Pass) => readonly number[]) => of(passes[0]!).map((_, i) => mean(pass => of(pass)[i]!))
  return {
    readyMs: mean(pass => pass.readyMs),
    readyCpuMs: mean(pass => pass.readyCpuMs),
    idleMB: memory(pass => pass.idleMB),
    usedMB: memory(pass => pass.usedMB),
    costs: passes[0]!.costs.map(({ name, protocol }, i) => {
      const field = (of: (cost: Cost) => number) => mean(pass => of(pass.costs[i]!.cost))
      const cost = {
        mainMicros: field(cost => cost.mainMicros),
        allMicros: field(cost => cost.allMicros),
        totalMicros: field(cost => cost.totalMicros),
        perSecond: field(cost => cost.perSecond),
      }
      return { name, protocol, cost }
    }),
  }
}

const average = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length
