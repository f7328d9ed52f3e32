/** Every combination of resourceVersion, resourceVersionMatch, limit, continue and the parameters of watches, as a table. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { Recorder, Widget } from '../../test/kits/cache/widgets.ts'
import { type Answer, type Bench, openBench } from '../../test/kits/registry.ts'

/**
 * Four objects are written at 2 to 5, then `a` and `b` are changed at 6 and 7. The cache remembers the last two writes, and the store
 * what came after 5, so that 5 and later can be read and 4 cannot. In requests, FUTURE is a version that never comes and PAGE a token of a first page.
 */
async function history(more: { gates?: readonly string[] } = {}): Promise<Bench & { token: string }> {
  const bench = await openBench([Widget], { history: { bytes: 1 << 20, entries: 2, ageMs: 3_600_000 }, ...more })
  const { send } = bench
  for (const name of ['a', 'b', 'c', 'd']) await send('POST widgets', { metadata: { name }, spec: { color: 'red' } })
  const early = await send('GET widgets?limit=1')
  await send('PATCH widgets/a', { spec: { color: 'blue' } })
  const middle = await send('GET widgets?limit=2')
  await send('PATCH widgets/b', { spec: { color: 'blue' } })
  const late = await send('GET widgets?limit=1')
  assert.deepEqual(
    [early, middle, late].map(a => a.body.metadata.resourceVersion),
    ['5', '6', '7'],
  )
  await bench.store.compact(5)
  return { ...bench, token: middle.body.metadata.continue }
}

/** A summary of an answer: its objects with their colors and the version of the list, or the code and reason of the failure. */
function summaryOf({ code, body }: Answer): string {
  if (code !== 200) return `${code} ${body.reason}`
  const { resourceVersion, continue: next, remainingItemCount } = body.metadata
  const names = body.items.map((o: any) => o.metadata.name + o.spec.color[0])
  const rest = next === undefined ? '' : remainingItemCount === undefined ? ' more' : ` more ${remainingItemCount}`
  return `${names.join(' ')} @${resourceVersion}${rest}`
}

const LISTS: readonly (readonly [query: string, answer: string])[] = [
  ['', 'ab bb cr dr @7'],
  ['resourceVersion=0', 'ab bb cr dr @7'],
  ['resourceVersion=7', 'ab bb cr dr @7'],
  ['resourceVersion=6', 'ab bb cr dr @7'],
  ['resourceVersion=2', 'ab bb cr dr @7'],
  ['resourceVersion=FUTURE', '504 Timeout'],
  ['resourceVersion=abc', '400 BadRequest'],
  ['resourceVersion=-1', '400 BadRequest'],
  ['resourceVersion=18446744073709551615', '504 Timeout'],
  ['resourceVersion=18446744073709551616', '400 BadRequest'],

  ['resourceVersion=0&resourceVersionMatch=NotOlderThan', 'ab bb cr dr @7'],
  ['resourceVersion=4&resourceVersionMatch=NotOlderThan', 'ab bb cr dr @7'],
  ['resourceVersion=FUTURE&resourceVersionMatch=NotOlderThan', '504 Timeout'],
  ['resourceVersionMatch=NotOlderThan', '422 Invalid'],

  ['resourceVersion=7&resourceVersionMatch=Exact', 'ab bb cr dr @7'],
  ['resourceVersion=6&resourceVersionMatch=Exact', 'ab br cr dr @6'],
  ['resourceVersion=5&resourceVersionMatch=Exact', 'ar br cr dr @5'],
  ['resourceVersion=4&resourceVersionMatch=Exact', '410 Expired'],
  ['resourceVersion=FUTURE&resourceVersionMatch=Exact', '504 Timeout'],
  ['resourceVersion=0&resourceVersionMatch=Exact', '422 Invalid'],
  ['resourceVersionMatch=Exact', '422 Invalid'],
  ['resourceVersion=2&resourceVersionMatch=exact', '422 Invalid'],

  ['limit=3', 'ab bb cr @7 more 1'],
  ['limit=4', 'ab bb cr dr @7'],
  ['limit=0', 'ab bb cr dr @7'],
  ['limit=-1', 'ab bb cr dr @7'],
  ['limit=9223372036854775807', 'ab bb cr dr @7'],
  ['limit=9223372036854775808', '400 BadRequest'],
  ['limit=', '400 BadRequest'],
  ['limit=x', '400 BadRequest'],
  ['limit=2&resourceVersion=0', 'ab bb cr dr @7'],
  ['limit=2&resourceVersion=0&resourceVersionMatch=NotOlderThan', 'ab bb cr dr @7'],
  ['limit=2&resourceVersion=6&resourceVersionMatch=NotOlderThan', 'ab bb @7 more 2'],
  ['limit=2&resourceVersion=6', 'ab br @6 more 2'],
  ['limit=2&resourceVersion=6&resourceVersionMatch=Exact', 'ab br @6 more 2'],
  ['limit=2&resourceVersion=4', '410 Expired'],
  ['limit=2&resourceVersion=FUTURE', '504 Timeout'],
  ['limit=1&fieldSelector=spec.color%3Dred', 'cr @7 more'],
  ['limit=1&fieldSelector=spec.color%3Dred&resourceVersion=6', 'br @6 more'],
  ['limit=1&fieldSelector=metadata.name%3Dc', 'cr @7'],
  ['fieldSelector=metadata.name%3Dc,metadata.name%3Dc', 'cr @7'],
  ['fieldSelector=metadata.name%3Dc,metadata.name%3Dd', ' @7'],
  ['fieldSelector=metadata.name%3D', ' @7'],
  ['fieldSelector=metadata.name%3D&limit=1', ' @7'],
  ['fieldSelector=metadata.name!%3D', 'ab bb cr dr @7'],

  ['continue=PAGE', 'cr dr @6'],
  ['continue=PAGE&limit=1', 'cr @6 more 1'],
  ['continue=PAGE&resourceVersion=0', 'cr dr @6'],
  ['continue=PAGE&limit=1&resourceVersion=0', 'cr dr @6'],
  ['continue=PAGE&resourceVersion=6', '400 BadRequest'],
  ['continue=PAGE&resourceVersion=abc', '400 BadRequest'],
  ['continue=PAGE&resourceVersion=6&resourceVersionMatch=Exact', '422 Invalid'],
  ['continue=PAGE&resourceVersion=0&resourceVersionMatch=NotOlderThan', '422 Invalid'],
  ['continue=PAGE&resourceVersionMatch=NotOlderThan', '422 Invalid'],
  ['continue=nonsense', '400 BadRequest'],
  ['continue=nonsense&resourceVersion=6', '400 BadRequest'],

  ['sendInitialEvents=true', '422 Invalid'],
  ['sendInitialEvents=false&resourceVersion=2&resourceVersionMatch=NotOlderThan', '422 Invalid'],
  ['allowWatchBookmarks=true&timeoutSeconds=1', 'ab bb cr dr @7'],
  ['timeoutSeconds=soon', '400 BadRequest'],
  ['timeoutSeconds=-1', 'ab bb cr dr @7'],
  ['timeoutSeconds=9223372036854775808', '400 BadRequest'],
  ['timeoutSeconds=1&resourceVersion=FUTURE', '504 Timeout'],
  ['fieldSelector=spec.size%3D1', '400 BadRequest'],
  ['shardSelector=anything', 'ab bb cr dr @7'],
]

test('lists answer every combination of versions, matches, limits and tokens', async t => {
  const { send, token, close } = await history()
  t.after(close)
  await Promise.all(
    LISTS.map(async ([query, answer]) => {
      const written = query.replace('FUTURE', '1000000').replace('PAGE', encodeURIComponent(token))
      assert.equal(summaryOf(await send(`GET widgets?${written}`)), answer, query)
    }),
  )
})

const READS: readonly (readonly [query: string, answer: string])[] = [
  ['', '200 blue'],
  ['resourceVersion=0', '200 blue'],
  ['resourceVersion=2', '200 blue'],
  ['resourceVersion=7', '200 blue'],
  ['resourceVersion=1000000', '504 Timeout'],
  ['resourceVersion=abc', '400 BadRequest'],
]

test('a list of exactly one version is of that version, at whatever moment the next is written', async t => {
  const { send, close, caches } = await openBench([Widget])
  t.after(close)
  await send('POST widgets', { metadata: { name: 'a' }, spec: { color: 'red' } })
  for (let ticks = 0; ticks < 40; ticks++) {
    const newest = caches.revision
    const writing = send('PATCH widgets/a', { spec: { color: `color ${ticks}` } })
    for (let i = 0; i < ticks; i++) await undefined
    const listed = await send(`GET widgets?resourceVersion=${newest}&resourceVersionMatch=Exact`)
    assert.equal(listed.body.metadata.resourceVersion, String(newest), `${ticks} ticks after the write began`)
    await writing
  }
})

test('reads answer every kind of version', async t => {
  const { send, close } = await history()
  t.after(close)
  await Promise.all(
    READS.map(async ([query, answer]) => {
      const { code, body } = await send(`GET widgets/a?${query}`)
      assert.equal(`${code} ${body.spec?.color ?? body.reason}`, answer, query)
    }),
  )
})

/** The events of a watch once `c` was changed at 8 and `d` deleted at 9; `!` is the bookmark after the initial objects. */
const WATCHES: readonly (readonly [query: string, answer: string])[] = [
  ['watch=true', '+a6 +b7 +c4 +d5 ~c8 -d9'],
  ['watch=', '+a6 +b7 +c4 +d5 ~c8 -d9'],
  ['watch=true&resourceVersion=0', '+a6 +b7 +c4 +d5 ~c8 -d9'],
  ['watch=true&resourceVersion=7', '~c8 -d9'],
  ['watch=true&resourceVersion=5', '~a6 ~b7 ~c8 -d9'],
  ['watch=true&resourceVersion=8', '-d9'],
  ['watch=true&resourceVersion=4', '410 Expired'],
  ['watch=true&resourceVersion=1000000', ''],
  ['watch=true&resourceVersion=abc', '400 BadRequest'],
  ['watch=true&limit=1', '+a6 +b7 +c4 +d5 ~c8 -d9'],
  ['watch=true&limit=1&resourceVersion=7', '~c8 -d9'],
  ['watch=true&continue=PAGE&resourceVersion=7', '~c8 -d9'],
  ['watch=true&allowWatchBookmarks=true', '+a6 +b7 +c4 +d5 !7 ~c8 -d9'],
  ['watch=true&allowWatchBookmarks=true&resourceVersion=0', '+a6 +b7 +c4 +d5 !7 ~c8 -d9'],
  ['watch=true&allowWatchBookmarks=true&resourceVersion=7', '~c8 -d9'],
  ['watch=true&resourceVersion=2&resourceVersionMatch=NotOlderThan', '422 Invalid'],
  ['watch=true&resourceVersion=2&resourceVersionMatch=Exact', '422 Invalid'],
  ['watch=true&resourceVersionMatch=NotOlderThan', '422 Invalid'],

  ['watch=true&sendInitialEvents=true', '422 Invalid'],
  ['watch=true&sendInitialEvents=false', '422 Invalid'],
  ['watch=true&sendInitialEvents=true&resourceVersionMatch=Exact', '422 Invalid'],
  ['watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=PAGE', '422 Invalid'],
  ['watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan', '+a6 +b7 +c4 +d5 ~c8 -d9'],
  ['watch=true&sendInitialEvents=&resourceVersionMatch=NotOlderThan', '+a6 +b7 +c4 +d5 ~c8 -d9'],
  ['watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=4', '+a6 +b7 +c4 +d5 ~c8 -d9'],
  [
    'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=7',
    '+a6 +b7 +c4 +d5 !7 ~c8 -d9',
  ],
  ['watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=1000000', '504 Timeout'],
  ['watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=abc', '400 BadRequest'],
  ['watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan', '~c8 -d9'],
  ['watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0', '~c8 -d9'],
  ['watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=6', '~b7 ~c8 -d9'],
  ['watch=true&sendInitialEvents=0&resourceVersionMatch=NotOlderThan&resourceVersion=4', '410 Expired'],

  ['watch=true&fieldSelector=metadata.name%3Dd', '+d5 -d9'],
  ['watch=true&fieldSelector=spec.color%3Dred&resourceVersion=7', '-c8 -d9'],
  ['watch=true&fieldSelector=spec.color%3Dblue&resourceVersion=5', '+a6 +b7 +c8'],
  ['watch=true&fieldSelector=spec.color!%3Dblue&resourceVersion=5', '-a6 -b7 -c8 -d9'],
  ['watch=true&fieldSelector=metadata.namespace%3Delsewhere', ''],
  ['watch=true&fieldSelector=spec.size%3D1', '400 BadRequest'],
  ['watch=true&timeoutSeconds=x', '400 BadRequest'],
  ['watch=true&timeoutSeconds=0', '+a6 +b7 +c4 +d5 ~c8 -d9'],
  ['watch=true&timeoutSeconds=-1', 'nothing'],
  ['watch=true&timeoutSeconds=-9223372036854775808', '+a6 +b7 +c4 +d5 ~c8 -d9'],
  ['watch=true&timeoutSeconds=9223372036', '+a6 +b7 +c4 +d5 ~c8 -d9'],
  ['watch=true&timeoutSeconds=9223372037', 'nothing'],
  ['watch=true&timeoutSeconds=9223372036854775807', 'nothing'],
  ['watch=true&timeoutSeconds=9223372036854775808', '400 BadRequest'],
  ['watch=true&timeoutSeconds=-1&resourceVersion=4', 'nothing'],
  ['watch=true&timeoutSeconds=-1&resourceVersion=abc', '400 BadRequest'],
]

const SIGNS = { ADDED: '+', MODIFIED: '~', DELETED: '-', BOOKMARK: '!' }

function seen({ events, ended }: Recorder): string {
  if (ended && !ended.error) return 'nothing'
  if (ended?.error) return `${ended.error.code} ${ended.error.reason}`
  return events.map(e => `${SIGNS[e.type]}${e.type === 'BOOKMARK' ? '' : e.path.split('/')[1]}${e.revision}`).join(' ')
}

test('watches begin where every combination of versions, matches and initial events says', async t => {
  const { send, token, close } = await history()
  t.after(close)
  const open = await Promise.all(
    WATCHES.map(async ([query, answer]) => {
      const { code, body } = await send(`GET widgets?${query.replace('PAGE', encodeURIComponent(token))}`, undefined, { verb: 'watch' })
      if (code !== 200) return { query, answer, failure: `${code} ${body.reason}` }
      const sink = new Recorder()
      body.open(sink)
      return { query, answer, sink, close: () => body.close() }
    }),
  )
  await send('PATCH widgets/c', { spec: { color: 'blue' } })
  await send('DELETE widgets/d')
  for (const { query, answer, sink, failure } of open) assert.equal(sink ? seen(sink) : failure, answer, query)
  for (const { close } of open) close?.()
})

test('without the gate, watches begin with the objects that are there as they always did, and cannot ask for them', async t => {
  const { send, close } = await history({ gates: [] })
  t.after(close)
  const watch = (query: string) => send(`GET widgets?watch=true&${query}`, undefined, { verb: 'watch' })
  const { code, body } = await watch('sendInitialEvents=true&resourceVersionMatch=NotOlderThan')
  assert.deepEqual([code, body.details.causes.map((cause: { field: string }) => cause.field)], [422, ['sendInitialEvents']])
  const sink = new Recorder()
  const legacy = await watch('allowWatchBookmarks=true')
  legacy.body.open(sink)
  assert.equal(seen(sink), '+a6 +b7 +c4 +d5')
  legacy.body.close()
})

test('a watch by its path is checked as the list it looks like, and marks no end of initial events', async t => {
  const { send, close } = await history()
  t.after(close)
  const refused = await send('GET widgets?sendInitialEvents=true&resourceVersionMatch=NotOlderThan', undefined, { verb: 'watch' })
  assert.equal(refused.code, 422)
  const { body } = await send('GET widgets?allowWatchBookmarks=true', undefined, { verb: 'watch' })
  const sink = new Recorder()
  body.open(sink)
  assert.equal(seen(sink), '+a6 +b7 +c4 +d5')
  body.close()
})

test('a resourceVersion that is reached while a request waits for it is answered', async t => {
  const { send, close } = await history()
  t.after(close)
  const list = send('GET widgets?resourceVersion=8')
  const exact = send('GET widgets?resourceVersion=8&resourceVersionMatch=Exact')
  const read = send('GET widgets/a?resourceVersion=8')
  const watch = send('GET widgets?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=8')
  await send('PATCH widgets/c', { spec: { color: 'blue' } })
  assert.equal(summaryOf(await list), 'ab bb cb dr @8')
  assert.equal(summaryOf(await exact), 'ab bb cb dr @8')
  assert.equal((await read).code, 200)
  const sink = new Recorder()
  const { body } = await watch
  body.open(sink)
  assert.equal(seen(sink), '+a6 +b7 +c8 +d5')
  body.close()
})

const DELETIONS: readonly (readonly [query: string, answer: string, left: string])[] = [
  ['', 'ab bb cr dr @7', ''],
  ['dryRun=All', 'ab bb cr dr @7', 'a b c d'],
  ['dryRun=Some', '422 Invalid', 'a b c d'],
  ['limit=2', 'ab bb @7 more 2', 'c d'],
  ['continue=PAGE', 'cr dr @6', 'a b'],
  ['continue=PAGE&limit=1', 'cr @6 more 1', 'a b d'],
  ['fieldSelector=spec.color%3Dred', 'cr dr @7', 'a b'],
  ['fieldSelector=spec.size%3D1', '400 BadRequest', 'a b c d'],
  ['labelSelector=none', ' @7', 'a b c d'],
  ['labelSelector=(', '400 BadRequest', 'a b c d'],
  ['resourceVersion=6&resourceVersionMatch=Exact', 'ab br cr dr @6', ''],
  ['resourceVersion=6', 'ab br cr dr @6', ''],
  ['resourceVersion=6&resourceVersionMatch=NotOlderThan', 'ab bb cr dr @7', ''],
  ['resourceVersion=0', 'ab bb cr dr @7', ''],
  ['resourceVersion=4', '410 Expired', 'a b c d'],
  ['resourceVersion=4&resourceVersionMatch=Exact', '410 Expired', 'a b c d'],
  ['resourceVersionMatch=Exact', '422 Invalid', 'a b c d'],
  ['sendInitialEvents=true', '422 Invalid', 'a b c d'],
  ['gracePeriodSeconds=0&timeoutSeconds=5', 'ab bb cr dr @7', ''],
  ['timeoutSeconds=-5', 'ab bb cr dr @7', ''],
  ['gracePeriodSeconds=x', '400 BadRequest', 'a b c d'],
  ['propagationPolicy=Background', 'ab bb cr dr @7', ''],
  ['propagationPolicy=Foreground', 'ab bb cr dr @7', 'a b c d'],
  ['propagationPolicy=Sideways', '422 Invalid', 'a b c d'],
  ['orphanDependents=true', 'ab bb cr dr @7', 'a b c d'],
  ['orphanDependents=true&propagationPolicy=Orphan', '422 Invalid', 'a b c d'],
  ['ignoreStoreReadErrorWithClusterBreakingPotential=true', '422 Invalid', 'a b c d'],
]

test('delete collection takes the parameters of a list and of a delete', async () => {
  for (const [query, answer, left] of DELETIONS) {
    const { send, token, close } = await history()
    assert.equal(summaryOf(await send(`DELETE widgets?${query.replace('PAGE', encodeURIComponent(token))}`)), answer, query)
    const { body } = await send('GET widgets')
    assert.equal(body.items.map((o: any) => o.metadata.name).join(' '), left, query)
    await close()
  }
})

test('a deletion as of a version spares what came later', async t => {
  const { send, close } = await history()
  t.after(close)
  await send('POST widgets', { metadata: { name: 'e' }, spec: { color: 'red' } })
  assert.equal(summaryOf(await send('DELETE widgets?resourceVersion=7')), 'ab bb cr dr @7')
  assert.equal(summaryOf(await send('GET widgets')), 'er @12')
})

/** The order of refusals: parameters that cannot be read come first, in this order, then those that do not go together. */
const REFUSALS: readonly (readonly [query: string, message: string])[] = [
  ['timeoutSeconds=x', 'strconv.ParseInt: parsing "x": invalid syntax'],
  ['timeoutSeconds=', 'strconv.ParseInt: parsing "": invalid syntax'],
  ['timeoutSeconds=9223372036854775808', 'strconv.ParseInt: parsing "9223372036854775808": value out of range'],
  ['limit=1.5', 'strconv.ParseInt: parsing "1.5": invalid syntax'],
  ['limit=%07', 'strconv.ParseInt: parsing "\\a": invalid syntax'],
  ['limit=y&timeoutSeconds=x', 'strconv.ParseInt: parsing "x": invalid syntax'],
  ['limit=y&labelSelector=(', 'strconv.ParseInt: parsing "y": invalid syntax'],
  ['labelSelector=(&fieldSelector=x', "found '(', expected: !, identifier, or 'end of string'"],
  ['fieldSelector=x&resourceVersionMatch=Exact', "invalid selector: 'x'; can't understand 'x'"],
  [
    'fieldSelector=spec.size%3D1&resourceVersionMatch=Exact',
    'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
  ],
  ['fieldSelector=spec.size%3D1&resourceVersion=abc', 'field label not supported: spec.size'],
  [
    'resourceVersion=abc',
    'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
  ],
  [
    'resourceVersionMatch=Odd&continue=x&sendInitialEvents=true',
    'ListOptions.meta.k8s.io "" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided, resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided, resourceVersionMatch: Unsupported value: "Odd": supported values: "Exact", "NotOlderThan", "", sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list]',
  ],
  [
    'resourceVersionMatch=Exact&resourceVersion=0',
    'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
  ],
  [
    'watch=true&sendInitialEvents=true',
    'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
  ],
  [
    'watch=true&resourceVersionMatch=Exact&resourceVersion=5',
    'ListOptions.meta.k8s.io "" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided, resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"]',
  ],
]

test('refusals say what kube-apiserver says, the first reason first', async t => {
  const { send, close } = await history()
  t.after(close)
  for (const [query, message] of REFUSALS) {
    assert.equal((await send(`GET widgets?${query}`)).body.message, message, query)
    // A deletion reads its own options before it looks for the version.
    const isRead = !query.startsWith('watch') && !query.startsWith('resourceVersion=')
    if (isRead) assert.equal((await send(`DELETE widgets?propagationPolicy=Odd&${query}`)).body.message, message, query)
  }
})

test('the watch of one object may be narrowed down, but not to another', async t => {
  const { send, close } = await history()
  t.after(close)
  const events = async (query: string) => {
    const { code, body } = await send(`GET widgets/a?${query}`, undefined, { verb: 'watch' })
    if (code !== 200) return body.message
    const sink = new Recorder()
    body.open(sink)
    body.close()
    return seen(sink)
  }
  assert.equal(await events(''), '+a6')
  assert.equal(await events('resourceVersion=5'), '~a6')
  assert.equal(await events('fieldSelector='), '+a6')
  assert.equal(await events('fieldSelector=metadata.name%3Da'), '+a6')
  assert.equal(await events('fieldSelector=metadata.name%3Da,spec.color%3Dred'), '')
  assert.equal(await events('labelSelector=none'), '')
  const mismatch = "fieldSelector metadata.name doesn't match requested name"
  for (const other of ['metadata.name%3Db', 'metadata.name!%3Db', 'spec.color%3Dblue', 'metadata.namespace%3Ddefault'])
    assert.equal(await events(`fieldSelector=${other}`), mismatch, other)
  assert.equal(await events('fieldSelector=x'), "invalid selector: 'x'; can't understand 'x'")
})

test('tokens belong to one resource and namespace, and changed ones to none', async t => {
  const { send, token, close } = await history()
  t.after(close)
  const elsewhere = await send(`GET widgets?continue=${encodeURIComponent(token)}`, undefined, { namespace: 'elsewhere' })
  assert.equal(elsewhere.code, 400)
  const everywhere = await send(`GET widgets?continue=${encodeURIComponent(token)}`, undefined, { namespace: '' })
  assert.equal(everywhere.code, 400)
  const bytes = Buffer.from(token, 'base64url')
  for (let i = 0; i < bytes.length; i++) {
    const changed = Buffer.from(bytes)
    changed[i]! ^= 1
    assert.equal((await send(`GET widgets?continue=${changed.toString('base64url')}`)).code, 400)
  }
})
