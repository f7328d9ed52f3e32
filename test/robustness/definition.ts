/** The custom kind of a run: defined at its beginning and changed throughout, which must not affect its users. */
import { sleep } from '../../src/lib/environment.ts'
import { type Client, insist, isUnavailable, pause, type Run } from './run.ts'
import { collectionPath } from './selection.ts'

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const NAME = 'widgets.robustness.example.com'
const PAUSE_MS = 1_500
const READY_MS = 20

const versionOf = (name: string) => ({
  name,
  served: true,
  storage: name === 'v1',
  schema: {
    openAPIV3Schema: {
      type: 'object',
      description: '',
      properties: { spec: { type: 'object', properties: { color: { type: 'string' } } } },
    },
  },
  selectableFields: [{ jsonPath: '.spec.color' }],
})

const definition = {
  metadata: { name: NAME },
  spec: {
    group: 'robustness.example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [versionOf('v1'), versionOf('v2')],
  },
}

/** Defines the kind unless it exists, and waits until it is served. */
export async function define(run: Run, { connection }: Client): Promise<void> {
  const { status, json } = await insist(run, () => connection.call({ method: 'POST', path: DEFINITIONS, body: definition }))
  if (status !== 201 && status !== 409) throw new Error(`the kind could not be defined: ${JSON.stringify(json)}`)
  const path = collectionPath({ resource: 'widgets' })
  while ((await insist(run, () => connection.call({ method: 'GET', path }))).status !== 200) await sleep(READY_MS)
}

/** Changes the definition over and over until the run stops. The server reads all objects again each time, and watches end. */
export async function redefine(run: Run, { connection, random }: Client): Promise<void> {
  while (!run.stop.aborted) {
    await pause(run, random.below(2 * PAUSE_MS))
    const value = `description ${random.below(1_000_000)}`
    // Versions with the same selectable fields must have the same schema.
    const body = [0, 1].map(i => ({ op: 'replace', path: `/spec/versions/${i}/schema/openAPIV3Schema/description`, value }))
    const type = 'application/json-patch+json'
    const answer = await connection.call({ method: 'PATCH', path: `${DEFINITIONS}/${NAME}`, body, type }).catch(() => undefined)
    if (answer && answer.status !== 200 && !isUnavailable(run, answer.status))
      run.failures.push(`the definition could not be changed: ${JSON.stringify(answer.json)}`)
  }
}
