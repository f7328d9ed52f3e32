import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withGates, withLabels } from '../../../test/kits/kinds/devices.ts'
import { check, created } from '../../../test/kits/kinds/kinds.ts'
import { ResourceClaimTemplate } from './resourceclaimtemplate.ts'

const ctx = withGates()
const claimSpec = (more: object = {}) => ({ devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c', ...more } }] } })

test('the spec of a template is validated like that of a claim', () => {
  assert.deepEqual(check(ResourceClaimTemplate, { spec: { spec: claimSpec() } }, { ctx }), [])
  assert.deepEqual(check(ResourceClaimTemplate, { spec: { spec: claimSpec({ deviceClassName: '' }) } }, { ctx }), [
    'spec.spec.devices.requests[0].exactly.deviceClassName: Required value',
  ])
  const { spec } = created(ResourceClaimTemplate, { spec: { spec: claimSpec() } }, ctx)
  assert.equal(spec.spec.devices.requests[0].exactly.count, 1)
})

test('the metadata of a template has labels and annotations only', () => {
  const metadata = { labels: { a: 'b' }, annotations: { c: 'd' } }
  assert.deepEqual(check(ResourceClaimTemplate, { spec: { metadata, spec: claimSpec() } }, { ctx }), [])
  assert.deepEqual(check(ResourceClaimTemplate, { spec: { metadata: { ...metadata, name: 'n' }, spec: claimSpec() } }, { ctx }), [
    'spec.metadata.name: Forbidden: cannot be set',
  ])
})

test('administration needs a namespace that is marked for it', () => {
  const faults = check(ResourceClaimTemplate, { spec: { spec: claimSpec({ adminAccess: true }) } }, { ctx: withLabels({}) })
  assert.match(faults[0] ?? '', /^spec\.devices\.requests\[0\]\.adminAccess: Forbidden: admin access to devices requires/)
})

test('it cannot change, and an attempt is shown as Kubernetes holds it', () => {
  const old = { spec: { spec: claimSpec() } }
  assert.deepEqual(check(ResourceClaimTemplate, { ...old, metadata: { labels: { a: 'b' } } }, { ctx, old }), [])
  const changed = { metadata: { labels: { a: 'b' } }, spec: claimSpec({ selectors: [{ cel: { expression: 'true' } }] }) }
  const exactly =
    '{"DeviceClassName":"c","Selectors":[{"CEL":{"Expression":"true"}}],"AllocationMode":"ExactCount","Count":1,"AdminAccess":null,"Tolerations":null,"Capacity":null,"DerivedAttributes":null}'
  assert.deepEqual(check(ResourceClaimTemplate, { spec: changed }, { ctx, old }), [
    `spec: Invalid value: {"labels":{"a":"b"},"Spec":{"Devices":{"Requests":[{"Name":"r","Exactly":${exactly},"FirstAvailable":null}],"Constraints":null,"Config":null}}}: field is immutable`,
  ])
})
