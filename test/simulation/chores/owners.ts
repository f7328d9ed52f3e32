/** Objects whose owner is gone are deleted, and no others. */
import { ask, type Chore, eventually, itemsOf, make, repeatedly, rest } from './chore.ts'

const PATH = '/api/v1/namespaces/owners/secrets'

/** Makes the chore; it remembers acknowledged writes. */
export function owners(): Chore {
  /** Uids of owners that are not asked to go, by name. */
  const kept = new Map<string, string>()
  /** Dependents that were acknowledged, with the name of their owner. */
  const dependents = new Map<string, string>()
  let count = 0
  return {
    name: 'owners',
    // Names are used once: a late deletion finds only the object that it was meant for, and a create that comes twice loses.
    mayRepeat: true,
    async prepare({ connection }) {
      await make(connection, '/api/v1/namespaces', { metadata: { name: 'owners' } })
    },
    work: stage =>
      repeatedly(stage, 2, async () => {
        const { connection, random } = stage
        const all = [...kept]
        const [owner, uid] = all.length > 0 ? random.pick(all) : ['', '']
        if (all.length < 4) {
          const name = `owner-${count++}`
          const made = await ask(connection, { method: 'POST', path: PATH, body: { metadata: { name } } })
          if (made?.status === 201) kept.set(name, made.json.metadata.uid)
        } else if (random.oneIn(4)) {
          kept.delete(owner)
          await ask(connection, { method: 'DELETE', path: `${PATH}/${owner}` })
        } else {
          const name = `dependent-${count++}`
          const ownerReferences = [{ apiVersion: 'v1', kind: 'Secret', name: owner, uid }]
          const made = await ask(connection, { method: 'POST', path: PATH, body: { metadata: { name, ownerReferences } } })
          if (made?.status === 201) dependents.set(name, owner)
        }
        await rest(stage, 100)
      }),
    async check(stage) {
      await eventually(stage, async () => {
        const items = await itemsOf(stage.connection, PATH)
        if (!items) return 'dependents cannot be listed'
        const uids = new Set(items.map(({ metadata }) => metadata.uid))
        const orphan = items.find(({ metadata }) => metadata.ownerReferences?.some(({ uid }: any) => !uids.has(uid)))
        return orphan && `${orphan.metadata.name} has an owner that is gone`
      })
      const names = new Set((await itemsOf(stage.connection, PATH))?.map(({ metadata }) => metadata.name))
      if (names.size === 0) return
      for (const [name, owner] of dependents)
        if (kept.has(owner) && !names.has(name)) stage.broken(`${name} is gone, and its owner ${owner} was never deleted`)
      for (const name of kept.keys()) if (!names.has(name)) stage.broken(`${name} is gone, and nobody deleted it`)
    },
  }
}
