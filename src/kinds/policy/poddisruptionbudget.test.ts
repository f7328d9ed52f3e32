import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource, created } from '../../../test/kits/kinds/kinds.ts'
import { openBench } from '../../../test/kits/registry.ts'
import { PodDisruptionBudget } from './poddisruptionbudget.ts'

const selector = { matchLabels: { app: 'web' } }
const MARKER = 'pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match'

test('a budget says how many must stay or how many may go, not both', () => {
  assert.deepEqual(check(PodDisruptionBudget, { spec: { minAvailable: '50%', selector } }), [])
  assert.deepEqual(check(PodDisruptionBudget, {}), [])
  assert.deepEqual(check(PodDisruptionBudget, { spec: { minAvailable: 1, maxUnavailable: 0 } }), [
    'spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":0,"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set',
  ])
})

test('amounts are numbers from 0 or percentages up to 100', () => {
  assert.deepEqual(check(PodDisruptionBudget, { spec: { minAvailable: -1 } }), [
    'spec.minAvailable: Invalid value: -1: must be greater than or equal to 0',
  ])
  assert.deepEqual(check(PodDisruptionBudget, { spec: { maxUnavailable: '101%' } }), [
    'spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
  ])
})

test('unhealthy pods are evicted by one of two policies', () => {
  assert.deepEqual(check(PodDisruptionBudget, { spec: { unhealthyPodEvictionPolicy: 'AlwaysAllow' } }), [])
  assert.deepEqual(check(PodDisruptionBudget, { spec: { unhealthyPodEvictionPolicy: 'Never' } }), [
    'spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": supported values: "AlwaysAllow", "IfHealthyBudget"',
  ])
})

test('a selector that is stored with odd values may stay', () => {
  const odd = { spec: { selector: { matchExpressions: [{ key: 'a', operator: 'In', values: ['-'] }] } } }
  assert.equal(check(PodDisruptionBudget, odd).length, 1)
  assert.deepEqual(check(PodDisruptionBudget, odd, { old: odd }), [])
})

test('the marker of old empty selectors is dropped next to other requirements', () => {
  const marker = { key: MARKER, operator: 'Exists' }
  const kept = created(PodDisruptionBudget, { spec: { selector: { matchExpressions: [marker] } } })
  assert.deepEqual(kept.spec.selector, { matchExpressions: [marker] })
  const mixed = created(PodDisruptionBudget, { spec: { selector: { ...selector, matchExpressions: [marker] } } })
  assert.deepEqual(mixed.spec.selector, selector)
})

test('a status counts from 0 and has proper conditions', () => {
  const counts = { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 }
  assert.deepEqual(checkSubresource(PodDisruptionBudget, 'status', { status: counts }, {}), [])
  assert.deepEqual(
    checkSubresource(PodDisruptionBudget, 'status', { status: { ...counts, expectedPods: -1, conditions: [{ type: 'A' }] } }, {}),
    [
      'status.conditions[0].status: Required value',
      'status.conditions[0].lastTransitionTime: Required value',
      'status.conditions[0].reason: Required value',
      'status.expectedPods: Invalid value: -1: must be greater than or equal to 0',
    ],
  )
})

test('its table shows what is allowed', () => {
  const { Age: _, ...shown } = cells(PodDisruptionBudget, { spec: { maxUnavailable: '10%' } })
  assert.deepEqual(shown, { 'Min Available': 'N/A', 'Max Unavailable': '10%', 'Allowed Disruptions': 0 })
})

test('a replacement of a budget or its status names the version it is about', async t => {
  const { send, close } = await openBench([PodDisruptionBudget])
  t.after(close)
  const { body } = await send('POST poddisruptionbudgets', { metadata: { name: 'a' }, spec: { selector } })
  for (const path of ['poddisruptionbudgets/a', 'poddisruptionbudgets/a/status']) {
    const { code, body: refusal } = await send(`PUT ${path}`, { ...body, metadata: { name: 'a' } })
    assert.equal(code, 422)
    assert.equal(refusal.details.causes[0].field, 'metadata.resourceVersion')
    assert.equal((await send(`PUT ${path}`, body)).code, 200)
  }
})
