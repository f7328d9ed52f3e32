/** Scenarios about the store itself, and about devices: migration, snapshots, compaction, allocation. */
import { sleep } from '../../src/lib/environment.ts'
import { SNAPSHOT_PATH } from '../../src/server/port/snapshot-endpoint.ts'
import { readSnapshot } from '../../src/storage/snapshot/read.ts'
import type { Connection } from '../robustness/connection.ts'
import { ask, insist, itemsOf, make } from './chores/chore.ts'
import { makeNamespace, reached, type Scenario, type StoreContent } from './fail-nth.ts'
import type { WholeAnswer } from './network.ts'

const GROUP = 'nth.example.com'
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const MIGRATIONS = '/apis/storagemigration.k8s.io/v1/storageversionmigrations'
const CONFIG_MAPS = '/api/v1/namespaces/tested/configmaps'
const DEVICES = '/apis/resource.k8s.io/v1'
const PODS = '/api/v1/namespaces/tested/pods'
const DRIVER = 'gpu.example.com'
const HISTORY_MS = 2_000
const NAMES = ['a', 'b', 'c']

export const STORE_SCENARIOS: readonly Scenario[] = [
  {
    name: 'the migration of objects to another version',
    needs: { controllers: ['storage-version-migrator-controller'] },
    async prepare(connection) {
      await makeNamespace(connection)
      await make(connection, DEFINITIONS, definitionOf('v1'))
      await reached(connection, partsPath('v2'), 200)
      for (const name of NAMES) await make(connection, partsPath('v1'), { apiVersion: `${GROUP}/v1`, kind: 'Part', metadata: { name } })
    },
    async run(connection) {
      const { spec } = definitionOf('v2')
      const path = `${DEFINITIONS}/parts.${GROUP}`
      await insist(connection, { method: 'PATCH', path, type: 'application/merge-patch+json', body: { spec } })
      const body = { metadata: { name: 'parts' }, spec: { resource: { group: GROUP, resource: 'parts' } } }
      await insist(connection, { method: 'POST', path: MIGRATIONS, body })
    },
    async problem(connection, store) {
      const { json } = await insist(connection, { method: 'GET', path: `${MIGRATIONS}/parts` })
      const conditions: any[] = json.status?.conditions ?? []
      if (!conditions.some(({ type, status }) => type === 'Succeeded' && status === 'True'))
        return `the migration has not succeeded: ${JSON.stringify(conditions)}`
      const records = await objectsIn(store, `/${GROUP}/parts/`)
      const old = records.find(({ apiVersion }) => apiVersion !== `${GROUP}/v2`)
      if (old) return `${old.metadata.name} is still stored as ${old.apiVersion}`
      return records.length === NAMES.length ? undefined : `there are ${records.length} objects`
    },
  },
  {
    name: 'the allocation of devices',
    needs: {
      controllers: ['resource-claim-controller', 'podgc', 'nodelifecycle', 'serviceaccount', 'scheduler'],
      nodes: 1,
      nodeDevices: [`${DRIVER}=1`],
    },
    async prepare(connection) {
      await makeNamespace(connection)
      const selectors = [{ cel: { expression: `device.driver == "${DRIVER}"` } }]
      await make(connection, `${DEVICES}/deviceclasses`, { metadata: { name: 'gpu' }, spec: { selectors } })
      const devices = { requests: [{ name: 'one', exactly: { deviceClassName: 'gpu' } }] }
      await make(connection, `${DEVICES}/namespaces/tested/resourceclaimtemplates`, {
        metadata: { name: 'one' },
        spec: { spec: { devices } },
      })
    },
    async run(connection) {
      for (const name of ['first', 'second']) await insist(connection, { method: 'POST', path: PODS, body: podOf(name) })
      await sleep(500)
      await insist(connection, { method: 'DELETE', path: `${PODS}/first` })
    },
    async problem(connection, store) {
      const claims = await objectsIn(store, '/resource.k8s.io/resourceclaims/tested/')
      const given = claims.flatMap(({ status }) =>
        (status?.allocation?.devices?.results ?? []).map(({ pool, device }: any) => `${pool}/${device}`),
      )
      if (new Set(given).size !== given.length) return `a device is given twice: ${given}`
      if (claims.length !== 1) return `there are ${claims.length} claims, and one pod`
      const [pod] = (await itemsOf(connection, PODS)) ?? []
      return pod?.metadata.name === 'second' && pod.status?.phase === 'Running' ? undefined : `the pod is ${JSON.stringify(pod?.status)}`
    },
  },
  {
    name: 'a snapshot',
    async prepare(connection) {
      await makeNamespace(connection)
      for (const name of NAMES) await make(connection, CONFIG_MAPS, { metadata: { name }, data: { name } })
    },
    run: async connection => void (await savedKeys(connection)),
    async problem(connection) {
      const keys = await savedKeys(connection)
      const missing = NAMES.find(name => !keys.includes(`/core/configmaps/tested/${name}`))
      return missing === undefined ? undefined : `${missing} is missing in the snapshot`
    },
  },
  {
    name: 'compaction',
    needs: { historyMs: HISTORY_MS },
    prepare: makeNamespace,
    async run(connection) {
      for (const name of NAMES)
        await insist(connection, { method: 'POST', path: CONFIG_MAPS, body: { metadata: { name }, data: { name } } })
      await insist(connection, { method: 'DELETE', path: `${CONFIG_MAPS}/a` })
      // History is old enough by then, and was compacted, or that has failed.
      await sleep(2 * HISTORY_MS)
    },
    async problem(connection, store) {
      const { oldest, newest } = await store.extent()
      if (newest - oldest > NAMES.length) return `of ${newest} revisions those from ${oldest} on are kept`
      const names = ((await itemsOf(connection, CONFIG_MAPS)) ?? []).map(({ metadata }) => metadata.name)
      if (String(names) !== 'b,c') return `the objects are ${names}`
      const answer = await insist(connection, { method: 'GET', path: `${CONFIG_MAPS}?resourceVersion=1&resourceVersionMatch=Exact` })
      return answer.status === 410 ? undefined : `a list at a forgotten revision is answered with ${answer.status}`
    },
  },
]

const partsPath = (version: string) => `/apis/${GROUP}/${version}/namespaces/tested/parts`

function definitionOf(storage: 'v1' | 'v2') {
  const schema = { openAPIV3Schema: { type: 'object' } }
  return {
    metadata: { name: `parts.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: { plural: 'parts', kind: 'Part' },
      versions: ['v1', 'v2'].map(name => ({ name, served: true, storage: name === storage, schema })),
    },
  }
}

function podOf(name: string) {
  const containers = [{ name: 'main', image: 'example.com/app', resources: { claims: [{ name: 'gpu' }] } }]
  const resourceClaims = [{ name: 'gpu', resourceClaimTemplateName: 'one' }]
  const spec = { terminationGracePeriodSeconds: 1, automountServiceAccountToken: false, containers, resourceClaims }
  return { metadata: { name }, spec }
}

async function objectsIn(store: StoreContent, prefix: string): Promise<any[]> {
  return (await store.list(prefix)).entries.map(({ value }) => JSON.parse(Buffer.from(value).toString()))
}

/** The keys in a snapshot, which is asked for until it is complete. */
async function savedKeys(connection: Connection): Promise<string[]> {
  for (let tries = 0; tries < 100; tries++) {
    const answer = (await ask(connection, { method: 'GET', path: SNAPSHOT_PATH })) as WholeAnswer | undefined
    // A snapshot that was given up says so.
    const keys = answer?.status === 200 ? await keysIn(answer.bytes).catch(() => undefined) : undefined
    if (keys) return keys
    await sleep(100)
  }
  throw new Error('no snapshot could be saved')
}

async function keysIn(bytes: Buffer): Promise<string[]> {
  const keys: string[] = []
  const chunks = (async function* () {
    yield bytes
  })()
  for await (const part of readSnapshot(chunks)) if (part.type === 'record') keys.push(part.record.key)
  return keys
}
