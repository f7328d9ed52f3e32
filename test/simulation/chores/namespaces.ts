/** A namespace that is deleted takes nothing new, and nothing of it is left. */
import { ask, type Chore, eventually, insist, isUnknown, itemsOf, rest, type Stage } from './chore.ts'

export const namespaces: Chore = {
  name: 'namespaces',
  async prepare() {},
  async work(stage) {
    for (let i = 0; !stage.stop.aborted; i++) await liveAndDie(stage, `life-${i}`)
  },
  async check(stage) {
    await eventually(stage, async () => {
      const answer = await ask(stage.connection, { method: 'GET', path: '/api/v1/namespaces' })
      if (answer?.status !== 200) return 'namespaces cannot be listed'
      const left = answer.json.items.filter(({ metadata }: any) => metadata.deletionTimestamp !== undefined)
      return left.length === 0 ? undefined : `the namespace ${left[0].metadata.name} is not gone`
    })
    const present = new Set<string>((await itemsOf(stage.connection, '/api/v1/namespaces'))?.map(({ metadata }) => metadata.name))
    for (const { metadata } of (await itemsOf(stage.connection, '/api/v1/secrets')) ?? [])
      if (!present.has(metadata.namespace)) stage.broken(`${metadata.namespace}/${metadata.name} is in a namespace that does not exist`)
  },
}

async function liveAndDie(stage: Stage, name: string): Promise<void> {
  const { connection, random, stop, broken } = stage
  const path = `/api/v1/namespaces/${name}`
  const made = await insist(connection, { method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name } } })
  if (made.status !== 201 && made.status !== 409) return
  let isDeleted = false
  let isOver = false
  const create = async (client: number) => {
    for (let i = 0; !isOver && !stop.aborted; i++) {
      const wasDeleted = isDeleted
      const body = { metadata: { name: `c-${client}-${i}` } }
      const answer = await ask(connection, { method: 'POST', path: `${path}/secrets`, body })
      if (answer?.status === 201 && wasDeleted) broken(`${body.metadata.name} was created in ${name} after its deletion was acknowledged`)
      await rest(stage, 60)
    }
  }
  const creating = Promise.all([create(0), create(1)])
  await rest(stage, 500)
  const answer = await ask(connection, { method: 'DELETE', path })
  if (!isUnknown(answer) && answer!.status === 200) isDeleted = true
  for (let tries = 0; tries < 30 && !stop.aborted; tries++) {
    const found = await ask(connection, { method: 'GET', path })
    if (found?.status === 404) {
      const left = await itemsOf(connection, `${path}/secrets`)
      if (left && left.length > 0) broken(`${name} is gone, and ${left.length} objects of it are left`)
      break
    }
    await rest(stage, 100)
  }
  isOver = true
  await creating
  await rest(stage, random.below(500))
}
