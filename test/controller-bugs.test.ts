// The bugs of docs/testing-controllers.md: for each fault a controller that works without it and not with it, and one that does.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type Fault, type RunningServer, start } from '../src/index.ts'
import { eventually, patient } from './kit.ts'

let server: RunningServer
before(async () => {
  server = await start({ controllers: ['none'] })
})
after(() => server.close())
beforeEach(() => server.reset())

const MAPS = '/api/v1/namespaces/default/configmaps'
const SECRETS = '/api/v1/namespaces/default/secrets'

const configMap = (name: string, data: Record<string, string> = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data })
const send = (method: string, path: string, body?: object, type = 'application/json') =>
  server.fetch(path, { method, ...(body && { body: JSON.stringify(body) }), headers: { 'content-type': type } })
const read = async (path: string) => (await (await server.fetch(path)).json()) as any
const setData = (name: string, data: object) => send('PATCH', `${MAPS}/${name}`, { data }, 'application/merge-patch+json')
const names = async (path: string): Promise<string[]> => (await read(path)).items.map(({ metadata }: any) => metadata.name)
const hits = () => server.faults.report().map(fault => fault.hits)

/** One test for each of two variants of a controller: the wrong one with its consequence, and the right one. */
function bug<T>(
  name: string,
  fault: Fault,
  { wrong, right, outcome }: { wrong: () => Promise<T>; right: () => Promise<T>; outcome: { wrong: T; right: T; without?: T } },
): void {
  for (const way of ['wrong', 'right'] as const)
    test(`${name}: ${way}`, patient, async () => {
      await server.apply(configMap('a', { count: '0' }))
      const run = way === 'wrong' ? wrong : right
      // Without the fault no test shows a difference.
      assert.deepEqual(await run(), outcome.without ?? outcome.right)
      await server.reset()
      await server.apply(configMap('a', { count: '0' }))
      server.faults.add(fault)
      assert.deepEqual(await run(), outcome[way])
      assert.deepEqual(hits(), [1])
    })
}

const countTo = async (isTriedAgain: boolean): Promise<string> => {
  for (;;) {
    const map = await read(`${MAPS}/a`)
    map.data.count = String(Number(map.data.count) + 1)
    const { status } = await send('PUT', `${MAPS}/a`, map)
    if (status !== 409 || !isTriedAgain) return (await read(`${MAPS}/a`)).data.count
  }
}
bug(
  'a conflict ends the update',
  { verb: 'update', resource: 'configmaps', status: 409, times: 1 },
  {
    wrong: () => countTo(false),
    right: () => countTo(true),
    outcome: { wrong: '0', right: '1' },
  },
)

const persistent = async (isPatient: boolean): Promise<string> => {
  const waits: number[] = []
  for (;;) {
    const answer = await send('POST', SECRETS, { metadata: { name: 'made' } })
    if (answer.status === 201) return `waited for ${waits.length === 0 ? 'nothing' : waits.join()}`
    // A real controller waits; what for is what matters here.
    if (isPatient) waits.push(Number(answer.headers.get('retry-after')))
  }
}
bug(
  'a server that is too busy is asked again at once',
  { verb: 'create', status: 429, retryAfterSeconds: 7, times: 1 },
  {
    wrong: () => persistent(false),
    right: () => persistent(true),
    outcome: { wrong: 'waited for nothing', right: 'waited for 7', without: 'waited for nothing' },
  },
)

const claim = async (isChecked: boolean): Promise<string> => {
  for (;;) {
    const { ok } = await send('POST', SECRETS, { metadata: { name: 'made' } })
    if (!ok && isChecked) continue
    await setData('a', { secret: 'made' })
    const isThere = (await names(SECRETS)).includes('made')
    return `${(await read(`${MAPS}/a`)).data.secret} is ${isThere ? '' : 'not '}there`
  }
}
bug(
  'an error is not looked at',
  { verb: 'create', resource: 'secrets', status: 500, times: 1 },
  {
    wrong: () => claim(false),
    right: () => claim(true),
    outcome: { wrong: 'made is not there', right: 'made is there' },
  },
)

test('a timeout that the server tells is an error like any other', patient, async () => {
  await server.apply(configMap('a'))
  server.faults.add({ kind: 'Secret', verb: 'create', status: 504, times: 1 })
  assert.equal(await claim(true), 'made is there')
  assert.deepEqual(hits(), [1])
})

/** Two events of one object: with a queue the second is looked at when the first is done. */
for (const way of ['wrong', 'right'] as const)
  test(`an object is reconciled while it is being reconciled: ${way}`, patient, async () => {
    const reconcile = async () => {
      if ((await names(SECRETS)).length === 0) await send('POST', SECRETS, { metadata: { generateName: 'child-' } })
    }
    server.faults.add({ verb: 'create', resource: 'secrets', delayMs: 60_000, times: 1 })
    const first = reconcile()
    await eventually('the first create', () => hits()[0] || undefined)
    const second = way === 'wrong' ? reconcile() : first.then(reconcile)
    if (way === 'wrong') await second
    // Delayed requests continue.
    server.faults.clear()
    await Promise.all([first, second])
    assert.equal((await names(SECRETS)).length, way === 'wrong' ? 2 : 1)
  })

const handleAll = async (isCaught: boolean): Promise<string[]> => {
  const handled: string[] = []
  const queue = ['x', 'y']
  const loop = async () => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift())
      try {
        const { status } = await send('POST', SECRETS, { metadata: { name } })
        if (status === 201) handled.push(name)
      } catch (error) {
        if (!isCaught) throw error
        queue.push(name)
      }
  }
  await loop().catch(() => {})
  return handled.sort()
}
bug(
  'what is not an answer ends the loop',
  { verb: 'create', resource: 'secrets', disconnect: true, times: 1 },
  {
    wrong: () => handleAll(false),
    right: () => handleAll(true),
    outcome: { wrong: [], right: ['x', 'y'] },
  },
)

const secretOf = async (isNamed: boolean): Promise<number> => {
  const { metadata } = await read(`${MAPS}/a`)
  const child = isNamed ? { name: `a-${metadata.uid}` } : { generateName: 'a-' }
  const reconcile = async () => {
    try {
      const { status } = await send('POST', SECRETS, { metadata: child })
      return status === 201 || status === 409
    } catch {
      return false
    }
  }
  while (!(await reconcile())) {}
  return (await names(SECRETS)).length
}
for (const [name, fault] of [
  ['the answer is lost', { loseAnswer: true }],
  ['the server restarts after the write', { restart: 'after' }],
] as const)
  bug(
    `a second object is made when ${name}`,
    { verb: 'create', resource: 'secrets', ...fault, times: 1 },
    {
      wrong: () => secretOf(false),
      right: () => secretOf(true),
      outcome: { wrong: 2, right: 1 },
    },
  )

test('a server that restarts before the write has not written', patient, async () => {
  await server.apply(configMap('a'))
  server.faults.add({ verb: 'create', resource: 'secrets', restart: 'before', downMs: 50, times: 1 })
  assert.equal(await secretOf(false).catch(() => secretOf(false)), 1)
  assert.deepEqual(hits(), [1])
})

test('a timeout that ends with the headers waits for a slow body for ever', patient, async () => {
  await server.apply(configMap('a'))
  server.faults.add({ verb: 'get', name: 'a', bytesPerSecond: 20 })
  const patience = new AbortController()
  const wrong = (async () => {
    const whole = new AbortController()
    const timer = setTimeout(() => whole.abort(), 60_000)
    const answer = await server.fetch(`${MAPS}/a`, { signal: AbortSignal.any([whole.signal, patience.signal]) })
    clearTimeout(timer)
    return answer.text()
  })().then(
    () => 'read',
    () => 'given up',
  )
  const right = (async () => (await server.fetch(`${MAPS}/a`, { signal: AbortSignal.timeout(200) })).text())().then(
    () => 'read',
    () => 'given up',
  )
  assert.equal(await right, 'given up')
  assert.equal(await Promise.race([wrong, 'waits']), 'waits')
  patience.abort()
  assert.equal(await wrong, 'given up')
})

/** Removes finished objects. Another object of the same name may have been created since the read. */
const cleanUp = async (isCertain: boolean): Promise<string[]> => {
  await setData('a', { phase: 'Done' })
  await send('DELETE', `${MAPS}/a`)
  await server.apply(configMap('a', { phase: 'Running' }))
  const { data, metadata } = await read(`${MAPS}/a`)
  if (data.phase === 'Done') await send('DELETE', `${MAPS}/a`, isCertain ? { preconditions: { uid: metadata.uid } } : {})
  return names(MAPS)
}
bug(
  'an object is deleted by what it was',
  { verb: 'get', resource: 'configmaps', staleBy: 2, times: 1 },
  {
    wrong: () => cleanUp(false),
    right: () => cleanUp(true),
    outcome: { wrong: [], right: ['a'] },
  },
)

type Seen = { readonly type: string; readonly object: any }

/** A watch of config maps from a revision; ends as it ends, without an error. */
async function* watch(from: string, signal: AbortSignal): AsyncIterable<Seen> {
  try {
    const answer = await server.fetch(`${MAPS}?watch=true&resourceVersion=${from}`, { signal })
    let text = ''
    for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
      const lines = (text + Buffer.from(chunk).toString()).split('\n')
      text = lines.pop()!
      for (const line of lines) yield JSON.parse(line)
    }
  } catch {
    // Cut off: whoever watches begins anew, or does not.
  }
}

type Informer = {
  readonly known: Set<string>
  /** Lists once more, as informers do now and then. */
  resync(): Promise<void>
}
type Habits = { readonly beginsAnew: boolean; readonly replaces: boolean; readonly resyncs: boolean }
const GOOD: Habits = { beginsAnew: true, replaces: true, resyncs: true }

/** Keeps the names of all config maps, as informers do; each bad habit is one that some have. */
async function inform(habits: Habits, signal: AbortSignal): Promise<Informer> {
  const known = new Set<string>()
  const list = async () => {
    const { items, metadata } = await read(MAPS)
    if (habits.replaces) known.clear()
    for (const item of items) known.add(item.metadata.name)
    return metadata.resourceVersion as string
  }
  const follow = async (from: string) => {
    for (let at = from; !signal.aborted; at = await list().catch(() => at)) {
      for await (const { type, object } of watch(at, signal)) {
        if (type === 'ERROR') break
        if (type === 'DELETED') known.delete(object.metadata.name)
        else known.add(object.metadata.name)
      }
      if (!habits.beginsAnew) return
    }
  }
  void follow(await list())
  return { known, resync: async () => void (habits.resyncs && (await list())) }
}

/** Whether an informer with these habits is complete after some event; the time it takes does not matter. */
function informed(
  name: string,
  fault: Fault,
  { bad, happens }: { bad: Partial<Habits>; happens: (informer: Informer) => Promise<unknown> },
) {
  for (const way of ['wrong', 'right'] as const)
    test(`${name}: ${way}`, patient, async t => {
      const ending = new AbortController()
      t.after(() => ending.abort())
      await server.apply(configMap('a'), configMap('b'))
      const informer = await inform(way === 'wrong' ? { ...GOOD, ...bad } : GOOD, ending.signal)
      const witness = await inform(GOOD, ending.signal)
      await eventually('both watches', () => server.requests().filter(({ verb }) => verb === 'watch').length >= 2 || undefined)
      server.faults.add(fault)
      await happens(informer)
      const there = await eventually('an answer', () => names(MAPS).catch(() => undefined))
      const knowsAll = () => [...informer.known].sort().join() === there.join()
      if (way === 'right') await eventually('the informer', () => knowsAll() || undefined)
      else {
        await eventually('another informer', async () => {
          await witness.resync().catch(() => {})
          return [...witness.known].sort().join() === there.join() || undefined
        })
        assert.equal(knowsAll(), false)
      }
      assert.ok(hits()[0]! > 0)
    })
}

informed(
  'a dropped event is never made up for',
  { verb: 'watch', resource: 'configmaps', events: 'drop' },
  {
    bad: { resyncs: false },
    async happens(informer) {
      await server.apply(configMap('new'))
      await eventually('the drop', () => (hits()[0]! >= 2 ? true : undefined))
      await informer.resync()
    },
  },
)

informed(
  'a watch that ends is not begun anew',
  { verb: 'watch', resource: 'configmaps', events: 'end', times: 2 },
  {
    bad: { beginsAnew: false },
    async happens() {
      await server.apply(configMap('first'))
      await server.apply(configMap('new'))
    },
  },
)

informed(
  'a watch that a restart cuts off is not begun anew',
  { verb: 'create', resource: 'configmaps', restart: 'after', times: 1 },
  {
    bad: { beginsAnew: false },
    async happens() {
      await assert.rejects(send('POST', MAPS, configMap('first')))
      await server.apply(configMap('new'))
    },
  },
)

informed(
  'a list after 410 forgets what was deleted meanwhile',
  { verb: 'watch', resource: 'configmaps', events: 'gone', times: 2 },
  {
    bad: { replaces: false },
    happens: () => send('DELETE', `${MAPS}/b`),
  },
)

/** A controller that looks up its own child in its informer. */
const childrenOf = async (isNamed: boolean): Promise<number> => {
  const ending = new AbortController()
  const told: string[] = []
  const { metadata } = await read(MAPS)
  const listening = (async () => {
    for await (const { object } of watch(metadata.resourceVersion, ending.signal)) told.push(object.metadata.name)
  })()
  const reconcile = async () => {
    if (told.some(name => name.startsWith('child'))) return
    await send('POST', MAPS, { metadata: isNamed ? { name: 'child' } : { generateName: 'child-' } })
  }
  await reconcile()
  // Its watch usually is quick; that it has to be is the bug.
  if (server.faults.report().length === 0) await eventually('the event', () => told[0])
  await reconcile()
  ending.abort()
  await listening
  return (await names(MAPS)).filter(name => name.startsWith('child')).length
}
for (const way of ['wrong', 'right'] as const)
  test(`a write is awaited in the cache: ${way}`, patient, async () => {
    assert.equal(await childrenOf(way === 'right'), 1)
    await server.reset()
    server.faults.add({ verb: 'watch', resource: 'configmaps', events: { delayMs: 60_000 } })
    assert.equal(await childrenOf(way === 'right'), way === 'wrong' ? 2 : 1)
  })
