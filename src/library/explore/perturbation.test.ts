import assert from 'node:assert/strict'
import test from 'node:test'
import { idOf, type Perturbation, perturbationOf } from './perturbation.ts'

const at = { verb: 'create', resource: 'deployments.apps:status', namespace: 'default', name: 'web-*', ordinal: 2 }
const from = { resource: 'clusterroles.rbac.authorization.k8s.io', namespace: '', name: 'system:a/b', change: 'marked', ordinal: 1 }

test('every perturbation is found again by its id', () => {
  const all: Perturbation[] = [
    { kind: 'intermediate', at },
    { kind: 'conflict', at: { ...at, namespace: '' } },
    { kind: 'timeout', at, isMade: true },
    { kind: 'timeout', at, isMade: false },
    { kind: 'unobserved', from, to: { ...from, change: 'deleted' } },
    { kind: 'stale', from: { ...from, change: '0a1b2c3d', ordinal: 12 } },
  ]
  for (const each of all) assert.deepEqual(perturbationOf(idOf(each)), each, idOf(each))
})

test('other texts are no ids', () => {
  for (const text of [
    '',
    'x',
    'stale',
    'stale/a/b/c',
    'stale/a/b/c/added.0',
    'intermediate/create/a/b/c/x',
    'conflict/a/b/c/d/1/2',
    'stale/%/b/c/added',
  ])
    assert.equal(perturbationOf(text), undefined, text)
})
