import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource, created, updated, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { DaemonSet } from './daemonset.ts'

const labels = { app: 'a' }
const template = (spec: object = {}) => ({
  metadata: { labels },
  spec: { containers: [{ name: 'main', image: 'example.com/app:1' }], ...spec },
})
const set = (more: object = {}) => ({ spec: { selector: { matchLabels: labels }, template: template(), ...more } })
const rolling = (rollingUpdate: object) => set({ updateStrategy: { rollingUpdate } })
const AT = 'spec.updateStrategy'

test('an ordinary one passes and gets its defaults', () => {
  assert.deepEqual(check(DaemonSet, set()), [])
  const { spec } = withDefaults(DaemonSet, set())
  assert.deepEqual(spec.updateStrategy, { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } })
  assert.equal(spec.revisionHistoryLimit, 10)
  assert.equal(withDefaults(DaemonSet, set({ revisionHistoryLimit: 0 })).spec.revisionHistoryLimit, 0)
  assert.deepEqual(withDefaults(DaemonSet, set({ updateStrategy: { type: 'OnDelete' } })).spec.updateStrategy, { type: 'OnDelete' })
  assert.deepEqual(created(DaemonSet, set()).status, {
    currentNumberScheduled: 0,
    numberMisscheduled: 0,
    desiredNumberScheduled: 0,
    numberReady: 0,
  })
})

test('the selector matches the template, says something, and does not change', () => {
  assert.deepEqual(check(DaemonSet, set({ selector: { matchLabels: { app: 'b' } } })), [
    'spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`',
  ])
  assert.deepEqual(check(DaemonSet, set({ selector: {} })), ['spec.selector: Invalid value: {}: empty selector is invalid for daemonset'])
  assert.deepEqual(check(DaemonSet, { spec: { template: template() } }), [
    'spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`',
  ])
  const wider = { matchExpressions: [{ key: 'app', operator: 'Exists' }] }
  assert.deepEqual(check(DaemonSet, set({ selector: wider }), { old: set() }), [
    'spec.selector: Invalid value: {"matchExpressions":[{"key":"app","operator":"Exists"}]}: field is immutable',
  ])
})

test('its pods always run again', () => {
  assert.deepEqual(check(DaemonSet, set({ template: template({ restartPolicy: 'Never' }) })), [
    'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
  ])
  assert.deepEqual(check(DaemonSet, set({ template: template({ activeDeadlineSeconds: 1 }) })), [
    'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in DaemonSet is not Supported',
  ])
  assert.deepEqual(check(DaemonSet, set({ template: { metadata: { labels } } })), ['spec.template.spec.containers: Required value'])
})

test('an update either misses pods or has more of them', () => {
  assert.deepEqual(check(DaemonSet, rolling({ maxUnavailable: 0 })), [
    `${AT}.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0`,
  ])
  assert.deepEqual(check(DaemonSet, rolling({ maxSurge: 1 })), [
    `${AT}.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero`,
  ])
  assert.deepEqual(check(DaemonSet, rolling({ maxUnavailable: 0, maxSurge: '10%' })), [])
  assert.deepEqual(check(DaemonSet, rolling({ maxUnavailable: '120%' })), [
    `${AT}.rollingUpdate.maxUnavailable: Invalid value: "120%": must not be greater than 100%`,
  ])
  assert.match(
    check(DaemonSet, rolling({ maxUnavailable: 'x' }))[0]!,
    /rollingUpdate\.maxUnavailable: Invalid value: "x": a valid percent string/,
  )
  assert.deepEqual(check(DaemonSet, rolling({ maxUnavailable: -1 })), [
    `${AT}.rollingUpdate.maxUnavailable: Invalid value: -1: must be greater than or equal to 0`,
  ])
  assert.deepEqual(check(DaemonSet, set({ updateStrategy: { type: 'Sometimes' } })), [
    `${AT}: Unsupported value: {"Type":"Sometimes","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete"`,
  ])
})

test('numbers are not below zero', () => {
  assert.deepEqual(check(DaemonSet, set({ minReadySeconds: -1, revisionHistoryLimit: -1 })), [
    'spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0',
    'spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0',
  ])
  assert.deepEqual(checkSubresource(DaemonSet, 'status', { ...set(), status: { numberReady: -1 } }, set()), [
    'status.numberReady: Invalid value: -1: must be greater than or equal to 0',
  ])
})

test('collisions are counted upwards', () => {
  const old = { ...set(), status: { collisionCount: 2 } }
  assert.deepEqual(checkSubresource(DaemonSet, 'status', { ...set(), status: { collisionCount: 1 } }, old), [
    'status.collisionCount: Invalid value: 1: cannot be decremented',
  ])
  assert.deepEqual(checkSubresource(DaemonSet, 'status', set(), old), ['status.collisionCount: Invalid value: 0: cannot be decremented'])
})

test('an annotation counts changes of the template, whatever a write contains', () => {
  const KEY = 'deprecated.daemonset.template.generation'
  const first = created(DaemonSet, set())
  assert.equal(first.metadata.annotations[KEY], '1')
  const meddled = { metadata: { annotations: { [KEY]: '9' } }, ...set() }
  assert.equal(created(DaemonSet, meddled).metadata.annotations[KEY], '9')
  assert.equal(updated(DaemonSet, meddled, first).metadata.annotations[KEY], '1')
  assert.equal(updated(DaemonSet, set({ template: template({ hostNetwork: true }) }), first).metadata.annotations[KEY], '2')
  assert.throws(
    () => created(DaemonSet, { metadata: { annotations: { [KEY]: 'x' } }, ...set() }),
    /strconv\.ParseInt: parsing "x": invalid syntax/,
  )
})

test('its table counts nodes', () => {
  const shown = cells(DaemonSet, set({ template: template({ nodeSelector: { b: '2', a: '1' } }) }))
  assert.deepEqual(Object.values(shown), [0, 0, 0, 0, 0, 'a=1,b=2', '<unknown>', 'main', 'example.com/app:1', 'app=a'])
})
