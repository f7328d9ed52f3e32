/** Lists, watches and delete collections of shards. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import fc from 'fast-check'
import { Recorder, Widget } from '../../test/kits/cache/widgets.ts'
import { type Bench, openBench } from '../../test/kits/registry.ts'

async function bench(t: TestContext, gates: readonly string[] = ['ShardedListAndWatch']): Promise<Bench> {
  const opened = await openBench([Widget], { gates })
  t.after(() => opened.close())
  for (const namespace of ['one', 'two', 'three'])
    for (let i = 0; i < 12; i++) await opened.send('POST widgets', { metadata: { name: `w${i}` } }, { namespace })
  return opened
}

const TOP = 1n << 64n
const hex = (n: bigint) => (n === TOP ? '0x10000000000000000' : `0x${n.toString(16).padStart(16, '0')}`)
const shard = (field: string, start: bigint, end: bigint) => `shardRange(object.metadata.${field}, '${hex(start)}', '${hex(end)}')`
const pathOf = (o: any): string => `${o.metadata.namespace}/${o.metadata.name}`
const EVERYWHERE = { namespace: '' }
const divisions = fc
  .uniqueArray(fc.bigInt({ min: 1n, max: TOP - 1n }), { maxLength: 5 })
  .map(cuts => [0n, ...cuts.sort((a, b) => (a < b ? -1 : 1)), TOP])
const fields = fc.constantFrom('uid', 'namespace')

async function paths({ send }: Bench, selector: string, limit: number): Promise<string[]> {
  const found: string[] = []
  for (let token = ''; ; ) {
    const { code, body } = await send(
      `GET widgets?${new URLSearchParams({ shardSelector: selector, limit: `${limit}`, continue: token })}`,
      undefined,
      EVERYWHERE,
    )
    assert.equal(code, 200)
    assert.deepEqual(body.metadata.shardInfo, { selector })
    assert.equal(body.metadata.remainingItemCount, undefined)
    found.push(...body.items.map(pathOf))
    token = body.metadata.continue ?? ''
    if (token === '') return found
  }
}

test('the shards of any division make up the whole list, each object once, page by page', async t => {
  const opened = await bench(t)
  const whole = (await opened.send('GET widgets', undefined, EVERYWHERE)).body.items.map(pathOf)
  await fc.assert(
    fc.asyncProperty(divisions, fields, fc.integer({ min: 0, max: 20 }), async (edges, field, limit) => {
      const parts: string[] = []
      for (let i = 0; i + 1 < edges.length; i++) parts.push(...(await paths(opened, shard(field, edges[i]!, edges[i + 1]!), limit)))
      assert.deepEqual(parts.sort(), [...whole].sort())
    }),
    { numRuns: 25 },
  )
})

test('property: watches of all shards send each change exactly once', async t => {
  const opened = await bench(t)
  const { send } = opened
  await fc.assert(
    fc.asyncProperty(divisions, fields, async (edges, field) => {
      const watches: { stream: any; sink: Recorder }[] = []
      for (let i = 0; i + 1 < edges.length; i++) {
        const query = new URLSearchParams({ watch: 'true', shardSelector: shard(field, edges[i]!, edges[i + 1]!) })
        const { body: stream } = await send(`GET widgets?${query}`, undefined, EVERYWHERE)
        const sink = new Recorder()
        stream.open(sink)
        watches.push({ stream, sink })
      }
      const before = watches.flatMap(({ sink }) => sink.events.splice(0).map(e => `${e.type} ${e.path}`))
      assert.equal(before.length, 36)
      assert.equal(new Set(before).size, 36)
      await send('POST widgets', { metadata: { name: 'fresh' } }, { namespace: 'one' })
      await send('PATCH widgets/w3', { spec: { color: `c${Math.random()}` } }, { namespace: 'two' })
      await send('DELETE widgets/fresh', undefined, { namespace: 'one' })
      const told = watches.flatMap(({ sink }) => sink.events.map(e => `${e.type} ${e.path}`)).sort()
      assert.deepEqual(told, ['ADDED one/fresh', 'DELETED one/fresh', 'MODIFIED two/w3'])
      for (const { stream } of watches) stream.close()
    }),
    { numRuns: 15 },
  )
})

test('delete collection deletes its shard and leaves the rest', async t => {
  const opened = await bench(t)
  const { send } = opened
  const half = new URLSearchParams({ shardSelector: shard('uid', 0n, TOP / 2n) })
  const inside = (await send(`GET widgets?${half}`, undefined, { namespace: 'one' })).body.items.map(pathOf)
  const deleted = await send(`DELETE widgets?${half}`, undefined, { namespace: 'one' })
  assert.deepEqual(deleted.body.items.map(pathOf), inside)
  const left = (await send('GET widgets', undefined, { namespace: 'one' })).body.items.map(pathOf)
  assert.equal(left.length, 12 - inside.length)
  assert.ok(left.every((path: string) => !inside.includes(path)))
})

test('a selector that makes no sense is refused as kube-apiserver refuses it', async t => {
  const { send } = await bench(t)
  for (const request of ['GET widgets', 'GET widgets?watch=true', 'DELETE widgets']) {
    const { code, body } = await send(`${request}${request.includes('?') ? '&' : '?'}shardSelector=true`)
    assert.equal(code, 500)
    assert.equal(body.message, 'invalid shard selector: unexpected expression kind 5; expected shardRange() call or || operator')
  }
})

test('without the gate the parameter means nothing', async t => {
  const { send } = await bench(t, [])
  const { body } = await send('GET widgets?shardSelector=nonsense(', undefined, EVERYWHERE)
  assert.equal(body.items.length, 36)
  assert.equal(body.metadata.shardInfo, undefined)
})
