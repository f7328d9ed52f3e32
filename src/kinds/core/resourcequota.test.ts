import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource, warnings } from '../../../test/kits/kinds/kinds.ts'
import { ResourceQuota } from './resourcequota.ts'

const hard = (amounts: object, more: object = {}) => ({ spec: { hard: amounts, ...more } })
const selecting = (...matchExpressions: object[]) => ({ scopeSelector: { matchExpressions } })

test('a quota limits resources that can be counted', () => {
  assert.deepEqual(check(ResourceQuota, hard({ cpu: '1', 'requests.storage': '1Gi', 'count/jobs.batch': '5', 'hugepages-2Mi': '4Mi' })), [])
  assert.deepEqual(check(ResourceQuota, hard({ storage: '1Gi' })), [
    'spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota',
  ])
  assert.deepEqual(check(ResourceQuota, hard({ pods: '500m', cpu: '-1' })), [
    'spec.hard[pods]: Invalid value: "500m": must be an integer',
    'spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0',
  ])
})

test('scopes are supported, apply to the limited resources, and do not conflict', () => {
  assert.deepEqual(check(ResourceQuota, hard({ pods: '1' }, { scopes: ['BestEffort'] })), [])
  assert.deepEqual(check(ResourceQuota, hard({ cpu: '1' }, { scopes: ['BestEffort', 'NotBestEffort', 'Mine'] })), [
    'spec.scopes: Invalid value: ["BestEffort","NotBestEffort","Mine"]: unsupported scope applied to resource',
    'spec.scopes: Invalid value: ["BestEffort","NotBestEffort","Mine"]: unsupported scope',
    'spec.scopes: Invalid value: ["BestEffort","NotBestEffort","Mine"]: conflicting scopes',
  ])
})

test('selectors of scopes compare with values where there is something to compare', () => {
  const classes = { scopeName: 'PriorityClass', operator: 'In', values: ['high'] }
  assert.deepEqual(check(ResourceQuota, hard({ pods: '1' }, selecting(classes))), [])
  assert.deepEqual(
    check(
      ResourceQuota,
      hard({ services: '1' }, selecting({ scopeName: 'BestEffort', operator: 'In' }, { scopeName: 'X', operator: 'Is' })),
    ),
    [
      'spec.scopeSelector.matchExpressions: Invalid value: {"MatchExpressions":[{"ScopeName":"BestEffort","Operator":"In","Values":null},{"ScopeName":"X","Operator":"Is","Values":null}]}: unsupported scope applied to resource',
      `spec.scopeSelector.matchExpressions.operator: Invalid value: "In": must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity`,
      "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
      'spec.scopeSelector.matchExpressions.scopeName: Invalid value: "X": unsupported scope',
      'spec.scopeSelector.matchExpressions.operator: Invalid value: "Is": not a valid selector operator',
    ],
  )
})

test('scopes cannot change, but their order can', () => {
  const old = hard({ pods: '1' }, { scopes: ['NotBestEffort', 'Terminating'] })
  assert.deepEqual(check(ResourceQuota, hard({ pods: '2' }, { scopes: ['Terminating', 'NotBestEffort'] }), { old }), [])
  assert.deepEqual(check(ResourceQuota, hard({ pods: '2' }), { old }), ['spec.scopes: Invalid value: null: field is immutable'])
})

test('a status is measured like the limits', () => {
  assert.deepEqual(checkSubresource(ResourceQuota, 'status', { status: { hard: { pods: '1' }, used: { pods: '0' } } }, {}), [])
  assert.deepEqual(checkSubresource(ResourceQuota, 'status', { status: { used: { pods: '-1' } } }, {}), [
    'status.used[pods]: Invalid value: "-1": must be greater than or equal to 0',
  ])
})

test('requests beyond limits are warned about', () => {
  assert.deepEqual(warnings(ResourceQuota, hard({ cpu: '2', 'limits.cpu': '1' })), [
    'ResourceQuota cpu (2) should be less than limits.cpu (1)',
  ])
})

test('its table shows what is used', () => {
  const status = { hard: { 'limits.cpu': '2', pods: '5', cpu: '1' }, used: { pods: '3', 'limits.cpu': '1' } }
  const { Age: _, ...shown } = cells(ResourceQuota, { status })
  assert.deepEqual(shown, { Request: 'cpu: 0/1, pods: 3/5', Limit: 'limits.cpu: 1/2' })
})
