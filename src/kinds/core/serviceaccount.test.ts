import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check, created, warnings } from '../../../test/kits/kinds/kinds.ts'
import { ServiceAccount } from './serviceaccount.ts'

test('of secrets only the names are kept', () => {
  const o = created(ServiceAccount, { secrets: [{ name: 'a', namespace: 'other', uid: 'u' }], imagePullSecrets: [{ name: 'p' }] })
  assert.deepEqual([o.secrets, o.imagePullSecrets], [[{ name: 'a' }], [{ name: 'p' }]])
  assert.deepEqual(check(ServiceAccount, { automountServiceAccountToken: false }), [])
})

test('the annotation on mountable secrets is warned about when it is new', () => {
  const annotated = { metadata: { annotations: { 'kubernetes.io/enforce-mountable-secrets': 'true' } } }
  assert.deepEqual(warnings(ServiceAccount, annotated), [
    'metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets',
  ])
  assert.deepEqual(warnings(ServiceAccount, annotated, { old: annotated }), [])
})
