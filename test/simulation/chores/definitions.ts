/** Custom kinds that come, change and go: served once established, complete after a change, and gone without a trace. */
import { monotonicMs } from '../../../src/lib/environment.ts'
import { ask, BEHIND_MS, type Chore, insist, isUnknown, itemsOf, rest, type Stage } from './chore.ts'

const GROUP = 'chores.example.com'
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const CREATORS = 2
const TRIES = 40

/** The life of one definition, as its clients know it. */
type Life = {
  readonly plural: string
  /** Objects whose creation was acknowledged, by name. */
  readonly made: Map<string, number>
  count: number
  /** Whether its deletion has been asked for. */
  isEnding: boolean
  /** When its deletion was acknowledged. */
  deletedAt: number | undefined
}

export function definitions(): Chore {
  /** Plurals of definitions that were seen to be gone. */
  const gone: string[] = []
  return {
    name: 'definitions',
    async prepare() {},
    async work(stage) {
      for (let i = 0; !stage.stop.aborted; i++) if (await liveAndDie(stage, `things${i}`)) gone.push(`things${i}`)
    },
    async check(stage) {
      for (const plural of gone) {
        const left = await stage.stored(`/${GROUP}/${plural}/`)
        if (left.length > 0) stage.broken(`the definition of ${plural} is gone, and ${left[0]} is left`)
      }
    },
  }
}

/** Whether the definition is gone in the end. */
async function liveAndDie(stage: Stage, plural: string): Promise<boolean> {
  const { connection, stop } = stage
  const path = `${DEFINITIONS}/${plural}.${GROUP}`
  const created = await insist(connection, { method: 'POST', path: DEFINITIONS, body: definitionOf(plural, ['v1']) })
  if (created.status !== 201 && created.status !== 409) {
    stage.broken(`the definition of ${plural} was answered with ${created.status}: ${JSON.stringify(created.json)}`)
    return false
  }
  const isEstablished = ({ status }: any) => status?.conditions?.some((each: any) => each.type === 'Established' && each.status === 'True')
  if (!(await until(stage, path, answer => answer.status === 200 && isEstablished(answer.json)))) return false
  const life: Life = { plural, made: new Map(), count: 0, isEnding: false, deletedAt: undefined }
  let isOver = false
  const create = async () => {
    while (!isOver && !stop.aborted) {
      await createOne(stage, life)
      await rest(stage, 60)
    }
  }
  const creating = Promise.all(Array.from({ length: CREATORS }, create))
  await rest(stage, 400)
  await addVersion(stage, life, path)
  await rest(stage, 400)
  life.isEnding = true
  const deleted = await ask(connection, { method: 'DELETE', path })
  if (!isUnknown(deleted) && deleted!.status === 200) life.deletedAt = monotonicMs()
  const isGone = await until(stage, path, answer => answer.status === 404)
  isOver = true
  await creating
  return isGone
}

/** Creates an object of a kind that is known to be served, or to be in deletion. */
async function createOne({ connection, broken }: Stage, life: Life): Promise<void> {
  const { plural } = life
  const name = `o-${life.count++}`
  const isRefused = life.deletedAt !== undefined && monotonicMs() - life.deletedAt > BEHIND_MS
  const body = { apiVersion: `${GROUP}/v1`, kind: kindOf(plural), metadata: { name }, spec: { size: life.count } }
  const answer = await ask(connection, { method: 'POST', path: `/apis/${GROUP}/v1/${plural}`, body })
  if (answer?.status === 201) life.made.set(name, body.spec.size)
  if (answer?.status === 201 && isRefused)
    broken(`an object of ${plural} was created after the deletion of the definition was acknowledged`)
  if (answer?.status === 404 && !life.isEnding) broken(`${plural} is established, and not served`)
}

/** Adds a version with another field; once it is served, it has all objects. */
async function addVersion(stage: Stage, { plural, made }: Life, path: string): Promise<void> {
  const { connection, broken } = stage
  const { spec } = definitionOf(plural, ['v1', 'v2'])
  const answer = await ask(connection, { method: 'PATCH', path, type: 'application/merge-patch+json', body: { spec } })
  if (answer?.status !== 200) return
  const list = `/apis/${GROUP}/v2/${plural}`
  if (!(await until(stage, list, found => found.status === 200))) return
  const known = new Map(made)
  const items = await itemsOf(connection, list)
  if (!items) return
  const sizes = new Map(items.map(({ metadata, spec }: any) => [metadata.name, spec.size]))
  for (const [name, size] of known)
    if (sizes.get(name) !== size) broken(`${name} has the size ${size}, and ${sizes.get(name)} in another version of ${plural}`)
}

/** Asks until the answer fits; whether it did in time. */
async function until(stage: Stage, path: string, fits: (answer: { status: number; json: any }) => boolean): Promise<boolean> {
  for (let tries = 0; tries < TRIES && !stage.stop.aborted; tries++) {
    const answer = await ask(stage.connection, { method: 'GET', path })
    if (answer && !isUnknown(answer) && fits(answer)) return true
    await rest(stage, 50)
  }
  return false
}

const kindOf = (plural: string) => `T${plural.slice(1)}`

function definitionOf(plural: string, versions: readonly string[]) {
  const properties = { size: { type: 'integer' }, ...(versions.length > 1 && { color: { type: 'string' } }) }
  const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object', properties } } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Cluster',
      names: { plural, kind: kindOf(plural) },
      versions: versions.map((name, i) => ({ name, served: true, storage: i === 0, schema: { openAPIV3Schema } })),
    },
  }
}
