/** Many simulated nodes and pods in one server: how long they take to settle, and their cost for other clients and when idle. */
import { setTimeout as sleep } from 'node:timers/promises'
import { nanosOf } from './cost.ts'
import { Client } from './json-client.ts'
import { cpuSeconds, newFolder, residentMB, startKeelson } from './servers.ts'
import { deploymentOf } from './workloads.ts'

export type NodesFigures = {
  readonly nodes: number
  readonly pods: number
  /** Seconds until all nodes are ready, and then until all pods are available. */
  readonly readySeconds: number
  readonly settledSeconds: number
  /** Processor time of the whole server for each pod. */
  readonly podMicros: number
  readonly getP50Ms: number
  readonly getP99Ms: number
  readonly residentMB: number
  readonly idleShare: number
}

const PODS_PER_NODE = 30
const PODS_EACH = 100
const IDLE_SECONDS = 60
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
/** Node's own limit is 4 GB, which 150,000 pods come close to. */
const HEAP_MB = 12_000
const COMMAND = [process.execPath, `--max-old-space-size=${HEAP_MB}`, 'bin/keelson.js']

export async function manyNodes(quick: boolean, size?: number): Promise<NodesFigures> {
  const nodes = size ?? (quick ? 50 : 5000)
  const deployments = Math.ceil((nodes * PODS_PER_NODE) / PODS_EACH)
  const pods = deployments * PODS_EACH
  const began = performance.now()
  const server = await startKeelson(newFolder(), ['--nodes', String(nodes), '--quota-backend-bytes', '-1'], COMMAND)
  const [client, other] = [new Client(server.target), new Client(server.target)]
  try {
    await until(async () => (await readyNodes(client)) === nodes)
    const readySeconds = (performance.now() - began) / 1000
    let isSettled = false
    const times: number[] = []
    const reading = (async () => {
      while (!isSettled) {
        const from = performance.now()
        await other.send('GET', '/api/v1/namespaces/default')
        times.push(performance.now() - from)
        await sleep(10)
      }
    })()
    const [start, used] = [performance.now(), nanosOf(server.pid).all]
    for (let i = 0; i < deployments; i++) await client.send('POST', DEPLOYMENTS, deploymentOf(`many-${i}`, PODS_EACH))
    await until(async () => (await availablePods(client)) === pods)
    const settledSeconds = (performance.now() - start) / 1000
    const podMicros = (nanosOf(server.pid).all - used) / pods / 1000
    isSettled = true
    await reading
    await eventsWritten(client)
    await sleep(quick ? 2000 : 30_000)
    const idleSeconds = quick ? 10 : IDLE_SECONDS
    const before = cpuSeconds(server.pid)
    await sleep(idleSeconds * 1000)
    const idleShare = (cpuSeconds(server.pid) - before) / idleSeconds
    times.sort((a, b) => a - b)
    const at = (share: number) => times[Math.floor(times.length * share)] ?? 0
    return {
      ...{ nodes, pods, readySeconds, settledSeconds, podMicros, getP50Ms: at(0.5), getP99Ms: at(0.99) },
      ...{ residentMB: residentMB(server.pid), idleShare },
    }
  } finally {
    client.close()
    other.close()
    await server.stop()
  }
}

const PAUSE_MS = 2000

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(PAUSE_MS)
}

/** Resolves when no more events are written: those of pods that have just settled come last. */
async function eventsWritten(client: Client): Promise<void> {
  let before = -1
  await until(async () => {
    const { items, metadata } = await client.send('GET', '/api/v1/events?limit=1')
    const count = items.length + (metadata.remainingItemCount ?? 0)
    const isSame = count === before
    before = count
    return isSame
  })
}

const readyNodes = async (client: Client): Promise<number> =>
  (await all(client, '/api/v1/nodes')).filter(({ status }) =>
    status.conditions?.some(({ type, status: is }: { type: string; status: string }) => type === 'Ready' && is === 'True'),
  ).length

const availablePods = async (client: Client): Promise<number> =>
  (await all(client, DEPLOYMENTS)).reduce((sum, { status }) => sum + (status.availableReplicas ?? 0), 0)

/** All objects, in pages: a long list would be part of the measurement. */
async function all(client: Client, path: string): Promise<any[]> {
  const items: any[] = []
  for (let token = ''; ; ) {
    const page = await client.send('GET', `${path}?limit=500${token && `&continue=${encodeURIComponent(token)}`}`)
    items.push(...page.items)
    token = page.metadata.continue ?? ''
    if (!token) return items
  }
}
