/** Changes workloads at random, as users and failures do. The same seed makes the same changes. */
import { Agent } from 'node:https'
import { randomFrom } from '../../src/lib/random.ts'
import { FAILURE_ANNOTATION } from '../../src/nodes/node/simulated-node.ts'
import { ask, type Target } from '../kit.ts'
import { RESOURCES, type ResourceName } from './history.ts'

const NAMESPACE = 'default'
const template = (app: string, restartPolicy = 'Always') => ({
  metadata: { labels: { app }, annotations: { round: '0' } },
  spec: { terminationGracePeriodSeconds: 1, restartPolicy, containers: [{ name: 'main', image: 'example.com/app' }] },
})
const selector = (app: string) => ({ matchLabels: { app } })

const MADE: Record<string, (app: string, pick: (most: number) => number) => object> = {
  deployments: (app, pick) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: app },
    spec: {
      replicas: 1 + pick(6),
      selector: selector(app),
      template: template(app),
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: pick(2) + 1, maxUnavailable: pick(2) } },
    },
  }),
  statefulsets: (app, pick) => ({
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: app },
    spec: {
      replicas: 1 + pick(4),
      serviceName: app,
      podManagementPolicy: pick(3) === 0 ? 'Parallel' : 'OrderedReady',
      selector: selector(app),
      template: template(app),
    },
  }),
  daemonsets: app => ({
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: app },
    spec: { selector: selector(app), template: template(app) },
  }),
  jobs: (app, pick) => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: app },
    spec: {
      completions: 1 + pick(5),
      parallelism: 1 + pick(3),
      backoffLimit: 1000,
      ...(pick(2) === 0 && { completionMode: 'Indexed' }),
      template: {
        ...template(app, 'Never'),
        metadata: { labels: { app }, annotations: { 'sim.keelson.dev/run-time': `${100 + pick(400)}ms` } },
      },
    },
  }),
  poddisruptionbudgets: (app, pick) => ({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: app },
    spec: { minAvailable: 1 + pick(2), selector: selector(app) },
  }),
}

const pathOf = (resource: string, name = '') => {
  const [prefix] = RESOURCES[resource as ResourceName].split(`/${resource}`)
  return `${prefix}/namespaces/${NAMESPACE}/${resource}${name && `/${name}`}`
}

/** The statuses that a user has to expect. */
const EXPECTED = [200, 201, 202, 404, 409, 422, 429]

export class Driver {
  readonly #random: () => number
  readonly #agent = new Agent({ keepAlive: true })
  #target: Pick<Target, 'url' | 'credentials'>
  #made = 0
  readonly counts: Record<string, number> = {}

  constructor(target: Pick<Target, 'url' | 'credentials'>, seed: number) {
    this.#target = target
    this.#random = randomFrom(seed)
  }

  useTarget(target: Pick<Target, 'url' | 'credentials'>): void {
    this.#target = target
  }

  close(): void {
    this.#agent.destroy()
  }

  pick = (most: number): number => Math.floor(this.#random() * most)

  async list(resource: ResourceName): Promise<any[]> {
    const { json } = await ask(this.#target, RESOURCES[resource], { agent: this.#agent })
    return json.items
  }

  async #send(what: string, path: string, sent: Parameters<typeof ask>[2]): Promise<void> {
    const { status, text } = await ask(this.#target, path, { agent: this.#agent, ...sent })
    if (!EXPECTED.includes(status)) throw new Error(`${what} ${path} was answered with ${status}: ${text}`)
    this.counts[what] = (this.counts[what] ?? 0) + 1
  }

  readonly #patch = (what: string, path: string, body: object) =>
    this.#send(what, path, { method: 'PATCH', body, headers: { 'content-type': 'application/merge-patch+json' } })

  /** One change at random. */
  async step(): Promise<void> {
    const choice = this.pick(100)
    if (choice < 20) return this.#create()
    if (choice < 40) return this.#scale()
    if (choice < 55) return this.#changeTemplate()
    if (choice < 65) return this.#evict()
    if (choice < 75) return this.#deletePod()
    if (choice < 82) return this.#label()
    if (choice < 88) return this.#cordon()
    if (choice < 91) return this.#failNode()
    return this.#remove()
  }

  async #create(): Promise<void> {
    const kinds = Object.keys(MADE)
    const kind = kinds[this.pick(kinds.length)]!
    const budgeted = kind === 'poddisruptionbudgets' ? await this.#one('deployments', 'statefulsets') : undefined
    if (kind === 'poddisruptionbudgets' && !budgeted) return
    const app = budgeted?.object.metadata.name ?? `w${this.#made++}`
    await this.#send(`create ${kind}`, pathOf(kind), { method: 'POST', body: MADE[kind]!(app, this.pick) })
  }

  async #one(...resources: ResourceName[]): Promise<{ readonly resource: ResourceName; readonly object: any } | undefined> {
    const resource = resources[this.pick(resources.length)]!
    const objects = (await this.list(resource)).filter(({ metadata }) => metadata.namespace === NAMESPACE || resource === 'nodes')
    return objects.length > 0 ? { resource, object: objects[this.pick(objects.length)] } : undefined
  }

  async #scale(): Promise<void> {
    const found = await this.#one('deployments', 'statefulsets')
    if (!found) return
    const path = `${pathOf(found.resource, found.object.metadata.name)}/scale`
    await this.#patch('scale', path, { spec: { replicas: this.pick(8) } })
  }

  async #changeTemplate(): Promise<void> {
    const found = await this.#one('deployments', 'statefulsets', 'daemonsets')
    if (!found) return
    const annotations = { round: String(this.pick(1000)) }
    await this.#patch('roll out', pathOf(found.resource, found.object.metadata.name), { spec: { template: { metadata: { annotations } } } })
  }

  async #evict(): Promise<void> {
    const found = await this.#one('pods')
    if (!found) return
    const { name, namespace } = found.object.metadata
    const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } }
    await this.#send('evict', `${pathOf('pods', name)}/eviction`, { method: 'POST', body })
  }

  async #deletePod(): Promise<void> {
    const found = await this.#one('pods')
    if (found) await this.#send('delete pod', pathOf('pods', found.object.metadata.name), { method: 'DELETE' })
  }

  /** A concurrent write of the same object, so that controllers meet conflicts. */
  async #label(): Promise<void> {
    const found = await this.#one('deployments', 'replicasets', 'statefulsets', 'daemonsets', 'jobs', 'pods')
    if (!found) return
    const labels = { touched: String(this.pick(1000)) }
    await this.#patch('label', pathOf(found.resource, found.object.metadata.name), { metadata: { labels } })
  }

  async #cordon(): Promise<void> {
    const found = await this.#one('nodes')
    if (!found) return
    const unschedulable = this.pick(2) === 0 ? true : null
    await this.#patch('cordon', `/api/v1/nodes/${found.object.metadata.name}`, { spec: { unschedulable } })
  }

  /** The kubelet of a node stops sending heartbeats, or starts again. */
  async #failNode(): Promise<void> {
    const found = await this.#one('nodes')
    if (!found) return
    const { name, annotations } = found.object.metadata
    const failure = annotations?.[FAILURE_ANNOTATION] ? null : 'true'
    await this.#patch(failure ? 'fail node' : 'recover node', `/api/v1/nodes/${name}`, {
      metadata: { annotations: { [FAILURE_ANNOTATION]: failure } },
    })
  }

  async #remove(): Promise<void> {
    const found = await this.#one('deployments', 'statefulsets', 'daemonsets', 'jobs')
    if (!found) return
    const propagationPolicy = ['Background', 'Foreground'][this.pick(2)]
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy }
    await this.#send('remove', pathOf(found.resource, found.object.metadata.name), { method: 'DELETE', body })
  }

  /** Ends all failures: all nodes are alive and accept pods again. */
  async calm(): Promise<void> {
    for (const { metadata } of await this.list('nodes'))
      await this.#patch('calm', `/api/v1/nodes/${metadata.name}`, {
        metadata: { annotations: { [FAILURE_ANNOTATION]: null } },
        spec: { unschedulable: null },
      })
  }
}
