/** Keelson on etcd: writes beside the bare client, and a start with many objects. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { kubernetesFormat } from '../src/etcd-format/kubernetes-format.ts'
import { builtinKinds } from '../src/kinds/all.ts'
import { Catalog } from '../src/registry/catalog.ts'
import { resourcesOf } from '../src/schema/resource.ts'
import { openEtcdStore } from '../src/storage/etcd/etcd.ts'
import { startEtcd } from '../test/kits/etcd.ts'
import { programsNamed } from '../test/programs.ts'
import { configMap } from './objects.ts'
import { requestBytes, run } from './raw-client.ts'
import { cpuSeconds, newFolder, startKeelson } from './servers.ts'

export type EtcdFigures = {
  /** Creates a second through Keelson and of the client alone, one pair for each round; processor time of each in microseconds. */
  readonly rounds: readonly { readonly ours: number; readonly bare: number; readonly oursMicros: number; readonly bareMicros: number }[]
  /** How long a start took with so many objects; milliseconds. */
  readonly load: { readonly objects: number; readonly ms: number }
}

const NS = '/api/v1/namespaces/default/configmaps'
const WRITERS = 64

/** Nothing where there is no etcd. */
export async function onEtcd({ quick }: { readonly quick: boolean }): Promise<EtcdFigures | undefined> {
  const [program] = programsNamed('etcd')
  if (program === undefined) return undefined
  const folder = newFolder()
  const etcd = await startEtcd({ program, folder, isDurable: true })
  const [endpoint] = etcd.endpoints as [string]
  const flags = ['--store', 'etcd', '--etcd-servers', endpoint]
  try {
    const seconds = quick ? 2 : 5
    const keelson = await startKeelson(newFolder(), flags)
    const rounds = []
    let created = 0
    const create = () => requestBytes('POST', NS, configMap(`new-${++created}`))
    const value = join(folder, 'value')
    writeFileSync(value, configMap('new-1'))
    await run(keelson.target, { request: create, connections: WRITERS, seconds: 1 })
    for (let i = 0; i < (quick ? 1 : 3); i++) {
      const before = cpuSeconds(keelson.pid)
      const { perSecond, requests, failures } = await run(keelson.target, { request: create, connections: WRITERS, seconds })
      if (failures > 0) throw new Error(`${failures} of ${requests} creates failed`)
      const oursMicros = ((cpuSeconds(keelson.pid) - before) * 1e6) / requests
      const bare = await bareEtcd(endpoint, value, seconds)
      rounds.push({ ours: perSecond, oursMicros, bare: bare.perSecond, bareMicros: bare.micros })
    }
    await keelson.stop()
    return { rounds, load: await load(endpoint, flags, quick ? 10_000 : 100_000) }
  } finally {
    await etcd[Symbol.asyncDispose]()
  }
}

async function bareEtcd(endpoint: string, value: string, seconds: number): Promise<{ perSecond: number; micros: number }> {
  const args = ['--import', 'tsx', 'bench/bare-etcd.ts', endpoint, value, `${WRITERS}`, `${seconds}`]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  for await (const chunk of child.stdout!) text += chunk
  const [perSecond, micros] = text.split(' ').map(Number)
  return { perSecond: perSecond!, micros: micros! }
}

/** Fills the cluster with objects as they are stored, and starts a server on it. */
async function load(endpoint: string, flags: readonly string[], objects: number): Promise<EtcdFigures['load']> {
  const catalog = new Catalog(resourcesOf(builtinKinds, 'k8s.io'))
  const format = kubernetesFormat({ resources: catalog.storedResources(), groupDomain: 'k8s.io', now: () => new Date() })
  const store = await openEtcdStore({ endpoints: [endpoint], prefix: '/registry', format })
  let next = 0
  const write = async () => {
    for (let i = next++; i < objects; i = next++) {
      const object = JSON.parse(configMap(`loaded-${i}`, i))
      object.metadata = { ...object.metadata, namespace: 'default', uid: `${i}`, creationTimestamp: '2026-01-01T00:00:00Z' }
      await store.swap(`/core/configmaps/default/loaded-${i}`, { expect: 0, value: Buffer.from(JSON.stringify(object)), object })
    }
  }
  await Promise.all(Array.from({ length: WRITERS }, write))
  await store.compact(await store.fresh())
  await store.close()
  const keelson = await startKeelson(newFolder(), flags)
  await keelson.stop()
  return { objects, ms: keelson.readyMs }
}
