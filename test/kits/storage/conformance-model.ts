/** Random histories, checked against the simplest possible store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Compacted, type Entry, type Event, FutureRevision, type Revision, type Store } from '../../../src/storage/store.ts'
import { bytes, collect, type Subject, text } from './conformance-kit.ts'
import { ManualClock } from './manual-clock.ts'

type Shown = { key: string; value: string; created: Revision; modified: Revision }
type State = ReadonlyMap<string, Shown>

type Step =
  | { do: 'swap'; key: string; value: string | null; expect: 'current' | 'none' | 'stale' }
  | { do: 'together'; keys: string[]; value: string }
  | { do: 'get'; key: string; back: number }
  | { do: 'list'; prefix: string; limit: number | undefined; after: string | undefined; back: number }
  | { do: 'watch'; prefix: string; back: number }
  | { do: 'compact'; back: number }
  | { do: 'reopen' }

type Together = Extract<Step, { do: 'together' }>

/** Keeps the whole state of every revision. */
class Model {
  readonly states: State[] = [new Map(), new Map()]
  oldest: Revision = 1

  get newest(): Revision {
    return this.states.length - 1
  }

  current(): State {
    return this.states[this.newest]!
  }

  write(key: string, value: string | null): void {
    const next = new Map(this.current())
    const modified = this.newest + 1
    if (value === null) next.delete(key)
    else next.set(key, { key, value, created: next.get(key)?.created ?? modified, modified })
    this.states.push(next)
  }

  list(prefix: string, at: Revision): Shown[] {
    const found = [...this.states[at]!.values()].filter(entry => entry.key.startsWith(prefix))
    return found.sort((a, b) => compareBytes(a.key, b.key))
  }

  /** Every change of a prefix after a revision, derived from the states alone. */
  changes(prefix: string, after: Revision): string[] {
    const changes: string[] = []
    for (let r = after + 1; r <= this.newest; r++) {
      const [old, now] = [this.states[r - 1]!, this.states[r]!]
      const key = [...new Set([...old.keys(), ...now.keys()])].find(k => old.get(k)?.modified !== now.get(k)?.modified)!
      if (key.startsWith(prefix)) changes.push(`${r} ${key} ${now.get(key)?.created} ${now.get(key)?.value}`)
    }
    return changes
  }
}

/** Adds these tests to the suite of one store. */
export function describeModel(subject: Subject): void {
  test('any history of swaps, reads, lists, watches and compactions agrees with the model', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step(), { maxLength: 60 }), async steps => {
        const clock = new ManualClock()
        let store = await subject.open(clock)
        try {
          const model = new Model()
          for (const step of steps) {
            if (step.do === 'reopen') store = (await subject.reopen?.(store, clock)) ?? store
            else await run(step, { store, model, remote: subject.remote })
          }
          assert.deepEqual(await store.extent(), { oldest: model.oldest, newest: model.newest })
          await run({ do: 'list', prefix: '', limit: undefined, after: undefined, back: 0 }, { store, model })
          await run({ do: 'watch', prefix: '', back: model.newest - model.oldest }, { store, model })
        } finally {
          await store.close()
        }
      }),
      { numRuns: subject.runs ?? 60, includeErrorInReport: true },
    )
  })
}

const key = () => fc.constantFrom('/a', '/a/b', '/a/c', '/a/ü', '/b', '/b/\u{1f6a2}', '/b/\uff5e', '/c/d/e')
const prefix = () => fc.constantFrom('', '/', '/a', '/a/', '/b/', '/none')
const back = () => fc.integer({ min: -1, max: 20 })

function step(): fc.Arbitrary<Step> {
  return fc.oneof(
    { weight: 8, arbitrary: fc.record({ do: fc.constant('swap' as const), key: key(), value: value(), expect: expectation() }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('together' as const), keys: fc.array(key(), { maxLength: 6 }), value: fc.string() }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('get' as const), key: key(), back: back() }) },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constant('list' as const), prefix: prefix(), limit: limit(), after: after(), back: back() }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('watch' as const), prefix: prefix(), back: back() }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('compact' as const), back: back() }) },
    { weight: 1, arbitrary: fc.constant({ do: 'reopen' as const }) },
  )
}

const value = () => fc.option(fc.string({ maxLength: 12 }), { freq: 3 })
const expectation = () => fc.constantFrom('current' as const, 'current' as const, 'current' as const, 'none' as const, 'stale' as const)
const limit = () => fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined })
const after = () => fc.option(key(), { nil: undefined })

async function run(
  step: Exclude<Step, { do: 'reopen' }>,
  { store, model, remote = false }: { store: Store; model: Model; remote?: boolean | undefined },
): Promise<void> {
  switch (step.do) {
    case 'swap':
      return runSwap(step, store, model)
    case 'together':
      return runTogether(step, { store, model, remote })
    case 'compact':
      return runAt(model, step.back, at => store.compact(at).then(() => (model.oldest = Math.max(model.oldest, at))), { oldest: -Infinity })
    case 'get':
      return runAt(model, step.back, async at =>
        assert.deepEqual(show((await store.get(step.key, at)).entry), model.states[at]!.get(step.key)),
      )
    case 'watch':
      return runAt(model, step.back, async at => {
        const expected = model.changes(step.prefix, Math.max(at, model.oldest))
        if (expected.length === 0 && at >= model.oldest && at <= model.newest) return
        const seen = await collect(store, { prefix: step.prefix, after: at, count: expected.length })
        assert.deepEqual(seen.map(inWords), expected)
      })
    case 'list':
      return runAt(model, step.back, async at => {
        const { prefix, limit, after } = step
        const asked = { ...(limit !== undefined && { limit }), ...(after !== undefined && { after }), at }
        const page = await store.list(prefix, asked)
        const all = model.list(step.prefix, at).filter(entry => step.after === undefined || compareBytes(entry.key, step.after) > 0)
        assert.deepEqual(page.entries.map(show), all.slice(0, limit))
        assert.deepEqual(
          { revision: page.revision, remaining: page.remaining },
          { revision: at, remaining: Math.max(0, all.length - (limit ?? Infinity)) },
        )
        const uncounted = await store.list(prefix, { ...asked, uncounted: true })
        assert.deepEqual(uncounted.entries.map(show), page.entries.map(show))
        assert.equal(uncounted.remaining > 0, page.remaining > 0)
      })
  }
}

/** Acts at an earlier revision; where the model says that revision is compacted, the store must agree. */
async function runAt(model: Model, back: number, act: (at: Revision) => Promise<unknown>, { oldest = model.oldest } = {}): Promise<void> {
  const at = model.newest - back
  if (at > model.newest) await assert.rejects(act(at), FutureRevision)
  else if (at < oldest) await assert.rejects(act(at), Compacted)
  else await act(at)
}

async function runSwap({ key, value, expect }: Extract<Step, { do: 'swap' }>, store: Store, model: Model): Promise<void> {
  const current = model.current().get(key)
  const expected = { current: current?.modified ?? 0, none: 0, stale: 1 }[expect]
  const wins = expected === (current?.modified ?? 0) && (current !== undefined || value !== null)
  const swap = await store.swap(key, { expect: expected, value: value === null ? null : bytes(value) })
  assert.equal(swap.ok, wins)
  if (!swap.ok) assert.deepEqual(show(swap.current), current)
  if (swap.ok) {
    model.write(key, value)
    assert.equal(swap.revision, model.newest)
  }
}

/** One of several concurrent swaps of one key wins, the first where this process decides; revisions tell the order. */
async function runTogether(
  { keys, value }: Together,
  { store, model, remote }: { store: Store; model: Model; remote: boolean },
): Promise<void> {
  const before = model.current()
  const swaps = await Promise.all(keys.map(key => store.swap(key, { expect: before.get(key)?.modified ?? 0, value: bytes(value) })))
  const made = swaps.map((swap, i) => ({ key: keys[i]!, swap, isFirst: keys.indexOf(keys[i]!) === i }))
  const won = made.flatMap(({ key, swap }) => (swap.ok ? [{ key, revision: swap.revision }] : []))
  assert.deepEqual(won.map(({ key }) => key).sort(), [...new Set(keys)].sort())
  for (const { key, revision } of won.sort((a, b) => a.revision - b.revision)) {
    model.write(key, value)
    assert.equal(revision, model.newest)
  }
  for (const { key, swap, isFirst } of made) {
    if (!remote) assert.equal(swap.ok, isFirst)
    if (!swap.ok) assert.deepEqual(show(swap.current), model.current().get(key))
  }
}

function show(entry: Entry | undefined): Shown | undefined {
  assert.equal(entry?.fault, undefined)
  return entry && { key: entry.key, value: text(entry.value), created: entry.created, modified: entry.modified }
}

function inWords({ revision, key, after }: Event): string {
  return `${revision} ${key} ${after?.created} ${after && text(after.value)}`
}

function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
