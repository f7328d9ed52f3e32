// Finalizers of most kinds are standard names or have a domain; of some kinds, and of custom kinds, they need none.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, freshServer, patient } from './kit.ts'

const NEITHER = 'name is neither a standard finalizer name nor is it fully qualified'

test('a finalizer without a domain is rejected unless it is a standard one', patient, async t => {
  const server = await freshServer(t)
  const configMaps = '/api/v1/namespaces/default/configmaps'
  const configMap = (name: string, ...finalizers: string[]) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, finalizers } })
  const rejected = await ask(server, configMaps, { method: 'POST', body: configMap('a', 'example.com/b', 'nodomain') })
  assert.equal(rejected.status, 422)
  assert.equal(rejected.json.message, `ConfigMap "a" is invalid: metadata.finalizers[1]: Invalid value: "nodomain": ${NEITHER}`)
  assert.equal((await ask(server, configMaps, { method: 'POST', body: configMap('b', 'kubernetes', 'example.com/b') })).status, 201)
  const updated = await ask(server, `${configMaps}/b`, { method: 'PUT', body: configMap('b', 'nodomain') })
  assert.equal(updated.status, 422)
  assert.equal(updated.json.message, `ConfigMap "b" is invalid: metadata.finalizers[0]: Invalid value: "nodomain": ${NEITHER}`)
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n' }, spec: { finalizers: ['nodomain'] } }
  const answer = await ask(server, '/api/v1/namespaces', { method: 'POST', body: namespace })
  assert.equal(answer.json.message, `Namespace "n" is invalid: spec.finalizers: Invalid value: "nodomain": ${NEITHER}`)
})

test('kinds that kube-apiserver validates by the generic rules alone accept finalizers without a domain', patient, async t => {
  const server = await freshServer(t)
  const create = async (path: string, apiVersion: string, kind: string, more: object = {}) => {
    const body = { apiVersion, kind, metadata: { name: 'a', finalizers: ['nodomain'] }, ...more }
    return (await ask(server, path, { method: 'POST', body })).status
  }
  const spec = { maxUnavailable: 1, selector: { matchLabels: { a: 'b' } } }
  assert.equal(await create('/apis/policy/v1/namespaces/default/poddisruptionbudgets', 'policy/v1', 'PodDisruptionBudget', { spec }), 201)
  assert.equal(await create('/apis/coordination.k8s.io/v1/namespaces/default/leases', 'coordination.k8s.io/v1', 'Lease'), 201)
  const webhooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
  assert.equal(await create(webhooks, 'admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration'), 201)
})
