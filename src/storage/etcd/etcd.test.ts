import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type EtcdCluster, startEtcd } from '../../../test/kits/etcd.ts'
import { describeStore } from '../../../test/kits/storage/conformance.ts'
import { plainFormat } from '../../../test/kits/storage/plain-format.ts'
import { noteNotRun, programsNamed } from '../../../test/programs.ts'
import { LateBytes, type Store } from '../store.ts'
import { openEtcdStore } from './etcd.ts'
import type { RecordFormat } from './record-format.ts'

const clusters = new WeakMap<Store, EtcdCluster>()

/** A store on a new cluster, which ends with it. */
async function openOn(program: string, members: number): Promise<Store> {
  const cluster = await startEtcd({ program, members })
  return openIn(cluster)
}

async function openIn(cluster: EtcdCluster): Promise<Store> {
  const store = await openEtcdStore({ endpoints: cluster.endpoints, prefix: '/registry', format: plainFormat })
  const closing = store.close.bind(store)
  store.close = async () => {
    await closing()
    if (clusters.get(store) === cluster) await cluster[Symbol.asyncDispose]()
  }
  clusters.set(store, cluster)
  return store
}

/** Keeps the object, and does not look at the value. */
const objectFormat: RecordFormat = { ...plainFormat, encode: (_, __, object) => Buffer.from(String(object)) }

const [program] = programsNamed('etcd')
if (program === undefined) {
  test('the store on etcd', { skip: noteNotRun('etcd', 'the conformance of the store on etcd') })
} else {
  test('a value that may be too large is made before its record is sent, and others are reported as they were made', async t => {
    await using cluster = await startEtcd({ program })
    await using store = await openEtcdStore({ endpoints: cluster.endpoints, prefix: '/registry', format: objectFormat })
    const refused = new LateBytes(() => {
      throw new RangeError('too large')
    })
    await assert.rejects(store.swap('/a', { expect: 0, value: refused, object: 'x'.repeat(20_000) }), /too large/)
    const { newest } = await store.extent()
    const value = new LateBytes(() => Buffer.from('value'))
    const reported = store.watch('/', newest, t.signal)[Symbol.asyncIterator]().next()
    assert.deepEqual(await store.swap('/a', { expect: 0, value, object: 'record' }), { ok: true, revision: newest + 1 })
    const batch = (await reported).value!
    assert.equal(batch.events[0]!.after!.value, value.bytes)
    assert.equal(String((await store.get('/a')).entry!.value), 'record')
  })

  for (const members of [1, 3]) {
    describeStore(`etcd (${members === 1 ? 'one member' : `${members} members`})`, {
      open: () => openOn(program, members),
      async reopen(store) {
        const cluster = clusters.get(store)!
        clusters.delete(store)
        await store.close()
        return openIn(cluster)
      },
      remote: true,
      runs: members === 1 ? 25 : 6,
      // Several members differ from one where writes meet and where others hear of them.
      ...(members > 1 && { parts: ['swaps', 'watches', 'against a model'] }),
    })
  }
}
