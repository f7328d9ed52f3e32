/** A quota is never exceeded, nor is one charged for more than it allows, but for charges of servers that may have ended meanwhile. */
import { MAX_RESERVED_MS } from '../../../src/admission/plugins/resource-quota/reservations.ts'
import { monotonicMs, sleep } from '../../../src/lib/environment.ts'
import { LIMITS } from '../../../src/lib/limits.ts'
import type { MadeWrite } from '../ground.ts'
import { ask, type Chore, eventually, itemsOf, make, objectIn, repeatedly, rest, type Stage } from './chore.ts'

const HARD = 4
const NAMES = 10
/** A charge is counted again when no write can be on its way any more; a count that still finds it reserved is made again after as long. */
const COUNTED_MS = 3 * MAX_RESERVED_MS
const QUOTA_KEY = '/core/resourcequotas/quota/few'
/** Servers note here what they charge for objects that are not stored yet. */
const NOTES = '/keelson/quota/quota/'
/** Notes of servers that have ended are forgotten after twice the longest write; a count may just be on its way then. */
const NOTED_MS = 3 * LIMITS.sharedWriteMs
const PATH = '/api/v1/namespaces/quota/secrets'
const SECRETS = '/core/secrets/quota/'
/** How much later than its server gives it up a write may reach a store that is not the server's own. */
const MAX_LATER_MS = 3_000

type Note = { readonly server: MadeWrite['server']; readonly charges: number; readonly at: number }

export const quota: Chore = {
  name: 'quota',
  // Whatever writes are made, and however late: counts and charges are compared at one revision, or until they agree.
  mayRepeat: true,
  async prepare({ connection, onWrite, delay, giveUpMs, random, broken }) {
    const notes = new Map<string, Note>()
    /** Notes that were removed since the quota was written last: the next write was counted after that, maybe with them. */
    const removed: Note[] = []
    // The status is what writes are decided by: charges beyond the quota would keep clients from objects that they may have.
    onWrite(write => {
      const { key, change, server, revision } = write
      if (key.startsWith(NOTES) && change.value === null) {
        removed.push(...(notes.has(key) ? [notes.get(key)!] : []))
        notes.delete(key)
      }
      if (key.startsWith(NOTES) && change.value !== null) notes.set(key, { server, charges: objectIn(write).length, at: monotonicMs() })
      if (key !== QUOTA_KEY) return
      const used = Number(objectIn(write)?.status?.used?.secrets ?? 0)
      // A server that counts cannot know whether another one has charged for what it has noted: it counts the note in any case.
      const others = [...notes.values(), ...removed.splice(0)].filter(note => note.server !== server && monotonicMs() - note.at < NOTED_MS)
      const noted = others.reduce((sum, { charges }) => sum + charges, 0)
      if (used > HARD + noted) broken(`at revision ${revision} the quota of ${HARD} secrets is charged for ${used}`)
    })
    // A write may be made after its server has given it up: what it takes must not have been given away by then.
    const chance = random.fork()
    delay((key, { expect }) => (expect === 0 && key.startsWith(SECRETS) && chance.oneIn(8) ? giveUpMs + 1 + chance.below(MAX_LATER_MS) : 0))
    await make(connection, '/api/v1/namespaces', { metadata: { name: 'quota' } })
    await make(connection, '/api/v1/namespaces/quota/resourcequotas', {
      metadata: { name: 'few' },
      spec: { hard: { secrets: String(HARD) } },
    })
  },
  work: stage =>
    repeatedly(stage, 3, async client => {
      const { connection, random } = stage
      const name = `s-${random.below(NAMES)}`
      if (client === 0 && random.oneIn(2)) await checkCount(stage)
      else if (random.oneIn(3)) await ask(connection, { method: 'DELETE', path: `${PATH}/${name}` })
      else await ask(connection, { method: 'POST', path: PATH, body: { metadata: { name } } })
      await rest(stage, 100)
    }),
  async check(stage) {
    await sleep(stage.giveUpMs + MAX_LATER_MS)
    await checkCount(stage)
    const { connection } = stage
    // Charges for objects that were never stored are given back, at the latest when their reservations have ended.
    const charged = async () => {
      const stored = await ask(connection, { method: 'GET', path: '/api/v1/namespaces/quota/resourcequotas/few' })
      const items = await itemsOf(connection, PATH)
      if (!items || stored?.status !== 200) return 'the quota cannot be read'
      const used = Number(stored.json.status?.used?.secrets)
      return used === items.length ? undefined : `the quota says ${used} secrets are used, and there are ${items.length}`
    }
    await eventually(stage, charged, { everyMs: 5_000, withinMs: COUNTED_MS })
  },
}

async function checkCount({ connection, broken }: Stage): Promise<void> {
  const items = await itemsOf(connection, PATH)
  if (items && items.length > HARD) broken(`a quota allows ${HARD} secrets, and there are ${items.length}`)
}
