import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import type { ToProcess, ToSupervisor } from '../../server/processes/messages.ts'
import { type Channel, Siblings } from '../../server/processes/siblings.ts'
import { Locks } from './locks.ts'

/** Processes whose supervisor has only locks. */
async function processes(count: number): Promise<Siblings[]> {
  const locks = new Locks()
  const join = async (number: number) => {
    const events = new EventEmitter()
    const holder = { send: (message: ToProcess) => void setImmediate(() => events.emit('message', message)) }
    const channel: Channel = {
      on: (event: string, take: (...given: never[]) => void) => events.on(event, take as () => void),
      send(message: ToSupervisor, sent: () => void) {
        if (message.type === 'lock') locks.take(message.name, holder)
        if (message.type === 'unlock') locks.release(message.name, holder, message.kept)
        sent()
        return true
      },
    }
    const joined = Siblings.join(channel)
    const store = { socket: '', secret: '' }
    holder.send({ type: 'welcome', number, of: count, id: 'test', store, isFirstStart: true, isAppointed: false })
    return await joined
  }
  return await Promise.all(Array.from({ length: count }, (_, i) => join(i + 1)))
}

test('work for all is done by one process, and the others wait until it is done', async () => {
  const log: string[] = []
  const all = await processes(3)
  const done = all.map(async each => {
    await each.once('objects', async () => {
      log.push(`${each.number} begins`)
      await new Promise(setImmediate)
      log.push('done')
    })
    log.push('goes on')
  })
  await Promise.all(done)
  assert.deepEqual(log, ['1 begins', 'done', 'goes on', 'goes on', 'goes on'])
  await all[0]!.once('others', async () => void log.push('other work'))
  assert.equal(log.at(-1), 'other work')
})

test('work for all that fails in one process is done by the next', async () => {
  const [first, second] = (await processes(2)) as [Siblings, Siblings]
  const failed = first.once('objects', () => Promise.reject(new Error('no room')))
  let isDone = false
  const done = second.once('objects', async () => {
    isDone = true
  })
  await assert.rejects(failed, /no room/)
  await done
  assert.ok(isDone)
})
