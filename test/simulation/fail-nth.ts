/**
 * Fails the Nth call of the store, for every N: a scenario runs with its first call failing, then with the second, and so on until it
 * passes without a fault. The client tries again; afterwards everything must be as if nothing had happened.
 */

import type { MemoryStore } from '../../src/storage/memory.ts'
import type { Connection } from '../robustness/connection.ts'
import { ask, insist, itemsOf, make, type Needs } from './chores/chore.ts'
import { Database, type Fate } from './database.ts'
import { imageOf } from './image.ts'
import { Network } from './network.ts'
import { SimulatedServer } from './server.ts'
import { Process, World } from './world.ts'

export type Scenario = {
  readonly name: string
  readonly needs?: Needs & { readonly historyMs?: number }
  readonly prepare?: (connection: Connection) => Promise<void>
  /** Requests that are repeated until they have an outcome. */
  readonly run: (connection: Connection, store: StoreContent) => Promise<void>
  /** The problem that is left, if any, once the server had time to finish its work. */
  readonly problem: (connection: Connection, store: StoreContent) => Promise<string | undefined>
}

/** The content of the store, whatever servers show, and its revisions. */
export type StoreContent = Pick<MemoryStore, 'list' | 'extent'>

const IN_TESTED = '/api/v1/namespaces/tested'
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const GADGETS = '/apis/nth.example.com/v1/namespaces/tested/gadgets'
export const makeNamespace = async (connection: Connection) =>
  void (await make(connection, '/api/v1/namespaces', { metadata: { name: 'tested' } }))

/** Asks for an object until it has the status. */
export async function reached(connection: Connection, path: string, status: number): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if ((await ask(connection, { method: 'GET', path }))?.status === status) return
    await insist(connection, { method: 'GET', path: '/version' })
  }
  throw new Error(`${path} is never answered with ${status}`)
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'a service with a quota and an address',
    async prepare(connection) {
      await makeNamespace(connection)
      const spec = { hard: { services: '2' } }
      await make(connection, `${IN_TESTED}/resourcequotas`, { metadata: { name: 'few' }, spec })
      await reached(connection, `${IN_TESTED}/resourcequotas/few`, 200)
    },
    async run(connection) {
      const body = (name: string) => ({ metadata: { name }, spec: { type: 'NodePort', ports: [{ port: 80 }] } })
      for (const name of ['a', 'b']) await insist(connection, { method: 'POST', path: `${IN_TESTED}/services`, body: body(name) })
      await insist(connection, { method: 'DELETE', path: `${IN_TESTED}/services/a` })
      await insist(connection, { method: 'POST', path: `${IN_TESTED}/services`, body: body('c') })
    },
    async problem(connection) {
      const items = (await itemsOf(connection, '/api/v1/services')) ?? []
      const own = items.filter(({ metadata }) => metadata.namespace === 'tested')
      const given = items.flatMap(({ spec }) => [...spec.clusterIPs, ...spec.ports.flatMap((port: any) => port.nodePort ?? [])])
      if (new Set(given).size !== given.length) return `an address is given twice: ${given.join(', ')}`
      if (own.length > 2) return `a quota of two services has ${own.length}`
      const { json } = await insist(connection, { method: 'GET', path: `${IN_TESTED}/resourcequotas/few` })
      const used = Number(json.status?.used?.services)
      return used === own.length ? undefined : `the quota says ${used} services are used, and there are ${own.length}`
    },
  },
  {
    name: 'apply by two managers',
    prepare: makeNamespace,
    async run(connection) {
      for (const [manager, value] of [
        ['one', '1'],
        ['two', '2'],
        ['one', '3'],
      ] as const) {
        const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'shared' }, data: { [manager]: value } }
        const path = `${IN_TESTED}/configmaps/shared?fieldManager=${manager}`
        await insist(connection, { method: 'PATCH', path, type: 'application/apply-patch+yaml', body })
      }
    },
    async problem(connection) {
      const { json } = await insist(connection, { method: 'GET', path: `${IN_TESTED}/configmaps/shared` })
      const managers = json.metadata.managedFields.map(({ manager }: any) => manager).sort()
      if (json.data.one !== '3' || json.data.two !== '2') return `the fields are ${JSON.stringify(json.data)}`
      return String(managers) === 'one,two' ? undefined : `the managers are ${managers}`
    },
  },
  {
    name: 'the deletion of a namespace',
    async prepare(connection) {
      await makeNamespace(connection)
      for (const name of ['a', 'b', 'c']) await make(connection, `${IN_TESTED}/configmaps`, { metadata: { name } })
    },
    async run(connection) {
      await insist(connection, { method: 'DELETE', path: IN_TESTED })
    },
    async problem(connection) {
      const { status } = await insist(connection, { method: 'GET', path: IN_TESTED })
      if (status !== 404) return 'the namespace is not gone'
      const left = (await itemsOf(connection, `${IN_TESTED}/configmaps`)) ?? []
      return left.length === 0 ? undefined : `${left.length} objects are left`
    },
  },
  {
    name: 'the deletion of an owner',
    async prepare(connection) {
      await makeNamespace(connection)
      const { metadata } = await make(connection, `${IN_TESTED}/configmaps`, { metadata: { name: 'owner' } })
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: metadata.uid }]
      for (const name of ['a', 'b']) await make(connection, `${IN_TESTED}/configmaps`, { metadata: { name, ownerReferences } })
    },
    async run(connection) {
      const body = { propagationPolicy: 'Foreground' }
      await insist(connection, { method: 'DELETE', path: `${IN_TESTED}/configmaps/owner`, body })
    },
    async problem(connection) {
      const left = (await itemsOf(connection, `${IN_TESTED}/configmaps`)) ?? []
      return left.length === 0 ? undefined : `${left.map(({ metadata }) => metadata.name)} are left`
    },
  },
  {
    name: 'a custom kind, from its definition to its end',
    prepare: makeNamespace,
    async run(connection) {
      const schema = { openAPIV3Schema: { type: 'object' } }
      const names = { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' }
      const versions = [{ name: 'v1', served: true, storage: true, schema }]
      const body = {
        metadata: { name: 'gadgets.nth.example.com' },
        spec: { group: 'nth.example.com', scope: 'Namespaced', names, versions },
      }
      await insist(connection, { method: 'POST', path: DEFINITIONS, body })
      await reached(connection, GADGETS, 200)
      await insist(connection, { method: 'POST', path: GADGETS, body: { metadata: { name: 'a' } } })
      await insist(connection, { method: 'DELETE', path: `${DEFINITIONS}/gadgets.nth.example.com` })
    },
    async problem(connection) {
      const { status } = await insist(connection, { method: 'GET', path: `${DEFINITIONS}/gadgets.nth.example.com` })
      if (status !== 404) return 'the definition is not gone'
      const answer = await insist(connection, { method: 'GET', path: GADGETS })
      return answer.status === 404 ? undefined : 'the kind is still served'
    },
  },
]

export type NthOutcome = { readonly calls: number; readonly problems: readonly string[] }

/** The longest time that a server has to finish its work is that of quotas, which are counted every five minutes. */
const MAX_CALLS = 1_000
const FINISH_MS = 400_000
const LOOK_MS = 5_000
const OPTIONS = { controllers: ['namespace', 'garbagecollector', 'resourcequota'], nodes: 0 }

/** Runs a scenario until the fault comes too late for it. */
export async function failEveryNth(
  scenario: Scenario,
  { fate, isShared }: { readonly fate: Fate; readonly isShared: boolean },
): Promise<NthOutcome> {
  const image = await imageOf(OPTIONS, isShared ? 'shared' : 'disk')
  for (let n = 1; ; n++) {
    const world = new World({ seed: n })
    let hasFailed = false
    const run = async () => {
      const clients = new Process('clients')
      const database = new Database(world, { isShared, keys: image.keys })
      await database.restore(image.writes)
      const { controllers = [], ...needs } = scenario.needs ?? {}
      const options = { ...OPTIONS, ...needs, controllers: [...OPTIONS.controllers, ...controllers] }
      const server = new SimulatedServer(world, database, { number: 1, options })
      await server.start()
      const connection = new Network(world, clients).connect(server)
      return await world.in(clients, scenario.name, async () => {
        await scenario.prepare?.(connection)
        await world.sleep(LOOK_MS, 'settle')
        server.view!.failNth(n, {
          fate,
          reached() {
            hasFailed = true
            if (fate === 'crash' || fate === 'crash before') world.after(0, 'crash', () => restart(server), clients)
          },
        })
        await scenario.run(connection, database.inner)
        for (let waited = 0; ; waited += LOOK_MS) {
          const problem = await scenario.problem(connection, database.inner)
          if (problem === undefined || waited > FINISH_MS) return problem
          await world.sleep(LOOK_MS, 'finish')
        }
      })
    }
    const problem = await world.run(run, { untilMs: 2 * FINISH_MS }).catch(error => String(error.stack))
    const problems = [...(problem === undefined ? [] : [problem]), ...world.failures]
    if (problems.length > 0) return { calls: n, problems: problems.map(text => `call ${n}: ${text}`) }
    if (!hasFailed) return { calls: n - 1, problems: [] }
    if (n === MAX_CALLS) return { calls: n, problems: [`there are more than ${n} calls`] }
  }
}

function restart(server: SimulatedServer): void {
  server.kill()
  void server.start()
}
