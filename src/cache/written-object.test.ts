import assert from 'node:assert/strict'
import test from 'node:test'
import { widgets } from '../../test/kits/cache/widgets.ts'
import { encodeStored, parseObject } from '../codec/stored-bytes.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { ObjectRevision } from '../schema/object-revision.ts'
import { MemoryStore } from '../storage/memory.ts'
import { Caches } from './caches.ts'

test('an observer gets the object that its bytes hold, not the one of the writer; those who come later get the same', async () => {
  const store = new MemoryStore()
  const caches = await Caches.open({ store, resources: [widgets], onFailure: assert.ifError })
  const seen: ObjectRevision[] = []
  const changed = (_: unknown, current: ObjectRevision) => {
    assert.deepEqual(current.object, parseObject(current.json))
    seen.push(current)
  }
  caches.observe({ changed, joined() {} }, new AbortController().signal)
  const object = {
    ...{ kind: 'Widget', apiVersion: 'v1' },
    metadata: { name: 'a', namespace: 'default', generateName: '', uid: '1' },
    spec: { color: undefined, sizes: [1, { of: 2 }] },
  } as unknown as AnyObject
  const key = `${widgets.prefix}default/a`
  await caches.write(key, { expect: 0, value: encodeStored(object), object })
  object['spec'].sizes[1].of = 3
  assert.equal(seen.length, 1)
  assert.deepEqual(seen[0]!.object, parseObject(seen[0]!.json))
  assert.equal(caches.of(widgets).get(key)!.object, seen[0]!.object)
  await caches[Symbol.asyncDispose]()
  await store.close()
})
