import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource, contextWith, created, warnings, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { StatefulSet } from './statefulset.ts'

const labels = { app: 'a' }
const template = (spec: object = {}) => ({
  metadata: { labels },
  spec: { containers: [{ name: 'main', image: 'example.com/app:1' }], ...spec },
})
const set = (more: object = {}) => ({ spec: { selector: { matchLabels: labels }, serviceName: 's', template: template(), ...more } })
const claim = (more: object = {}) => ({
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...more },
})
const strategy = (updateStrategy: object) => check(StatefulSet, set({ updateStrategy }))

test('an ordinary one passes and gets its defaults', () => {
  assert.deepEqual(check(StatefulSet, set()), [])
  const { spec } = withDefaults(StatefulSet, set())
  assert.deepEqual(spec.updateStrategy, { type: 'RollingUpdate', rollingUpdate: { partition: 0, maxUnavailable: 1 } })
  assert.deepEqual(spec.persistentVolumeClaimRetentionPolicy, { whenDeleted: 'Retain', whenScaled: 'Retain' })
  assert.deepEqual([spec.replicas, spec.revisionHistoryLimit, spec.podManagementPolicy], [1, 10, 'OrderedReady'])
  assert.deepEqual(withDefaults(StatefulSet, set({ updateStrategy: { type: 'RollingUpdate' } })).spec.updateStrategy, {
    type: 'RollingUpdate',
  })
  assert.deepEqual(created(StatefulSet, set()).spec.updateStrategy.rollingUpdate, { partition: 0 })
})

test('its name and its service are DNS labels', () => {
  assert.match(
    check(StatefulSet, { metadata: { name: 'a.b' }, ...set() })[0]!,
    /^metadata\.name: Invalid value: "a\.b": must not contain dots/,
  )
  assert.match(check(StatefulSet, set({ serviceName: 'A' }))[0]!, /^spec\.serviceName: Invalid value: "A": a lowercase RFC 1123 label/)
})

test('claims are whole, and pods may mount them', () => {
  const mounting = template({ containers: [{ name: 'main', image: 'i', volumeMounts: [{ name: 'data', mountPath: '/d' }] }] })
  assert.deepEqual(check(StatefulSet, set({ template: mounting, volumeClaimTemplates: [claim()] })), [])
  const [stored] = withDefaults(StatefulSet, set({ volumeClaimTemplates: [claim()] })).spec.volumeClaimTemplates
  assert.deepEqual(
    [stored.apiVersion, stored.kind, stored.status.phase, stored.spec.volumeMode],
    ['v1', 'PersistentVolumeClaim', 'Pending', 'Filesystem'],
  )
  assert.deepEqual(check(StatefulSet, set({ volumeClaimTemplates: [claim({ accessModes: [] })] })), [
    'spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required',
  ])
})

test('what gives pods their names and storage does not change', () => {
  const old = set()
  assert.deepEqual(check(StatefulSet, set({ serviceName: 't', podManagementPolicy: 'Parallel' }), { old }), [
    'spec.serviceName: Invalid value: "t": field is immutable',
    'spec.podManagementPolicy: Invalid value: "Parallel": field is immutable',
  ])
  assert.match(
    check(StatefulSet, set({ volumeClaimTemplates: [claim()] }), { old })[0]!,
    /^spec\.volumeClaimTemplates: Invalid value: \[.*\]: field is immutable$/,
  )
  assert.deepEqual(check(StatefulSet, old, { old: set({ volumeClaimTemplates: [claim()] }) }), [
    'spec.volumeClaimTemplates: Invalid value: null: field is immutable',
  ])
  assert.deepEqual(check(StatefulSet, set({ replicas: 3, template: template({ hostNetwork: true }) }), { old }), [])
})

test('the selector is required, says something and matches the template', () => {
  assert.deepEqual(check(StatefulSet, set({ selector: {} })), [
    'spec.selector: Invalid value: {}: empty selector is invalid for statefulset',
  ])
  assert.deepEqual(check(StatefulSet, set({ selector: { matchLabels: { app: 'b' } } })), [
    'spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`',
  ])
  assert.equal(check(StatefulSet, { spec: { template: template() } })[0], 'spec.selector: Required value')
})

test('policies and strategies are supported values', () => {
  assert.deepEqual(check(StatefulSet, set({ podManagementPolicy: 'Odd' })), [
    "spec.podManagementPolicy: Invalid value: \"Odd\": must be 'OrderedReady' or 'Parallel'",
  ])
  assert.deepEqual(check(StatefulSet, set({ persistentVolumeClaimRetentionPolicy: { whenScaled: 'Odd' } })), [
    'spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Odd": supported values: "Retain", "Delete"',
  ])
  assert.deepEqual(strategy({ type: 'Odd' }), [
    'spec.updateStrategy: Invalid value: {"Type":"Odd","RollingUpdate":null}: must be \'RollingUpdate\' or \'OnDelete\'',
  ])
  assert.deepEqual(strategy({ type: 'OnDelete', rollingUpdate: {} }), [
    'spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":0,"MaxUnavailable":null}: only allowed for updateStrategy \'RollingUpdate\'',
  ])
  assert.deepEqual(strategy({ rollingUpdate: { partition: -1 } }), [
    'spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0',
  ])
})

test('some pods may be missing where that feature is on', () => {
  const ctx = contextWith({ gates: ['MaxUnavailableStatefulSet'] })
  const missing = (maxUnavailable: number | string) =>
    check(StatefulSet, set({ updateStrategy: { rollingUpdate: { maxUnavailable } } }), { ctx })
  assert.deepEqual(missing('10%'), [])
  assert.deepEqual(missing(0), ['spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: 0: cannot be 0'])
  assert.deepEqual(missing('101%'), [
    'spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
  ])
})

test('numbers make sense', () => {
  assert.deepEqual(check(StatefulSet, set({ replicas: -1, ordinals: { start: -1 } })), [
    'spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    'spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0',
  ])
  assert.deepEqual(
    checkSubresource(StatefulSet, 'status', { ...set(), status: { replicas: 1, readyReplicas: 1, availableReplicas: 2 } }, set()),
    [
      'status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas',
      'status.availableReplicas: Invalid value: 2: cannot be greater than status.readyReplicas',
    ],
  )
})

test('a negative history and fractions of bytes are warned about', () => {
  const warned = warnings(StatefulSet, set({ revisionHistoryLimit: -1 }))
  assert.deepEqual(warned, ['spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended'])
})

test('its table counts pods', () => {
  assert.deepEqual(Object.values(cells(StatefulSet, { ...set({ replicas: 3 }), status: { readyReplicas: 2 } })), [
    '2/3',
    '<unknown>',
    'main',
    'example.com/app:1',
  ])
})
