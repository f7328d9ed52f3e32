import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type EtcdCluster, startEtcd } from '../../../test/kits/etcd.ts'
import { describeStore } from '../../../test/kits/storage/conformance.ts'
import { countedFrom } from '../../../test/kits/storage/counted-store.ts'
import { plainFormat } from '../../../test/kits/storage/plain-format.ts'
import { noteNotRun, programsNamed } from '../../../test/programs.ts'
import { LateBytes, type Revision, type Store } from '../store.ts'
import { openEtcdStore } from './etcd.ts'
import type { RecordFormat } from './record-format.ts'

/** A cluster for all tests of the file that need as many members; each of its stores has a prefix of its own, and looks like a new one. */
class SharedCluster {
  readonly #start: () => Promise<EtcdCluster>
  readonly #places = new WeakMap<Store, { readonly prefix: string; readonly first: Revision }>()
  #cluster: Promise<EtcdCluster> | undefined
  #count = 0

  constructor(program: string, members: number) {
    this.#start = () => startEtcd({ program, members })
    after(async () => (await this.#cluster)?.[Symbol.asyncDispose]())
  }

  async open(): Promise<Store> {
    const prefix = `/registry-${++this.#count}`
    const store = await this.#connect(prefix)
    const { newest: first } = await store.extent()
    if (first > 1) await store.compact(first)
    return this.#at({ prefix, first }, store)
  }

  async reopen(store: Store): Promise<Store> {
    const place = this.#places.get(store)!
    await store.close()
    return this.#at(place, await this.#connect(place.prefix))
  }

  async #connect(prefix: string): Promise<Store> {
    this.#cluster ??= this.#start()
    return openEtcdStore({ endpoints: (await this.#cluster).endpoints, prefix, format: plainFormat })
  }

  #at(place: { readonly prefix: string; readonly first: Revision }, store: Store): Store {
    const counted = countedFrom(store, place.first)
    this.#places.set(counted, place)
    return counted
  }
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

  test('a new store is at revision 1, and a write adds one', async () => {
    await using cluster = await startEtcd({ program })
    await using store = await openEtcdStore({ endpoints: cluster.endpoints, prefix: '/registry', format: plainFormat })
    assert.deepEqual(await store.extent(), { oldest: 1, newest: 1 })
    assert.deepEqual(await store.swap('/a', { expect: 0, value: Buffer.from('x') }), { ok: true, revision: 2 })
    assert.deepEqual(await store.extent(), { oldest: 1, newest: 2 })
  })

  for (const members of [1, 3]) {
    const cluster = new SharedCluster(program, members)
    describeStore(`etcd (${members === 1 ? 'one member' : `${members} members`})`, {
      open: () => cluster.open(),
      reopen: store => cluster.reopen(store),
      remote: true,
      runs: members === 1 ? 25 : 6,
      // Several members differ from one where writes meet and where others hear of them.
      ...(members > 1 && { parts: ['swaps', 'watches', 'against a model'] }),
    })
  }
}
