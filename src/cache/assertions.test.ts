import assert from 'node:assert/strict'
import test from 'node:test'
import { entryOf, widgets } from '../../test/kits/cache/widgets.ts'
import { MemoryStore } from '../storage/memory.ts'
import type { Batch } from '../storage/store.ts'
import { Caches } from './caches.ts'

/** A store for several servers whose watches leave out the events of some keys. */
class ForgetfulStore extends MemoryStore {
  readonly isShared = true
  forgets = ''

  override async *watch(...request: Parameters<MemoryStore['watch']>): AsyncGenerator<Batch> {
    for await (const { revision, events } of super.watch(...request))
      yield { revision, events: events.filter(({ key }) => key !== this.forgets) }
  }
}

async function open() {
  const store = new ForgetfulStore()
  const caches = await Caches.open({ store, resources: [widgets], onFailure: assert.ifError })
  const write = (path: string, expect: number) => {
    const { key, value } = entryOf(path, {}, 1)
    return caches.write(key, { expect, value })
  }
  const close = async () => {
    await caches[Symbol.asyncDispose]()
    await store.close()
  }
  const failures = () => caches.assertions.families()[0]!.samples.filter(([, count]) => count !== 0)
  return { store, caches, write, close, failures }
}

test('a write to a shared store that is not among its events fails, and is known to have been made', async () => {
  const { store, write, close, failures } = await open()
  assert.equal((await write('default/a', 0)).ok, true)
  store.forgets = `${widgets.prefix}default/b`
  await assert.rejects(write('default/b', 0), {
    code: 500,
    isUnknown: true,
    message: /assertion history_complete failed: the write of .*default\/b at 3/,
  })
  assert.deepEqual(failures(), [[{ assertion: 'history_complete' }, 1]])
  await close()
})

test('writes and deletions that others follow at once fail no assertion', async () => {
  const { store, caches, write, close, failures } = await open()
  for (let i = 0; i < 50; i++) {
    const written = await write('default/a', 0)
    assert(written.ok)
    const { key } = entryOf('default/a', {}, 1)
    const deleted = caches.write(key, { expect: written.revision, value: null })
    const created = deleted.then(() => store.swap(key, { expect: 0, value: entryOf('default/a', {}, 1).value }))
    await deleted
    const again = await created
    assert(again.ok)
    await store.compact(again.revision)
    await caches.write(key, { expect: again.revision, value: null })
  }
  assert.deepEqual(failures(), [])
  await close()
})
