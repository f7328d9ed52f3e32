/** Keelson on etcd: writes beside the bare client, reads beside the embedded store, and a start with many objects. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { get } from 'node:https'
import { join } from 'node:path'
import { kubernetesFormat } from '../src/etcd-format/kubernetes-format.ts'
import { builtinKinds } from '../src/kinds/all.ts'
import { Catalog } from '../src/registry/catalog.ts'
import { resourcesOf } from '../src/schema/resource.ts'
import { openEtcdStore } from '../src/storage/etcd/etcd.ts'
import { startEtcd } from '../test/kits/etcd.ts'
import { programsNamed } from '../test/programs.ts'
import { configMap } from './objects.ts'
import { HTTP1, type Load, requestBytes, run } from './raw-client.ts'
import { cpuSeconds, newFolder, type Running, startBareWrites, startKeelson } from './servers.ts'

/** The figures of one server, or of the client alone: operations per second, and processor time of one, in microseconds. */
export type Measured = { readonly perSecond: number; readonly micros: number; readonly etcdMicros: number }
export type WriteFigures = {
  readonly members: number
  readonly writers: number
  /** Creates through Keelson; through a bare HTTPS server that makes one transaction for each; and the transactions alone. */
  readonly rounds: readonly { readonly ours: Measured; readonly https: Measured; readonly bare: Measured }[]
}
export type ReadFigures = {
  readonly onEtcd: Measured
  readonly embedded: Measured
  /** How many questions of how fresh the cache is were asked for one read. */
  readonly questions: number
}
export type EtcdFigures = {
  readonly writes: readonly WriteFigures[]
  /** GETs of one object, by connections. */
  readonly reads: readonly (ReadFigures & { readonly connections: number })[]
  /** How long a start took with so many objects; milliseconds. */
  readonly load: { readonly objects: number; readonly ms: number }
}

const NS = '/api/v1/namespaces/default/configmaps'
type Server = Pick<Running, 'target' | 'pid'>
/** Iterations before counting: until then code is interpreted, and most of its time goes into compiling it. */
const WARM_UP = 4_000

/** Nothing where there is no etcd. */
export async function onEtcd({ quick }: { readonly quick: boolean }): Promise<EtcdFigures | undefined> {
  const [program] = programsNamed('etcd')
  if (program === undefined) return undefined
  const dir = newFolder()
  const embedded = { ...(await startKeelson(dir)), dir }
  const lengths = { seconds: quick ? 1 : 2, rounds: quick ? 1 : 3 }
  const three = await onMembers({ program, members: 3 }, bench => writesOn({ ...bench, ...lengths }, embedded))
  return onMembers({ program, members: 1 }, async members => {
    const bench = { ...members, ...lengths }
    const writes = await writesOn(bench, embedded)
    const keelson = await startKeelson(newFolder(), flagsFor(bench))
    const reads = []
    for (const connections of [1, 64]) reads.push({ connections, ...(await readsOf({ ...bench, keelson, embedded }, connections)) })
    await embedded.stop()
    await keelson.stop()
    return { writes: [...writes, ...three], reads, load: await load(bench, quick ? 10_000 : 100_000) }
  })
}

/** A cluster that is running. */
type Members = { readonly endpoints: readonly string[]; readonly pids: readonly number[] }
type Bench = Members & { readonly seconds: number; readonly rounds: number }

const flagsFor = ({ endpoints }: Members) => ['--store', 'etcd', '--etcd-servers', endpoints.join(',')]

async function onMembers<T>(
  { program, members }: { readonly program: string; readonly members: number },
  measure: (members: Members) => Promise<T>,
): Promise<T> {
  const etcd = await startEtcd({ program, members, folder: newFolder(), isDurable: true })
  try {
    return await measure({ endpoints: etcd.endpoints, pids: etcd.members.map(({ pid }) => pid) })
  } finally {
    await etcd[Symbol.asyncDispose]()
  }
}

/** The bare server has the certificate of the embedded one. */
async function writesOn(bench: Bench, embedded: Running & { readonly dir: string }): Promise<WriteFigures[]> {
  const keelson = await startKeelson(newFolder(), flagsFor(bench))
  const bare = await startBareWrites(embedded.dir, embedded.target, bench.endpoints.join(','))
  const https = { pid: bare.pid, target: bare.at(HTTP1) }
  const writes = [await writesOf({ ...bench, keelson, https }, 64), await writesOf({ ...bench, keelson, https }, 1)]
  await bare.stop()
  await keelson.stop()
  return writes
}

async function writesOf(
  { keelson, https, ...bench }: Bench & { readonly keelson: Server; readonly https: Server },
  writers: number,
): Promise<WriteFigures> {
  let created = 0
  const create = () => requestBytes('POST', NS, configMap(`new-${writers}-${++created}`))
  for (const { target } of [keelson, https]) await run(target, { request: create, connections: 64, seconds: 60, requests: WARM_UP })
  const value = join(newFolder(), 'value')
  writeFileSync(value, configMap('new-1'))
  const rounds = []
  for (let i = 0; i < bench.rounds; i++) {
    const ours = await served(bench, keelson, { request: create, connections: writers })
    const through = await served(bench, https, { request: create, connections: writers })
    rounds.push({ ours, https: through, bare: await bareEtcd(bench, value, writers) })
  }
  return { members: bench.endpoints.length, writers, rounds }
}

/** One object, read over and over: from the cache, once it is known to be fresh. */
async function readsOf(
  { keelson, embedded, ...bench }: Bench & { readonly keelson: Server; readonly embedded: Server },
  connections: number,
): Promise<ReadFigures> {
  const name = `read-${connections}`
  for (const { target } of [keelson, embedded])
    await run(target, { request: () => requestBytes('POST', NS, configMap(name)), connections: 1, seconds: 60, requests: 1 })
  const get = requestBytes('GET', `${NS}/${name}`)
  const load = { request: () => get, connections }
  for (const { target } of [keelson, embedded]) await run(target, { ...load, seconds: 60, requests: WARM_UP })
  const before = await questionsAsked(keelson)
  const onEtcd = await served(bench, keelson, load)
  const questions = ((await questionsAsked(keelson)) - before) / onEtcd.requests
  return { onEtcd, embedded: await served(bench, embedded, load), questions }
}

/** How many reads the store was asked for. */
async function questionsAsked({ target: { host, port, ca, cert, key } }: Server): Promise<number> {
  const request = get({ host, port, ca, cert, key, servername: 'localhost', path: '/metrics', agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response) text += chunk
  return Number(/^etcd_request_duration_seconds_count\{operation="get".*\} (\d+)$/m.exec(text)?.[1] ?? 0)
}

const cpuOf = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0)

async function served(
  { pids, seconds }: Bench,
  { target, pid }: Server,
  load: Pick<Load, 'request' | 'connections'>,
): Promise<Measured & { readonly requests: number }> {
  const [before, etcdBefore] = [cpuSeconds(pid), cpuOf(pids)]
  const { perSecond, requests, failures } = await run(target, { ...load, seconds })
  if (failures > 0) throw new Error(`${failures} of ${requests} requests failed`)
  const each = (seconds: number) => (seconds * 1e6) / requests
  return { perSecond, requests, micros: each(cpuSeconds(pid) - before), etcdMicros: each(cpuOf(pids) - etcdBefore) }
}

async function bareEtcd({ endpoints, pids, seconds }: Bench, value: string, writers: number): Promise<Measured> {
  const numbers = [writers, seconds, WARM_UP].map(String)
  const args = ['--import', 'tsx', 'bench/bare-etcd.ts', endpoints.join(','), value, ...numbers, pids.join(',')]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  for await (const chunk of child.stdout!) text += chunk
  const [perSecond, micros, etcdMicros] = text.split(' ').map(Number)
  return { perSecond: perSecond!, micros: micros!, etcdMicros: etcdMicros! }
}

/** Fills the cluster with objects as they are stored, and starts a server on it. */
async function load(members: Members, objects: number): Promise<EtcdFigures['load']> {
  const catalog = new Catalog(resourcesOf(builtinKinds, 'k8s.io'))
  const format = kubernetesFormat({ resources: catalog.storedResources(), groupDomain: 'k8s.io', now: () => new Date() })
  const store = await openEtcdStore({ endpoints: members.endpoints, prefix: '/registry', format })
  let next = 0
  const write = async () => {
    for (let i = next++; i < objects; i = next++) {
      const object = JSON.parse(configMap(`loaded-${i}`, i))
      object.metadata = { ...object.metadata, namespace: 'default', uid: `${i}`, creationTimestamp: '2026-01-01T00:00:00Z' }
      await store.swap(`/core/configmaps/default/loaded-${i}`, { expect: 0, value: Buffer.from(JSON.stringify(object)), object })
    }
  }
  await Promise.all(Array.from({ length: 64 }, write))
  await store.compact(await store.fresh())
  await store.close()
  const keelson = await startKeelson(newFolder(), flagsFor(members))
  await keelson.stop()
  return { objects, ms: keelson.readyMs }
}
