import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { openControllerBench, type Scope } from '../../../test/kits/controllers.ts'
import type { Bench } from '../../../test/kits/registry.ts'
import { ConfigMap } from '../../kinds/core/configmap.ts'
import { Event } from '../../kinds/core/event.ts'
import { Namespace } from '../../kinds/core/namespace.ts'
import { Secret } from '../../kinds/core/secret.ts'
import { Catalog } from '../../registry/catalog.ts'
import { resourcesOf } from '../../schema/resource.ts'
import { garbageCollector } from './controller.ts'

const KINDS = [ConfigMap, Secret, Namespace, Event]

const open = async (t: Scope, catalog?: Catalog) => {
  const bench = await openControllerBench(t, KINDS, catalog ? { catalog } : {})
  return { ...bench, collect: () => bench.run(garbageCollector) }
}

const reference = (owner: any, more: object = {}) => ({
  apiVersion: 'v1',
  kind: owner.kind ?? 'ConfigMap',
  name: owner.metadata.name,
  uid: owner.metadata.uid,
  ...more,
})
const make = async ({ send }: Bench, name: string, ownerReferences: object[] = [], metadata: object = {}) =>
  (await send('POST configmaps', { metadata: { name, ownerReferences, ...metadata } })).body
const names = async ({ send }: Bench) => (await send('GET configmaps')).body.items.map((item: any) => item.metadata.name)
const BLOCKS = { blockOwnerDeletion: true }

test('dependents of a deleted owner are deleted, transitively, and nothing else', async t => {
  const bench = await open(t)
  const gc = bench.collect()
  const a = await make(bench, 'a')
  const b = await make(bench, 'b', [reference(a)])
  await make(bench, 'c', [reference(b)])
  await make(bench, 'd')
  await gc.idle()
  assert.deepEqual(await names(bench), ['a', 'b', 'c', 'd'])
  await bench.send('DELETE configmaps/a')
  await gc.idle()
  assert.deepEqual(await names(bench), ['d'])
})

test('an object with another owner stays, and its reference to the deleted owner is removed', async t => {
  const bench = await open(t)
  const gc = bench.collect()
  const [a, b] = [await make(bench, 'a'), await make(bench, 'b')]
  await make(bench, 'c', [reference(a), reference(b)])
  await bench.send('DELETE configmaps/a')
  await gc.idle()
  const { body } = await bench.send('GET configmaps/c')
  assert.deepEqual(body.metadata.ownerReferences, [reference(b)])
})

test('orphans from before the start are deleted at the start, also where another object has the name of the owner', async t => {
  const bench = await open(t)
  const a = await make(bench, 'a')
  await make(bench, 'b', [reference(a)])
  await bench.send('DELETE configmaps/a')
  await make(bench, 'a')
  await bench.collect().idle()
  assert.deepEqual(await names(bench), ['a'])
})

test('a foreground deletion ends when its blocking dependents are gone', async t => {
  const bench = await open(t)
  const gc = bench.collect()
  const a = await make(bench, 'a')
  const b = await make(bench, 'b', [reference(a, BLOCKS)])
  await make(bench, 'c', [reference(b, BLOCKS)], { finalizers: ['a.com/keep'] })
  await make(bench, 'e', [reference(a)], { finalizers: ['a.com/keep'] })
  await bench.send('DELETE configmaps/a?propagationPolicy=Foreground')
  await gc.idle()
  // c is kept by somebody else, and so are those that wait for it.
  assert.deepEqual(await names(bench), ['a', 'b', 'c', 'e'])
  await bench.send('PATCH configmaps/c', { metadata: { finalizers: null } })
  await gc.idle()
  // e does not hold anybody back.
  assert.deepEqual(await names(bench), ['e'])
})

test('a foreground deletion does not wait for what has another owner', async t => {
  const bench = await open(t)
  const gc = bench.collect()
  const [a, b] = [await make(bench, 'a'), await make(bench, 'b')]
  await make(bench, 'c', [reference(a, BLOCKS), reference(b)])
  await bench.send('DELETE configmaps/a?propagationPolicy=Foreground')
  await gc.idle()
  assert.deepEqual(await names(bench), ['b', 'c'])
  assert.deepEqual((await bench.send('GET configmaps/c')).body.metadata.ownerReferences, [reference(b)])
})

test('objects that own each other in a circle can be deleted in the foreground', async t => {
  const bench = await open(t)
  const gc = bench.collect()
  const a = await make(bench, 'a')
  const b = await make(bench, 'b', [reference(a, BLOCKS)])
  await bench.send('PATCH configmaps/a', { metadata: { ownerReferences: [reference(b, BLOCKS)] } })
  await gc.idle()
  assert.deepEqual(await names(bench), ['a', 'b'])
  await bench.send('DELETE configmaps/a?propagationPolicy=Foreground')
  await gc.idle()
  assert.deepEqual(await names(bench), [])
})

test('orphans stay, without their owner references', async t => {
  const bench = await open(t)
  const gc = bench.collect()
  const [a, x] = [await make(bench, 'a'), await make(bench, 'x')]
  await make(bench, 'b', [reference(a, BLOCKS)])
  await make(bench, 'c', [reference(a), reference(x)])
  await bench.send('DELETE configmaps/a?propagationPolicy=Orphan')
  await gc.idle()
  assert.deepEqual(await names(bench), ['b', 'c', 'x'])
  assert.equal((await bench.send('GET configmaps/b')).body.metadata.ownerReferences, undefined)
  assert.deepEqual((await bench.send('GET configmaps/c')).body.metadata.ownerReferences, [reference(x)])
})

test('cluster-scoped owners own namespaced objects, owners in other namespaces do not, and namespaced owners of cluster-scoped objects are ignored', async t => {
  const bench = await open(t)
  const gc = bench.collect()
  const space = (await bench.send('POST namespaces', { metadata: { name: 'space' } })).body
  await make(bench, 'a', [reference({ ...space, kind: 'Namespace' })])
  const elsewhere = (await bench.send('POST secrets', { metadata: { name: 's' } }, { namespace: 'other' })).body
  await make(bench, 'b', [reference({ ...elsewhere, kind: 'Secret' })])
  await bench.send('POST namespaces', { metadata: { name: 'odd', ownerReferences: [reference({ ...elsewhere, kind: 'Secret' })] } })
  await gc.idle()
  assert.deepEqual(await names(bench), ['a'])
  assert.equal((await bench.send('GET namespaces/odd')).body.metadata.deletionTimestamp, undefined)
})

test('an object of the cluster stays when an object in a namespace that it names as its owner is deleted', async t => {
  const bench = await open(t)
  const gc = bench.collect()
  const owner = await make(bench, 'owner')
  await bench.send('POST namespaces', { metadata: { name: 'odd', ownerReferences: [reference(owner)] } })
  await gc.idle()
  await bench.send('DELETE configmaps/owner')
  await gc.idle()
  assert.equal((await bench.send('GET namespaces/odd')).body.metadata.deletionTimestamp, undefined)
})

test('owners in another namespace are reported by a warning event', async t => {
  const bench = await open(t)
  const gc = bench.collect()
  for (const name of ['default', 'other']) await bench.send('POST namespaces', { metadata: { name } })
  const owner = (await bench.send('POST secrets', { metadata: { name: 's' } }, { namespace: 'other' })).body
  const ownerReferences = [reference({ ...owner, kind: 'Secret' })]
  const dependent = await make(bench, 'b', ownerReferences)
  const odd = (await bench.send('POST namespaces', { metadata: { name: 'odd', ownerReferences } })).body
  await gc.idle()
  const { items } = (await bench.send('GET events')).body
  const { uid } = owner.metadata
  const textFor = (namespace: string) =>
    `ownerRef [v1/Secret, namespace: ${namespace}, name: s, uid: ${uid}] does not exist in namespace "${namespace}"`
  assert.deepEqual(items.map(({ type, reason, message, involvedObject }: any) => [type, reason, message, involvedObject.uid]).sort(), [
    ['Warning', 'OwnerRefInvalidNamespace', textFor(''), odd.metadata.uid],
    ['Warning', 'OwnerRefInvalidNamespace', textFor('default'), dependent.metadata.uid],
  ])
  assert.deepEqual(items[0].source, { component: 'garbage-collector-controller' })
})

test('nothing is decided while the kind of an owner is not served', async t => {
  const resources = resourcesOf(KINDS, 'k8s.io')
  const secrets = resources.find(({ kind }) => kind === 'Secret')!
  const catalog = new Catalog(resources.filter(resource => resource !== secrets))
  const bench = await open(t, catalog)
  const gc = bench.collect()
  await make(bench, 'a', [reference({ kind: 'Secret', metadata: { name: 's', uid: 'x-y' } })])
  await gc.idle()
  assert.deepEqual(await names(bench), ['a'])
  catalog.add(secrets)
  await bench.caches.join(secrets)
  await gc.idle()
  assert.deepEqual(await names(bench), [])
})

/** Object i may refer to those before it. */
const graphs = fc
  .integer({ min: 1, max: 10 })
  .chain(size =>
    fc.tuple(
      fc.tuple(
        ...Array.from({ length: size }, (_, i) =>
          fc.uniqueArray(fc.tuple(fc.nat(Math.max(i - 1, 0)), fc.boolean()), { maxLength: 3, selector: ([at]) => at }),
        ),
      ),
      fc.uniqueArray(fc.nat(size - 1), { maxLength: 4 }),
      fc.array(fc.constantFrom('Background', 'Foreground', 'Orphan'), { minLength: 4, maxLength: 4 }),
      fc.boolean(),
    ),
  )

test('of any objects exactly those stay that living roots reach, whatever is deleted how', () =>
  fc.assert(
    fc.asyncProperty(graphs, input => lives(input)),
    { numRuns: 60 },
  ))

async function lives([links, deleted, policies, isOneByOne]: readonly [
  readonly (readonly [number, boolean])[][],
  number[],
  string[],
  boolean,
]) {
  const undo: (() => unknown)[] = []
  const bench = await open({ after: f => undo.push(f) })
  try {
    const gc = bench.collect()
    const made: any[] = []
    const owners: Set<number>[] = links.map((to, i) => new Set(i === 0 ? [] : to.map(([at]) => at)))
    for (const [i, to] of links.entries())
      made.push(await make(bench, `o${i}`, i === 0 ? [] : to.map(([at, blocks]) => reference(made[at], blocks ? BLOCKS : {}))))
    await gc.idle()
    assert.equal((await names(bench)).length, made.length)
    const living = new Set(made.keys())
    const deletions: Promise<unknown>[] = []
    for (const [nth, i] of deleted.entries()) {
      // The fate of orphans depends on the order of the deletions, unless one waits for the other.
      const policy = isOneByOne || policies[nth] !== 'Orphan' ? policies[nth] : 'Background'
      deletions.push(bench.send(`DELETE configmaps/o${i}?propagationPolicy=${policy}`))
      if (isOneByOne) {
        await Promise.all(deletions)
        await gc.idle()
      }
      if (!living.delete(i)) continue
      for (const theirs of owners) if (policy === 'Orphan') theirs.delete(i)
      if (isOneByOne) sweep(owners, living)
    }
    await Promise.all(deletions)
    await gc.idle()
    sweep(owners, living)
    assert.deepEqual((await names(bench)).sort(), [...living].map(i => `o${i}`).sort())
  } finally {
    for (const each of undo) await each()
  }
}

/** Takes out of the living those that had owners and have no living one; those that live forget owners that do not. */
function sweep(owners: Set<number>[], living: Set<number>): void {
  for (const i of [...living].sort((a, b) => a - b)) {
    const had = owners[i]!.size > 0
    for (const owner of owners[i]!) if (!living.has(owner)) owners[i]!.delete(owner)
    if (had && owners[i]!.size === 0) living.delete(i)
  }
}
