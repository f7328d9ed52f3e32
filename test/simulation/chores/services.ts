/** No cluster IP and no node port is given to two services. */
import { sleep } from '../../../src/lib/environment.ts'
import { ask, type Chore, itemsOf, make, repeatedly, rest, type Stage } from './chore.ts'

const NAMES = 8
const PREFIX = '/core/services/services/'
/** How much later than its server gives it up a write may reach a shared store. Reservations are kept for longer. */
const MAX_LATER_MS = 3_000
const PATH = '/api/v1/namespaces/services/services'

export const services: Chore = {
  name: 'services',
  // A create that comes late, or twice, is one more holder: no two may have the same, whoever asked for them.
  mayRepeat: true,
  async prepare({ connection, delay, giveUpMs, random }) {
    await make(connection, '/api/v1/namespaces', { metadata: { name: 'services' } })
    const chance = random.fork()
    delay((key, { value }) => (value !== null && key.startsWith(PREFIX) && chance.oneIn(8) ? giveUpMs + 1 + chance.below(MAX_LATER_MS) : 0))
  },
  work: stage =>
    repeatedly(stage, 3, async client => {
      const { random } = stage
      const name = `s-${random.below(NAMES)}`
      if (client === 0 && random.oneIn(2)) await checkUnique(stage)
      else await random.pick([remove, change, create])(stage, name)
      await rest(stage, 100)
    }),
  async check(stage) {
    await sleep(stage.giveUpMs + 2 * MAX_LATER_MS)
    await checkUnique(stage)
  },
}

const remove = ({ connection }: Stage, name: string) => ask(connection, { method: 'DELETE', path: `${PATH}/${name}` })

function change({ connection, random }: Stage, name: string) {
  const body = { spec: { type: random.pick(['NodePort', 'ClusterIP']) } }
  return ask(connection, { method: 'PATCH', path: `${PATH}/${name}`, type: 'application/merge-patch+json', body })
}

function create({ connection, random }: Stage, name: string) {
  const clusterIP = random.oneIn(4) && { clusterIP: `10.0.0.${1 + random.below(14)}` }
  const spec = { ports: [{ port: 80 }], type: random.pick(['NodePort', 'ClusterIP']), ...clusterIP }
  return ask(connection, { method: 'POST', path: PATH, body: { metadata: { name }, spec } })
}

async function checkUnique({ connection, broken }: Stage): Promise<void> {
  const items = await itemsOf(connection, '/api/v1/services')
  const holders = new Map<string, string>()
  for (const { metadata, spec } of items ?? [])
    for (const held of [...(spec.clusterIPs ?? []), ...(spec.ports ?? []).flatMap((port: any) => port.nodePort ?? [])]) {
      const other = holders.get(String(held))
      if (other !== undefined && held !== 'None') broken(`${held} is given to ${other} and to ${metadata.name}`)
      holders.set(String(held), metadata.name)
    }
}
