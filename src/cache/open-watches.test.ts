import assert from 'node:assert/strict'
import test from 'node:test'
import { Recorder, widgets } from '../../test/kits/cache/widgets.ts'
import { unavailable } from '../schema/status-error.ts'
import { OpenWatches } from './open-watches.ts'
import { ResourceCache } from './resource-cache.ts'
import type { WatchEvent } from './watch-stream.ts'

const request = { selection: { namespace: '', name: '' }, from: 1, initial: false, bookmarks: false, timeoutMs: 60_000 }

/** `first` resolves once there is a bookmark. */
class BookmarkSink extends Recorder {
  readonly bookmarks: WatchEvent[] = []
  #resolve = () => {}
  readonly first = new Promise<void>(resolve => (this.#resolve = resolve))

  override event(event: WatchEvent): void {
    this.bookmarks.push(event)
    this.#resolve()
  }
}

test('watches that want bookmarks get the newest revision, encoded once for all of a resource', async () => {
  const cache = new ResourceCache(widgets, { since: 1 })
  let newest = 1
  const watches = new OpenWatches(() => newest, 1)
  const [first, second, without] = [new BookmarkSink(), new BookmarkSink(), new Recorder()]
  watches.open(cache, { ...request, bookmarks: true }).open(first)
  watches.open(cache, { ...request, bookmarks: true }).open(second)
  watches.open(cache, request).open(without)
  newest = 7
  await Promise.all([first.first, second.first])
  const { type, json } = first.bookmarks[0]!
  assert.deepEqual([type, JSON.parse(Buffer.from(json).toString()).metadata.resourceVersion], ['BOOKMARK', '7'])
  assert.equal(second.bookmarks[0]!.json, json)
  assert.deepEqual(without.events, [])
  watches.endAll()
})

test('the watches of a cache end with the error, those of others go on', () => {
  const [one, other] = [new ResourceCache(widgets, { since: 1 }), new ResourceCache(widgets, { since: 1 })]
  const watches = new OpenWatches(() => 1, 60_000)
  const [ended, open] = [new Recorder(), new Recorder()]
  watches.open(one, request).open(ended)
  watches.open(other, request).open(open)
  const error = unavailable('gone')
  watches.endThoseOf(one, error)
  assert.deepEqual([ended.ended, open.ended], [{ error }, undefined])
  watches.endAll()
  assert.deepEqual(open.ended, { error: undefined })
})

test('a watch that is opened after all have ended ends at once', () => {
  const watches = new OpenWatches(() => 1, 60_000)
  watches.endAll()
  const late = new Recorder()
  watches.open(new ResourceCache(widgets, { since: 1 }), request).open(late)
  assert.deepEqual(late.ended, { error: undefined })
})
