import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { drop, put, Recorder, widgets } from '../../test/kits/cache/widgets.ts'
import { unavailable } from '../schema/status-error.ts'
import { bookmarkOf } from './bookmark.ts'
import { ResourceCache } from './resource-cache.ts'
import type { Selection } from './selection.ts'
import { Watch } from './watch.ts'

const ANY: Selection = { namespace: '', name: '' }
const red: Selection = { ...ANY, term: { on: 'field', key: 'spec.color', values: ['red'] }, test: v => v.fields['spec.color'] === 'red' }
const settled = () => new Promise<void>(resolve => setTimeout(resolve, 5))

/** A cache and its newest revision, written to in order. */
function writable(entries = 1000) {
  const cache = new ResourceCache(widgets, {
    since: 1,
    limits: { bytes: Number.POSITIVE_INFINITY, entries, ageMs: Number.POSITIVE_INFINITY },
  })
  let newest = 1
  return {
    cache,
    newest: () => newest,
    put: (path: string, color = 'red') => cache.apply(put(path, { color }, ++newest)),
    drop: (path: string) => cache.apply(drop(path, ++newest)),
    damage(path: string) {
      const event = put(path, {}, ++newest)
      cache.apply({ ...event, after: { ...event.after!, value: new Uint8Array(), fault: 'checksum' } })
    },
    open(selection: Selection, { from = newest, initial = false, sink = new Recorder() } = {}) {
      const watch = new Watch(
        cache,
        { selection, from, initial, bookmarks: false, timeoutMs: 60_000 },
        { newest: () => newest, onEnd() {} },
      )
      watch.open(sink)
      return { watch, sink }
    },
  }
}
const eventsOf = (sink: Recorder) => sink.events.map(e => `${e.type} ${e.path} ${e.color}@${e.revision}`)

test('objects that enter and leave a selection are added and deleted, shown as they were inside it', () => {
  const { put, drop, open } = writable()
  const { sink, watch } = open(red)
  put('a/x', 'blue')
  put('a/x', 'red')
  put('a/x', 'red')
  put('a/x', 'green')
  put('a/x', 'red')
  drop('a/x')
  assert.deepEqual(eventsOf(sink), ['ADDED a/x red@3', 'MODIFIED a/x red@4', 'DELETED a/x red@5', 'ADDED a/x red@6', 'DELETED a/x red@7'])
  watch.close()
})

test('a watch that was ended before it was opened ends when it is', () => {
  const { cache, newest } = writable()
  const request = { selection: ANY, from: newest(), initial: false, bookmarks: false, timeoutMs: 60_000 }
  const watch = new Watch(cache, request, { newest, onEnd() {} })
  const sink = new Recorder()
  watch.end()
  watch.open(sink)
  assert.deepEqual(sink.ended, { error: undefined })
})

test('a watch that ends cleanly has sent all initial objects before, also if it was ended earlier', () => {
  const { cache, newest, put } = writable()
  put('a/x')
  put('a/y')
  const request = { selection: ANY, from: newest(), initial: true, bookmarks: false, timeoutMs: 60_000 }
  const watch = new Watch(cache, request, { newest, onEnd() {} })
  const sink = new Recorder()
  watch.end()
  watch.open(sink)
  assert.deepEqual(eventsOf(sink), ['ADDED a/x red@2', 'ADDED a/y red@3'])
  assert.ok(sink.ended)

  const slow = new Recorder()
  slow.backlog = Number.POSITIVE_INFINITY
  const { watch: held } = writable().open(ANY, { initial: true, sink: slow })
  held.end()
  assert.ok(!slow.ended, 'the beginning is still to be sent')
  held.end(unavailable('gone'))
  assert.ok(slow.ended, 'an error says enough')
})

test('a watch with bookmarks gets one before its timeout, unless that is very short', async () => {
  const { cache, newest, put } = writable()
  put('a/x')
  const openFor = (timeoutMs: number) => {
    const sink = new Recorder()
    const watch = new Watch(cache, { selection: ANY, from: newest(), initial: false, bookmarks: true, timeoutMs }, { newest, onEnd() {} })
    watch.open(sink)
    return { sink, watch }
  }
  const short = openFor(5)
  const long = openFor(2005)
  while (!short.sink.ended || long.sink.events.length === 0) await settled()
  assert.deepEqual(short.sink.events, [])
  assert.deepEqual(
    long.sink.events.map(({ type, revision }) => [type, revision]),
    [['BOOKMARK', newest()]],
  )
  long.watch.close()
})

test('a watch gets no regular bookmark right after it was opened', async () => {
  const { cache, newest, put } = writable()
  put('a/x')
  const sink = new Recorder()
  const request = { selection: ANY, from: newest(), initial: false, bookmarks: true, timeoutMs: 60_000 }
  const watch = new Watch(cache, request, { newest, onEnd() {} })
  watch.open(sink)
  const tick = () => watch.regularBookmark(bookmarkOf(cache.resource, newest()))
  tick()
  assert.deepEqual(sink.events, [])
  tick()
  assert.deepEqual(
    sink.events.map(({ type }) => type),
    ['BOOKMARK'],
  )
  watch.close()
})

test('a watch from a past revision replays what followed, then goes on live', async () => {
  const { put, open } = writable()
  put('a/x')
  put('a/y')
  const { sink, watch } = open(ANY, { from: 2 })
  put('a/z')
  await settled()
  assert.deepEqual(eventsOf(sink), ['ADDED a/y red@3', 'ADDED a/z red@4'])
  watch.close()
})

test('a watch from a compacted revision ends with 410', () => {
  const { put, open } = writable(2)
  for (let i = 0; i < 5; i++) put('a/x')
  const { sink } = open(ANY, { from: 2 })
  assert.equal(sink.ended?.error?.code, 410)
  assert.equal(sink.ended?.error?.reason, 'Expired')
})

test('a watch from a future revision sends nothing until then', () => {
  const { put, open } = writable()
  const { sink, watch } = open(ANY, { from: 4 })
  put('a/x')
  put('a/y')
  put('a/z')
  put('a/w')
  assert.deepEqual(eventsOf(sink), ['ADDED a/w red@5'])
  watch.close()
})

test('nothing is buffered for a slow client: it resumes from the log, and is dropped when the log has moved past it', async () => {
  const { put, open, cache } = writable(3)
  const kept = open(ANY)
  const lost = open(ANY)
  kept.sink.hold(2 << 20)
  lost.sink.hold(2 << 20)
  put('a/1')
  assert.equal(cache.watchers.size, 0)
  put('a/2')
  put('a/3')
  kept.sink.release()
  await settled()
  assert.deepEqual(eventsOf(kept.sink), ['ADDED a/1 red@2', 'ADDED a/2 red@3', 'ADDED a/3 red@4'])
  for (const path of ['a/4', 'a/5', 'a/6', 'a/7']) put(path)
  lost.sink.release()
  await settled()
  assert.equal(lost.sink.ended?.error?.code, 410)
  assert.equal(kept.sink.events.length, 7)
  kept.watch.close()
})

type Act = { readonly path: string; readonly color: string | undefined }
const acts = fc.array(
  fc.record({
    path: fc.constantFrom('a/p', 'a/q', 'b/p', 'b/q'),
    color: fc.option(fc.constantFrom('red', 'blue'), { nil: undefined, freq: 3 }),
  }),
  { minLength: 1, maxLength: 40 },
)
const selections: readonly Selection[] = [
  ANY,
  red,
  { namespace: 'a', name: '' },
  { namespace: 'b', name: 'q' },
  { namespace: '', name: 'p' },
  { ...red, namespace: 'a' },
]

test('from any revision and selection, the events in order lead to the final state', async () => {
  await fc.assert(
    fc.asyncProperty(
      acts,
      fc.integer({ min: 0, max: 40 }),
      fc.integer({ min: 0, max: selections.length - 1 }),
      fc.boolean(),
      fc.boolean(),
      async (plan, opensAt, chosen, initial, slow) => {
        const { cache, put, drop, open, newest } = writable()
        const selection = selections[chosen]!
        const sink = new Recorder()
        const state = new Map<string, string>()
        let opened: Watch | undefined
        const openNow = () => {
          if (!initial) for (const v of cache.list({ selection }).objects) state.set(`${v.namespace}/${v.name}`, v.fields['spec.color']!)
          if (slow) sink.hold(2 << 20)
          opened = open(selection, { from: newest(), initial, sink }).watch
        }
        for (const [i, { path, color }] of (plan as Act[]).entries()) {
          if (i === opensAt) openNow()
          if (color) put(path, color)
          else if (cache.get(`${widgets.prefix}${path}`)) drop(path)
        }
        if (!opened) openNow()
        sink.release()
        await settled()
        let last = 0
        for (const { type, path, color, revision } of sink.events) {
          if (type === 'DELETED') assert.ok(state.delete(path), `${path} was not there`)
          else {
            assert.equal(state.has(path), type === 'MODIFIED')
            state.set(path, color!)
          }
          if (!initial) assert.ok(revision > last)
          last = revision
        }
        const wanted = cache.list({ selection }).objects.map(v => [`${v.namespace}/${v.name}`, v.fields['spec.color']])
        assert.deepEqual([...state].sort(), wanted.sort())
        opened!.close()
        assert.equal(cache.watchers.size, 0)
      },
    ),
    { numRuns: 200 },
  )
})

test('a watch that meets an object that cannot be read names it and ends, wherever it meets it', () => {
  const end =
    'Internal error occurred: StorageError: corrupt object, Code: 7, Key: /widgets/n/b, ResourceVersion: 0, AdditionalErrorMsg: checksum'
  const seen = (sink: Recorder) => [...eventsOf(sink), sink.ended?.error?.message]
  const w = writable()
  w.put('n/a')
  w.damage('n/b')
  assert.deepEqual(seen(w.open(ANY, { initial: true }).sink), ['ADDED n/a red@2', end])
  assert.deepEqual(seen(w.open(ANY, { from: 1 }).sink), ['ADDED n/a red@2', end])
  const { sink } = w.open(ANY)
  w.drop('n/b')
  assert.deepEqual(seen(sink), ['saw a DELETED event, but object data is corrupt - checksum'])
  assert.equal(w.cache.watchers.size, 0)
})

test('between large objects a watch yields to others', async () => {
  const { put, open } = writable()
  for (let i = 0; i < 5; i++) put(`a/x${i}`, 'x'.repeat(70_000))
  const { sink, watch } = open(ANY, { initial: true })
  assert.equal(sink.events.length, 1)
  while (sink.events.length < 5) await settled()
  watch.close()
})
