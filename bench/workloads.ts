/** Workloads: how fast deployments become available, their cost for other clients meanwhile, and the cost of idle controllers. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from './json-client.ts'
import { cpuSeconds, newFolder, residentMB, startKeelson } from './servers.ts'

export type Workloads = {
  /** Milliseconds from the request to create a Deployment of three pods until it is available. */
  readonly availableMs: readonly number[]
  readonly deployments: number
  readonly pods: number
  readonly settledSeconds: number
  /** The time of another client's GET meanwhile, in milliseconds. */
  readonly getMs: readonly number[]
  /** Share of a core and memory of a server without work. */
  readonly idleShare: number
  readonly idleMB: number
}

const PATH = '/apis/apps/v1/namespaces/default/deployments'
const PODS_EACH = 10
const IDLE_SECONDS = 10

export async function workloads(quick: boolean): Promise<Workloads> {
  const { share: idleShare, mb: idleMB } = await idle(quick ? 5 : IDLE_SECONDS)
  const server = await startKeelson(newFolder(), ['--nodes', '5', '--node-capacity', 'pods=1000'])
  const client = new Client(server.target)
  try {
    const availableMs: number[] = []
    for (let i = 0; i < (quick ? 4 : 12); i++) availableMs.push(await timeToAvailable(client, `single-${i}`))
    const deployments = quick ? 20 : 100
    const began = performance.now()
    let isSettled = false
    const getMs: number[] = []
    const other = new Client(server.target)
    const reading = (async () => {
      while (!isSettled) {
        const from = performance.now()
        await other.send('GET', '/api/v1/namespaces/default/configmaps/kube-root-ca.crt')
        getMs.push(performance.now() - from)
        await sleep(5)
      }
    })()
    await Promise.all(Array.from({ length: deployments }, (_, i) => client.send('POST', PATH, deploymentOf(`many-${i}`, PODS_EACH))))
    for (;;) {
      const { items } = await client.send('GET', `${PATH}?labelSelector=bench%3Dmany`)
      if (items.length === deployments && items.every(({ status }: any) => status.availableReplicas === PODS_EACH)) break
      await sleep(100)
    }
    const settledSeconds = (performance.now() - began) / 1000
    isSettled = true
    await reading
    other.close()
    // The first ones are of a server that still compiles what it runs.
    const warm = availableMs.slice(Math.floor(availableMs.length / 3))
    return { availableMs: warm, deployments, pods: deployments * PODS_EACH, settledSeconds, getMs, idleShare, idleMB }
  } finally {
    client.close()
    await server.stop()
  }
}

/** The resource usage of an idle server with all controllers and a node, beside one without them. */
async function idle(seconds: number): Promise<{ readonly share: number; readonly mb: number }> {
  const [full, bare] = [await startKeelson(), await startKeelson(newFolder(), ['--controllers=none'])]
  await sleep(3000)
  const before = [cpuSeconds(full.pid), cpuSeconds(bare.pid)] as const
  await sleep(seconds * 1000)
  const share = (cpuSeconds(full.pid) - before[0] - (cpuSeconds(bare.pid) - before[1])) / seconds
  const mb = residentMB(full.pid) - residentMB(bare.pid)
  await Promise.all([full.stop(), bare.stop()])
  return { share, mb }
}

async function timeToAvailable(client: Client, name: string): Promise<number> {
  const began = performance.now()
  const { metadata } = await client.send('POST', PATH, deploymentOf(name, 3))
  const query = `watch=true&fieldSelector=metadata.name%3D${name}&resourceVersion=${metadata.resourceVersion}`
  await client.watch(`${PATH}?${query}`, ({ object }) => object.status.availableReplicas === 3)
  return performance.now() - began
}

export const deploymentOf = (name: string, replicas: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, labels: { bench: name.split('-')[0] } },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image: 'registry.example.com/app:1' }] } },
  },
})
