/**
 * Managers apply fields of one object: an acknowledged value stays until its manager changes it, and nobody takes a field of another
 * without force.
 */
import type { Answer } from '../../robustness/connection.ts'
import { ask, type Chore, isUnknown, make, repeatedly, rest, type Stage } from './chore.ts'

const MANAGERS = 3
const RIVALS = 2
const VALUES = 3
const PATH = '/api/v1/namespaces/apply/secrets/shared'

type Applied = { readonly manager: string; readonly fields: Readonly<Record<string, string>>; readonly isForced?: boolean }

export function apply(): Chore {
  /** The acknowledged values of fields with one manager each, by field. */
  const known = new Map<string, string>()
  /** A field that several managers want, with those that own it. */
  let contested = newContest(0)

  /** A manager of its own field. One whose last write has an unknown outcome is given up, for that write may still be made. */
  function manager(number: number): (stage: Stage) => Promise<void> {
    let generation = 0
    let value = 0
    return async stage => {
      const [name, field] = [`manager-${number}-${generation}`, `field-${number}-${generation}`]
      value++
      const answer = await applied(stage, { manager: name, fields: { [field]: String(value) } })
      if (isUnknown(answer)) {
        known.delete(field)
        generation++
        return
      }
      if (!isDone(answer)) return stage.broken(`${name} could not apply its field: ${answer!.status} ${JSON.stringify(answer!.json)}`)
      known.set(field, String(value))
      const found = await ask(stage.connection, { method: 'GET', path: PATH })
      if (found?.status === 200) checkFields(stage, found.json, [field])
    }
  }

  /** Only one client contends for the field, for all its managers: it knows what each request must lead to. */
  async function contend(stage: Stage): Promise<void> {
    const { random, broken } = stage
    const { field, owners } = contested
    const rival = `rival-${random.below(RIVALS)}-${contested.generation}`
    const isForced = random.oneIn(3)
    const isGivenUp = random.oneIn(4)
    const value = String(random.below(VALUES))
    const others = [...owners].filter(owner => owner !== rival)
    const isRefused = !isGivenUp && !isForced && others.length > 0 && contested.value !== value
    const answer = await applied(stage, { manager: rival, fields: isGivenUp ? {} : { [field]: value }, isForced })
    if (isUnknown(answer)) {
      contested = newContest(contested.generation + 1)
      return
    }
    const shown = `${rival} applies ${isGivenUp ? 'nothing' : value} ${isForced ? 'by force ' : ''}where ${others.join()} own ${contested.value}`
    if (isRefused !== (answer!.status === 409)) return broken(`${shown}, and is answered with ${answer!.status}`)
    if (!isRefused && !isDone(answer)) return broken(`${shown}, and fails: ${answer!.status} ${JSON.stringify(answer!.json)}`)
    if (isRefused) return
    if (isGivenUp) owners.delete(rival)
    else {
      if (contested.value !== value) owners.clear()
      owners.add(rival)
      contested.value = value
    }
    if (owners.size === 0) contested.value = undefined
    await checkContest(stage)
  }

  async function checkContest({ connection, broken }: Stage): Promise<void> {
    const { field, value, owners } = contested
    const found = await ask(connection, { method: 'GET', path: PATH })
    if (found?.status !== 200) return
    const { annotations = {}, managedFields = [] } = found.json.metadata
    if (annotations[field] !== value) broken(`${field} has the value ${annotations[field]}, and ${value} was applied`)
    const named = managedFields.filter((entry: any) => entry.fieldsV1?.['f:metadata']?.['f:annotations']?.[`f:${field}`] !== undefined)
    const shown = named.map((entry: any) => entry.manager).sort()
    if (String(shown) !== String([...owners].sort())) broken(`${field} belongs to ${[...owners].sort()}, and ${shown} are named`)
  }

  function checkFields({ broken }: Stage, { metadata }: any, fields: Iterable<string>): void {
    for (const field of fields) {
      const shown = metadata.annotations?.[field]
      if (known.has(field) && shown !== known.get(field)) broken(`${field} was applied as ${known.get(field)}, and is ${shown}`)
    }
    const managers = metadata.managedFields.filter(({ operation }: any) => operation === 'Apply').map((entry: any) => entry.manager)
    if (new Set(managers).size !== managers.length) broken(`a manager has its fields twice: ${managers}`)
  }

  const clients = [...Array.from({ length: MANAGERS }, (_, i) => manager(i)), contend]
  return {
    name: 'apply',
    async prepare({ connection }) {
      await make(connection, '/api/v1/namespaces', { metadata: { name: 'apply' } })
    },
    work: stage =>
      repeatedly(stage, clients.length, async client => {
        await clients[client]!(stage)
        await rest(stage, 100)
      }),
    async check(stage) {
      const found = await ask(stage.connection, { method: 'GET', path: PATH })
      if (found?.status !== 200) return
      checkFields(stage, found.json, known.keys())
      await checkContest(stage)
    },
  }
}

const newContest = (generation: number) => ({
  generation,
  field: `contested-${generation}`,
  value: undefined as string | undefined,
  owners: new Set<string>(),
})

const isDone = (answer: Answer | undefined): boolean => answer?.status === 200 || answer?.status === 201

function applied({ connection }: Stage, { manager, fields, isForced = false }: Applied): Promise<Answer | undefined> {
  // An empty map would be a field of its own.
  const isEmpty = Object.keys(fields).length === 0
  const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'shared', ...(!isEmpty && { annotations: fields }) } }
  const path = `${PATH}?fieldManager=${manager}&force=${isForced}`
  return ask(connection, { method: 'PATCH', path, type: 'application/apply-patch+yaml', body })
}
