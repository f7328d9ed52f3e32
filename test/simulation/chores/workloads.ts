/** Workloads that change: the invariants of `test/workloads` hold at every revision, and in the end everything is settled. */
import type { Step } from '../../workloads/history.ts'
import { brokenIn, unsettledIn } from '../../workloads/invariants.ts'
import { ask, type Chore, eventually, itemsOf, make, objectIn, repeatedly, rest, type Stage } from './chore.ts'

const NAMESPACE = 'workloads'
const CONTROLLERS = ['deployment', 'replicaset', 'statefulset', 'job', 'podgc', 'nodelifecycle', 'serviceaccount', 'scheduler']
const GROUPS = {
  pods: '/api/v1',
  deployments: '/apis/apps/v1',
  replicasets: '/apis/apps/v1',
  statefulsets: '/apis/apps/v1',
  jobs: '/apis/batch/v1',
}
type Plural = keyof typeof GROUPS
const PLURALS = Object.keys(GROUPS) as readonly Plural[]
const MADE: readonly Plural[] = ['deployments', 'statefulsets', 'jobs']
const KEY = new RegExp(`^/[a-z]+/(${PLURALS.join('|')})/${NAMESPACE}/([^/]+)$`)
const MAX_WORKLOADS = 3

const pathOf = (plural: Plural, name = '') => `${GROUPS[plural]}/namespaces/${NAMESPACE}/${plural}${name && `/${name}`}`

export function workloads(): Chore {
  const steps: Step[] = []
  let made = 0
  return {
    name: 'workloads',
    // The invariants are about what controllers make of whatever is stored, however late.
    mayRepeat: true,
    needs: { controllers: CONTROLLERS, nodes: 2 },
    async prepare({ connection, onWrite }) {
      await make(connection, '/api/v1/namespaces', { metadata: { name: NAMESPACE } })
      onWrite(write => {
        const [, resource, name] = KEY.exec(write.key) ?? []
        if (resource === undefined) return
        const object = objectIn(write)
        const type = object ? 'set' : 'deleted'
        steps.push({ revision: write.revision, resource, type, object: object ?? { metadata: { namespace: NAMESPACE, name } } })
      })
    },
    work: stage =>
      repeatedly(stage, 2, async () => {
        const { connection, random } = stage
        const plural = random.pick(MADE)
        const name = `w-${random.below(made + 1)}`
        const choice = random.below(10)
        if (made < MAX_WORKLOADS)
          await ask(connection, { method: 'POST', path: pathOf(plural), body: workloadOf(plural, `w-${made++}`, stage) })
        else if (choice < 4) await change(stage, pathOf(plural, name), { spec: { replicas: random.below(4) } })
        else if (choice < 6)
          await change(stage, pathOf(plural, name), { spec: { template: { metadata: { annotations: { round: `${made++}` } } } } })
        else if (choice < 9) await deletePod(stage)
        else
          await ask(connection, {
            method: 'DELETE',
            path: pathOf(plural, name),
            body: { propagationPolicy: random.pick(['Background', 'Foreground']) },
          })
        await rest(stage, 250)
      }),
    async check(stage) {
      for (const what of brokenIn(steps)) stage.broken(what)
      await eventually(
        stage,
        async () => {
          const lists = await Promise.all(PLURALS.map(async plural => [plural, await itemsOf(stage.connection, pathOf(plural))] as const))
          if (lists.some(([, items]) => !items)) return 'workloads cannot be listed'
          return unsettledIn(Object.fromEntries(lists) as Record<string, any[]>)[0]
        },
        { everyMs: 2_000, withinMs: 90_000 },
      )
    },
  }
}

const change = ({ connection }: Stage, path: string, body: object) =>
  ask(connection, { method: 'PATCH', path, type: 'application/merge-patch+json', body })

async function deletePod({ connection, random }: Stage): Promise<void> {
  const pods = (await itemsOf(connection, pathOf('pods'))) ?? []
  if (pods.length > 0) await ask(connection, { method: 'DELETE', path: pathOf('pods', random.pick(pods).metadata.name) })
}

function workloadOf(plural: Plural, name: string, { random }: Stage): object {
  const labels = { app: name }
  // Some jobs run a command, which decides when they end; a script decides that for the others.
  const runsCommand = plural === 'jobs' && random.oneIn(2)
  const command = runsCommand ? { command: ['sh', '-c', 'echo begins; sleep 0.2; test -n "$HOSTNAME"'] } : {}
  const containers = [{ name: 'main', image: 'example.com/app', ...command }]
  const spec = {
    terminationGracePeriodSeconds: 1,
    automountServiceAccountToken: false,
    containers,
    restartPolicy: plural === 'jobs' ? 'Never' : 'Always',
  }
  const annotations = runsCommand ? {} : { 'sim.keelson.dev/run-time': plural === 'jobs' ? '300ms' : '1h' }
  const template = { metadata: { labels, annotations }, spec }
  if (plural === 'jobs')
    return {
      metadata: { name },
      spec: { completions: 3, parallelism: 2, backoffLimit: 1_000, completionMode: random.pick(['Indexed', 'NonIndexed']), template },
    }
  const more = plural === 'statefulsets' ? { serviceName: name } : {}
  return { metadata: { name }, spec: { replicas: 1 + random.below(3), selector: { matchLabels: labels }, template, ...more } }
}
