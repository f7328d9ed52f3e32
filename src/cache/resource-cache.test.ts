import assert from 'node:assert/strict'
import test from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { drop, put, type State, widgets } from '../../test/kits/cache/widgets.ts'
import type { CachedRevision } from './cached-revision.ts'
import { ResourceCache } from './resource-cache.ts'
import type { Selection } from './selection.ts'

const ANY: Selection = { namespace: '', name: '' }
const paths = (objects: readonly CachedRevision[]) => objects.map(v => `${v.namespace}/${v.name}`)
const colorOf = (v: CachedRevision) => JSON.parse(v.json.toString()).spec.color

test('an object is read as the bytes that were written, with its revision inside', () => {
  const cache = new ResourceCache(widgets, { since: 1 })
  cache.apply(put('a/x', { color: 'red' }, 7))
  assert.equal(
    cache.get(`${widgets.prefix}a/x`)!.json.toString(),
    '{"kind":"Widget","apiVersion":"test.example/v1","metadata":{"name":"x","namespace":"a","resourceVersion":"7"},"spec":{"color":"red"}}',
  )
  cache.apply(drop('a/x', 8))
  assert.equal(cache.get(`${widgets.prefix}a/x`), undefined)
  assert.equal(cache.count, 0)
})

test('a namespace lists its own objects and not those of one whose name begins alike', () => {
  const cache = new ResourceCache(widgets, { since: 1 })
  for (const [i, path] of ['a/x', 'ab/x', 'a-b/x', 'b/x'].entries()) cache.apply(put(path, {}, i + 2))
  assert.deepEqual(paths(cache.list({ selection: { namespace: 'a', name: '' } }).objects), ['a/x'])
})

test('an index that was dropped for others is built again', () => {
  const cache = new ResourceCache(widgets, { since: 1 })
  const labels = (i: number) => ({ [`l${i}`]: 'v' })
  const listed = (i: number) => {
    const term = { on: 'label', key: `l${i}`, values: ['v'] } as const
    return paths(cache.list({ selection: { ...ANY, term, test: v => v.labels[term.key] === 'v' } }).objects)
  }
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 100; i++) assert.deepEqual(listed(i), round === 0 ? [] : [`a/x${i}`])
    for (let i = 0; i < 100; i++) cache.apply(put(`a/x${i}`, { labels: labels(i) }, 2 + round * 100 + i))
  }
})

test('history does not become old because the clock of the machine is set ahead', t => {
  const limits = { bytes: Number.POSITIVE_INFINITY, entries: Number.POSITIVE_INFINITY, ageMs: 60_000 }
  const cache = new ResourceCache(widgets, { since: 1, limits })
  cache.apply(put('a/x', { color: 'red' }, 2))
  const now = Date.now()
  t.mock.method(Date, 'now', () => now + 3_600_000)
  cache.apply(put('a/x', { color: 'blue' }, 3))
  assert.deepEqual(cache.list({ selection: ANY, at: 2 }).objects.map(colorOf), ['red'])
})

test('a record that cannot be decoded is kept as a fault, never served', () => {
  const cache = new ResourceCache(widgets, { since: 1 })
  const { after, ...event } = put('a/x', {}, 2)
  cache.apply({ ...event, after: { ...after!, value: Buffer.from('{"broken') } })
  cache.apply({
    ...event,
    key: `${widgets.prefix}a/y`,
    after: { ...after!, key: `${widgets.prefix}a/y`, value: new Uint8Array(), fault: 'checksum' },
  })
  assert.match(cache.get(`${widgets.prefix}a/x`)!.fault!, /no place for a resourceVersion/)
  assert.equal(cache.get(`${widgets.prefix}a/y`)!.fault, 'checksum')
})

test('an index answers what a scan would, also after labels and fields have changed', () => {
  const cache = new ResourceCache(widgets, { since: 1 })
  const term = { on: 'label', key: 'app', values: ['one', 'two'] } as const
  const byTerm: Selection = { ...ANY, term, test: v => term.values.some(value => v.labels['app'] === value) }
  cache.apply(put('a/x', { labels: { app: 'one' } }, 2))
  assert.deepEqual(paths(cache.list({ selection: byTerm }).objects), ['a/x'])
  cache.apply(put('a/y', { labels: { app: 'two' } }, 3))
  cache.apply(put('a/x', { labels: { app: 'three' } }, 4))
  cache.apply(put('a/b', { labels: { app: 'one' } }, 5))
  assert.deepEqual(paths(cache.list({ selection: byTerm }).objects), ['a/b', 'a/y'])
  cache.apply(drop('a/b', 6))
  assert.deepEqual(paths(cache.list({ selection: byTerm }).objects), ['a/y'])
})

type Step = { readonly path: string; readonly state: State | undefined }
const step: fc.Arbitrary<Step> = fc.record({
  path: fc.constantFrom('a/p', 'a/q', 'a/r', 'b/p', 'b/q', 'c/p'),
  state: fc.option(fc.record({ color: fc.constantFrom('red', 'green', 'blue') }), { nil: undefined, freq: 3 }),
})

test('reads at any revision of the window give the state of that revision, page by page', () => {
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 1, max: 4 }),
      (steps, keep, limit) => {
        const cache = new ResourceCache(widgets, {
          since: 1,
          limits: { bytes: Number.POSITIVE_INFINITY, entries: keep, ageMs: Number.POSITIVE_INFINITY },
        })
        const states: Map<string, string>[] = [new Map(), new Map()]
        for (const { path, state } of steps) {
          const now = new Map(states.at(-1))
          if (state) now.set(path, state.color!)
          else if (!now.delete(path)) continue
          states.push(now)
          cache.apply(state ? put(path, state, states.length - 1) : drop(path, states.length - 1))
        }
        for (let at = cache.oldest; at < states.length; at++)
          for (const namespace of ['', 'a']) {
            const wanted = [...states[at]!].filter(([path]) => path.startsWith(namespace)).sort(([a], [b]) => (a < b ? -1 : 1))
            assert.deepEqual(readPages(cache, { namespace, name: '' }, { at, limit }), wanted)
          }
        assert.equal(cache.count, states.at(-1)!.size)
      },
    ),
    { numRuns: 300 },
  )
})

/** Every page of a list, checking that each tells how many follow. */
function readPages(cache: ResourceCache, selection: Selection, { at, limit }: { at: number; limit: number }): [string, string][] {
  const all = cache.list({ selection, at }).objects
  const pages: CachedRevision[] = []
  for (let after: string | undefined; ; ) {
    const { objects, next, remaining } = cache.list({ selection, at, limit, ...(after !== undefined && { after }) })
    pages.push(...objects)
    if (next === undefined) break
    assert.equal(remaining, all.length - pages.length)
    after = next
  }
  assert.deepEqual(paths(pages), paths(all))
  return pages.map(v => [`${v.namespace}/${v.name}`, colorOf(v)])
}

test('history that is dropped is released, whatever its size', () => {
  const cache = new ResourceCache(widgets, {
    since: 1,
    limits: { bytes: 4 << 20, entries: Number.POSITIVE_INFINITY, ageMs: Number.POSITIVE_INFINITY },
  })
  const before = bytesInBuffers()
  for (let revision = 2; revision < 102; revision++) cache.apply(put('a/x', { color: 'x'.repeat(1 << 20) }, revision))
  // At 6256f0f1 100 MB were held: the log kept up to 1,024 dropped revisions.
  assert.ok(bytesInBuffers() - before < 16 << 20, `${bytesInBuffers() - before} bytes are held`)
  assert.ok(cache.historyBytes <= 4 << 20)
  assert.deepEqual(
    [...cache.since(cache.oldest)].map(({ revision }) => revision),
    [99, 100, 101],
  )
})

test('history ages where nothing is written', () => {
  let now = 0
  const limits = { bytes: Number.POSITIVE_INFINITY, entries: Number.POSITIVE_INFINITY, ageMs: 1000 }
  const cache = new ResourceCache(widgets, { since: 1, limits, now: () => now })
  cache.apply(put('a/x', { color: 'red' }, 2))
  cache.apply(put('a/x', { color: 'blue' }, 3))
  now = 2000
  assert.ok(cache.historyBytes > 0)
  cache.dropOld()
  assert.deepEqual([cache.historyBytes, cache.oldest, [...cache.since(3)]], [0, 3, []])
})

/** Bytes in buffers that are still referred to. */
function bytesInBuffers(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  return process.memoryUsage().arrayBuffers
}
