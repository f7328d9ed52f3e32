/**
 * The scheduler: pods a second from the first request to create one until the last is seen bound, by the workloads of upstream's
 * scheduler_perf. The whole server takes part: it also stores the pods, their bindings and the events about these.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { nanosOf } from './cost.ts'
import { Client } from './json-client.ts'
import { requestBytes, run, type Target } from './raw-client.ts'
import {
  allocationOf,
  CLAIM_SPEC,
  NAMESPACES,
  nodeOf,
  type SchedulerWorkload,
  sliceOf,
  type Template,
  WORKLOADS,
} from './scheduler-workloads.ts'
import { newFolder, startKeelson } from './servers.ts'

export type SchedulerFigure = Pick<SchedulerWorkload, 'name' | 'nodes' | 'before' | 'pods' | 'threshold'> & {
  readonly perSecond: number
  /** Processor time of the whole server for each pod, of its main thread and of all threads. */
  readonly mainMicros: number
  readonly allMicros: number
}

/** As upstream starts its server and its scheduler, without other controllers but the one that makes claims. */
const FLAGS = [
  ...['--nodes', '0', '--controllers', 'scheduler,resourceclaim-controller'],
  ...['--disable-admission-plugins', 'ServiceAccount,TaintNodesByCondition,Priority'],
]
const WRITERS = 30
const CHURN_MS = 200
const CHURN_NAMESPACE = 'churn'
const [BEFORE, MEASURED] = NAMESPACES

/** The best figure of so many rounds counts: others on the machine may make a round slower, but never faster. */
const ROUNDS = 3

/** All workloads; or those whose names contain a text, beside the earlier figures of the others. */
export async function schedulerFigures(
  quick: boolean,
  { only, earlier = [] }: { readonly only?: string; readonly earlier?: readonly SchedulerFigure[] },
): Promise<readonly SchedulerFigure[]> {
  const chosen = WORKLOADS.filter(({ name, isQuick }) => (only === undefined ? !quick || isQuick : name.includes(only)))
  const best = new Map(only === undefined ? [] : earlier.filter(({ name }) => !name.includes(only)).map(each => [each.name, each]))
  for (let round = 0; round < (quick ? 1 : ROUNDS); round++)
    for (const workload of chosen) {
      const figure = await measure(workload)
      const { name, perSecond, mainMicros } = figure
      if (perSecond > (best.get(name)?.perSecond ?? 0)) best.set(name, figure)
      process.stderr.write(`${name}: ${perSecond.toFixed(0)} pods/s, ${mainMicros.toFixed(0)} µs of the main thread for each\n`)
    }
  return WORKLOADS.flatMap(({ name }) => best.get(name) ?? [])
}

async function measure(workload: SchedulerWorkload): Promise<SchedulerFigure> {
  const { name, nodes, before, podBefore, pods, pod, threshold, churn } = workload
  const server = await startKeelson(newFolder(), FLAGS)
  const client = new Client(server.target)
  try {
    await prepare(server.target, client, workload)
    await schedule(server.target, client, { namespace: BEFORE, pods: before, pod: podBefore ?? pod })
    const churning = churn && startChurn(client, churn)
    const used = nanosOf(server.pid)
    const seconds = await schedule(server.target, client, { namespace: MEASURED, pods, pod })
    const now = nanosOf(server.pid)
    await churning?.()
    const perPod = (end: number, start: number) => (end - start) / pods / 1000
    return {
      ...{ name, nodes, before, pods, ...(threshold !== undefined && { threshold }) },
      ...{ perSecond: pods / seconds, mainMicros: perPod(now.main, used.main), allMicros: perPod(now.all, used.all) },
    }
  } finally {
    client.close()
    await server.stop()
  }
}

/** Nodes, namespaces, devices and claims that are in use. */
async function prepare(target: Target, client: Client, { nodes, zones, devices }: SchedulerWorkload): Promise<void> {
  for (const name of [...NAMESPACES, CHURN_NAMESPACE]) await client.send('POST', '/api/v1/namespaces', { metadata: { name } })
  await create(target, '/api/v1/nodes', nodes, index => nodeOf(index, zones))
  if (!devices) return
  const { classes, claimsBefore, template } = devices
  const group = '/apis/resource.k8s.io/v1'
  const claims = `${group}/namespaces/${BEFORE}/resourceclaims`
  await create(target, `${group}/resourceslices`, nodes, sliceOf)
  for (const each of classes) await client.send('POST', `${group}/deviceclasses`, each)
  if (template) await client.send('POST', `${group}/namespaces/${MEASURED}/resourceclaimtemplates`, template)
  const claim: Template = index => ({ kind: 'ResourceClaim', metadata: { name: `test-claim-${index}` }, spec: CLAIM_SPEC })
  await create(target, claims, claimsBefore, claim)
  const allocate = (index: number) => {
    const body = JSON.stringify({ status: { allocation: allocationOf(index, nodes) } })
    return requestBytes('PATCH', `${claims}/test-claim-${index}/status`, body, 'application/merge-patch+json')
  }
  await send(target, claimsBefore, allocate)
}

const create = (target: Target, path: string, count: number, template: Template): Promise<void> =>
  send(target, count, index => requestBytes('POST', path, JSON.stringify(template(index))))

async function send(target: Target, count: number, request: (index: number) => Buffer): Promise<void> {
  const { failures } = await run(target, { request, connections: WRITERS, seconds: 3600, requests: count })
  if (failures > 0) throw new Error(`${failures} of ${count} requests failed`)
}

type Job = { readonly namespace: string; readonly pods: number; readonly pod: Template }

/** Creates pods and resolves to the seconds until all are bound. */
async function schedule(target: Target, client: Client, { namespace, pods, pod }: Job): Promise<number> {
  if (pods === 0) return 0
  const path = `/api/v1/namespaces/${namespace}/pods`
  let onAll = () => {}
  const all = new Promise<void>(resolve => (onAll = resolve))
  const watch = await client.countAdded(`${path}?watch=true&fieldSelector=spec.nodeName!%3D`, bound => bound === pods && onAll())
  const began = performance.now()
  await create(target, path, pods, pod)
  await all
  watch.close()
  return (performance.now() - began) / 1000
}

/** Creates a pod now and then until it is told to stop. */
function startChurn(client: Client, template: Template): () => Promise<void> {
  let isOver = false
  const churning = (async () => {
    while (!isOver) {
      await client.send('POST', `/api/v1/namespaces/${CHURN_NAMESPACE}/pods`, template(0))
      await sleep(CHURN_MS)
    }
  })()
  return () => {
    isOver = true
    return churning
  }
}
