import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource, contextWith, warnings, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { Deployment } from './deployment.ts'
import { ReplicaSet } from './replicaset.ts'

const labels = { app: 'a' }
const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'example.com/app:1' }] } }
const of = (more: object = {}) => ({ spec: { selector: { matchLabels: labels }, template, ...more } })

test('a deployment gets its defaults', () => {
  const { spec } = withDefaults(Deployment, of())
  assert.deepEqual(spec.strategy, { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } })
  assert.deepEqual([spec.replicas, spec.revisionHistoryLimit, spec.progressDeadlineSeconds], [1, 10, 600])
  assert.deepEqual(withDefaults(Deployment, of({ strategy: { type: 'Recreate' } })).spec.strategy, { type: 'Recreate' })
  assert.equal(withDefaults(ReplicaSet, of({ replicas: 0 })).spec.replicas, 0)
})

for (const kind of [Deployment, ReplicaSet]) {
  test(`the selector of a ${kind.def.kind} is required, not empty, matches the template and cannot change`, () => {
    assert.deepEqual(check(kind, of()), [])
    const mismatch = 'spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`'
    assert.deepEqual(check(kind, { spec: { template } }), ['spec.selector: Required value', mismatch])
    assert.deepEqual(check(kind, of({ selector: {} })), ['spec.selector: Invalid value: {}: empty selector is invalid for deployment'])
    assert.deepEqual(check(kind, of({ selector: { matchLabels: { app: 'b' } } })), [mismatch])
    assert.deepEqual(check(kind, of({ selector: { matchExpressions: [{ key: 'app', operator: 'Near' }] } })), [
      'spec.selector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator',
      'spec.selector: Invalid value: {"matchExpressions":[{"key":"app","operator":"Near"}]}: invalid label selector',
    ])
    assert.match(
      check(kind, of({ selector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] } }), { old: of() })[0]!,
      /field is immutable$/,
    )
  })

  test(`the numbers of a ${kind.def.kind} make sense`, () => {
    assert.deepEqual(check(kind, of({ replicas: -1, minReadySeconds: -1 })).slice(0, 2), [
      'spec.replicas: Invalid value: -1: must be greater than or equal to 0',
      'spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0',
    ])
    assert.deepEqual(checkSubresource(kind, 'status', { ...of(), status: { replicas: 1, readyReplicas: 2, availableReplicas: 3 } }, of()), [
      'status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas',
      'status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas',
      'status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas',
    ])
  })

  test(`the pods of a ${kind.def.kind} always run again`, () => {
    assert.deepEqual(check(kind, of({ template: { ...template, spec: { ...template.spec, restartPolicy: 'OnFailure' } } })), [
      'spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always"',
    ])
  })

  test(`a ${kind.def.kind} can be scaled`, () => {
    const o = withDefaults(kind, { ...of(), status: { replicas: 2 } })
    const scale = kind.def.subresources!.scale!
    scale.setReplicas(o, 5)
    assert.deepEqual([scale.replicas(o), scale.observed(o), scale.selector(o)], [5, 2, 'app=a'])
  })

  test(`a name that is no DNS label is warned about for a ${kind.def.kind}`, () => {
    assert.match(
      warnings(kind, { metadata: { name: 'a.b' }, ...of() })[0]!,
      /^metadata\.name: this is used in Pod names .* recommended: \[must not contain dots\]$/,
    )
  })
}

test('a deployment either rolls or recreates', () => {
  const strategy = (strategy: object) => check(Deployment, of({ strategy }))
  assert.deepEqual(strategy({ type: 'Recreate', rollingUpdate: { maxSurge: 1 } }), [
    "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
  ])
  assert.deepEqual(strategy({ type: 'Odd' }), [
    'spec.strategy: Unsupported value: {"Type":"Odd","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"',
  ])
  assert.deepEqual(strategy({ rollingUpdate: { maxUnavailable: 0, maxSurge: 0 } }), [
    'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0',
  ])
  assert.deepEqual(strategy({ rollingUpdate: { maxUnavailable: '101%' } }), [
    'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
  ])
})

test('a deployment has time to make progress', () => {
  assert.deepEqual(check(Deployment, of({ minReadySeconds: 600 })), [
    'spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds',
  ])
})

test('writing the status leaves labels, counts collisions upwards and drops what is off', () => {
  const stored = { metadata: { labels: { a: 'b' } }, ...of(), status: { collisionCount: 1 } }
  assert.deepEqual(checkSubresource(Deployment, 'status', of(), stored), ['status.collisionCount: Invalid value: 0: cannot be decremented'])
  const o = withDefaults(Deployment, { ...of(), status: { terminatingReplicas: 1 } })
  Deployment.def.subresources!.status!.prepareForUpdate!(o, withDefaults(Deployment, stored), contextWith())
  assert.deepEqual([o.metadata.labels, o.status.terminatingReplicas], [{ a: 'b' }, undefined])
})

test('tables count pods', () => {
  const status = { replicas: 3, readyReplicas: 2, updatedReplicas: 1, availableReplicas: 1 }
  assert.deepEqual(Object.values(cells(Deployment, { ...of({ replicas: 3 }), status })), [
    '2/3',
    1,
    1,
    '<unknown>',
    'main',
    'example.com/app:1',
    'app=a',
  ])
  assert.deepEqual(
    Object.values(cells(ReplicaSet, { ...of({ replicas: 4 }), status: { replicas: 3, readyReplicas: 2 } })).slice(0, 3),
    [4, 3, 2],
  )
})
