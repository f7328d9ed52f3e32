import assert from 'node:assert/strict'
import test from 'node:test'
import type { LoggedChange } from './change-log.ts'
import { idOf, PERTURBATION_KINDS } from './perturbation.ts'
import { type Observed, plan } from './plan.ts'

const write = (verb: string, name: string, status = 200) => ({ verb, resource: 'secrets', namespace: 'default', name, ordinal: 1, status })
const change = (name: string, before: string, after: string): LoggedChange => ({
  resource: 'configmaps',
  kind: 'ConfigMap',
  namespace: 'default',
  name,
  change: after === 'absent' ? 'deleted' : before === 'absent' ? 'added' : after,
  ordinal: 1,
  revision: 1,
  before,
  after,
})

const observed: Observed = {
  writes: [write('create', 'a'), write('update', 'a', 409), write('update', 'b'), write('delete', 'a')],
  changes: [
    change('x', 'absent', 'aaaa'),
    change('y', 'absent', 'cccc'),
    change('x', 'aaaa', 'bbbb'),
    change('x', 'bbbb', 'aaaa'),
    change('x', 'aaaa', 'marked'),
    change('x', 'marked', 'absent'),
  ],
  watched: new Set(['configmaps']),
  readStale: new Set(['configmaps']),
}
const ids = (kind: (typeof PERTURBATION_KINDS)[number]) =>
  plan(observed, { kinds: [kind], seed: 1, canKill: true })
    .map(idOf)
    .sort()

test('a program is killed after each write but the last', () => {
  assert.deepEqual(ids('intermediate'), ['intermediate/create/secrets/default/a/1', 'intermediate/update/secrets/default/b/1'])
})

test('a conflict answers a write that replaces', () => {
  assert.deepEqual(ids('conflict'), ['conflict/update/secrets/default/b/1'])
})

test('an event is lost together with its opposite', () => {
  assert.deepEqual(ids('unobserved'), [
    'unobserved/configmaps/default/x/added.1/deleted.1',
    'unobserved/configmaps/default/x/bbbb.1/aaaa.1',
    'unobserved/configmaps/default/x/marked.1/deleted.1',
  ])
})

test('a state is stale once it has changed', () => {
  assert.deepEqual(ids('stale'), ['added', 'bbbb', 'aaaa', 'marked'].map(name => `stale/configmaps/default/x/${name}.1`).sort())
})

test('the seed decides the order, and a program that is not restarted is not killed', () => {
  const order = (seed: number) => plan(observed, { kinds: PERTURBATION_KINDS, seed, canKill: true }).map(idOf)
  assert.deepEqual(order(7), order(7))
  assert.notDeepEqual(order(1), order(2))
  const kinds = new Set(plan(observed, { kinds: PERTURBATION_KINDS, seed: 1, canKill: false }).map(({ kind }) => kind))
  assert.deepEqual([...kinds].sort(), ['conflict', 'timeout', 'unobserved'])
})
