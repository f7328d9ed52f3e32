import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { conflict, notFound, StatusError, tooManyRequests } from '../../schema/status-error.ts'
import { migrateAll } from './migrate-all.ts'
import {
  endOfMigration,
  failed,
  failedAfter,
  finished,
  type Migration,
  nextMigrations,
  obstacleOf,
  outcomeOf,
  running,
  type Statement,
  SUCCEEDED,
  withConditions,
} from './reconcile.ts'

const NOW = new Date('2026-07-01T12:00:00Z')
const migration = (name: string, creationTimestamp: string, ...said: Statement[]): Migration =>
  ({ metadata: { name, creationTimestamp }, spec: {}, status: withConditions({}, said, NOW) ?? {} }) as never

test('of the migrations of a resource one runs, the oldest first, and those that are over say so', () => {
  const names = (...all: Migration[]) => {
    const { finish, start } = nextMigrations(all)
    return [finish.map(({ metadata }) => metadata.name).join(), start?.metadata.name]
  }
  const [young, old, twin] = [migration('young', '2'), migration('old', '1'), migration('twin', '1')]
  assert.deepEqual(names(young, twin, old), ['', 'old'])
  assert.deepEqual(names(young, migration('busy', '3', running()), old), ['', undefined])
  assert.deepEqual(names(migration('done', '0', running(), SUCCEEDED), young), ['done', 'young'])
  assert.deepEqual(names(migration('broken', '0', running(), failed('x'))), ['broken', undefined])
  assert.deepEqual(names(migration('past', '0', finished(1), SUCCEEDED)), ['', undefined])
})

test('conditions say how far it is, and keep their time while their status stays', () => {
  assert.equal(running().message, 'The migration is running')
  assert.equal(running({ left: 3, total: 5 }).message, 'The migration is running, 3/5 objects not yet migrated')
  assert.equal(running({ left: 0, total: 5 }).message, 'The migration is running, 5 objects verified migrated')
  assert.equal(running({ left: 0, total: 0 }).message, 'The migration is running')
  assert.equal(
    running({ left: 1, total: 1 }, 'busy').message,
    'The migration is running, 1/1 objects not yet migrated; transient error: busy',
  )
  assert.equal(failedAfter({ left: 1, total: 2 }, 'no').message, '1/2 not yet migrated. migration encountered unhandled error: no')
  const first = withConditions({}, [running()], NOW)!
  assert.equal(withConditions(first, [running()], new Date(0)), undefined)
  const later = withConditions(first, [running({ left: 1, total: 2 }), SUCCEEDED], new Date('2027-01-01T00:00:00Z'))!
  assert.deepEqual(
    later.conditions!.map(({ type, lastTransitionTime }) => [type, lastTransitionTime]),
    [
      ['Running', '2026-07-01T12:00:00Z'],
      ['Succeeded', '2027-01-01T00:00:00Z'],
    ],
  )
})

test('what a write answers decides whether it is done, tried again or given up', () => {
  const resource = { group: '', plural: 'configmaps', qualified: 'configmaps' } as never
  assert.equal(outcomeOf(conflict(resource, 'a', 'changed')), 'migrated')
  assert.equal(outcomeOf(notFound(resource, 'a')), 'migrated')
  assert.equal(outcomeOf(tooManyRequests('later', 1)), 'again')
  assert.equal(outcomeOf(new StatusError(500, 'InternalError', 'x')), 'again')
  assert.equal(outcomeOf(new StatusError(422, 'Invalid', 'x')), 'failed')
  assert.equal(outcomeOf(new StatusError(403, 'Forbidden', 'x')), 'failed')
})

test('a resource that cannot be written cannot be migrated', () => {
  assert.equal(obstacleOf({ group: 'apps', version: 'v1', plural: 'x', verbs: ['list', 'patch', 'update'] }), undefined)
  assert.equal(
    obstacleOf({ group: 'authentication.k8s.io', version: 'v1', plural: 'tokenreviews', verbs: ['create'] }),
    'resource "authentication.k8s.io/v1, Resource=tokenreviews" does not support discovery operations: [update patch list]',
  )
})

test('a definition forgets its older versions only when all objects were written and it has not changed meanwhile', () => {
  const definition = (generation: number, observedGeneration: number) => ({
    metadata: { generation },
    spec: { versions: [{ name: 'v1' }, { name: 'v2', storage: true }] },
    status: { conditions: [{ type: 'StorageMigrating', observedGeneration }] },
  })
  const done = endOfMigration(definition(2, 2), true)
  assert.deepEqual(done.storedVersions, ['v2'])
  assert.equal(done.condition.message, 'The migration has succeeded and the stored versions have been updated')
  const changed = endOfMigration(definition(3, 2), true)
  assert.equal(changed.storedVersions, undefined)
  assert.match(changed.condition.message, /but the stored versions have not been updated due to a generation mismatch$/)
  assert.deepEqual(endOfMigration(definition(2, 2), false), {
    condition: { status: 'False', reason: 'MigrationFailed', message: 'The migration has failed' },
  })
})

test('every object is rewritten once, page by page, also across failures', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(60),
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 4 }),
      fc.option(fc.nat(60), { nil: undefined }),
      async (count, page, atOnce, failing) => {
        const written: number[] = []
        let busy = 0
        let most = 0
        const pages: number[] = []
        const result = await migrateAll({
          candidates: () => ({
            total: count,
            left: Array.from({ length: count }, (_, i) => ({ i, isOutdated: false })).filter(({ i }) => !written.includes(i)),
          }),
          async write({ i }) {
            most = Math.max(most, ++busy)
            await new Promise(setImmediate)
            busy--
            if (i === failing) throw new StatusError(422, 'Invalid', 'bad')
            written.push(i)
          },
          outcomeOf,
          limits: { page, atOnce, perSecond: 1e9 },
          signal: new AbortController().signal,
          report: async ({ left }) => pages.push(left) > 0,
        })
        assert.equal(new Set(written).size, written.length)
        assert.ok(most <= atOnce)
        assert.ok(pages.every(left => (count - left) % page === 0))
        if (failing !== undefined && failing < count) {
          assert.ok(result.type === 'failed')
          assert.equal(result.progress.left, count - written.length)
        } else {
          assert.equal(result.type, 'done')
          assert.equal(written.length, count)
        }
      },
    ),
  )
})

test('what is written in the old version meanwhile is migrated, too, and nothing ends well before', async () => {
  let others = 3
  const parts = {
    write: async () => {},
    outcomeOf,
    limits: { page: 10, atOnce: 2, perSecond: 1e9 },
    signal: new AbortController().signal,
    report: async () => true,
  }
  const late = await migrateAll({ ...parts, candidates: () => ({ total: 1, left: others-- > 0 ? [{ isOutdated: true }] : [] }) })
  assert.equal(late.type, 'done')
  const never = await migrateAll({ ...parts, candidates: () => ({ total: 1, left: [{ isOutdated: true }] }) })
  assert.equal(never.type, 'again')
})
