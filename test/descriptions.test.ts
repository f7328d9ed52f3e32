// Clients, kubectl explain and the suites of Kubernetes match how the descriptions of shared fields begin.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, freshServer, patient } from './kit.ts'

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'foos.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'foos', kind: 'Foo' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
}

test('descriptions of the fields that all objects have begin as in Kubernetes', patient, async t => {
  const server = await freshServer(t)
  assert.equal((await ask(server, DEFINITIONS, { method: 'POST', body: definition })).status, 201)
  let custom: any
  while (custom === undefined) custom = (await ask(server, '/openapi/v3/apis/example.com/v1')).json?.components?.schemas
  const core = (await ask(server, '/openapi/v3/api/v1')).json.components.schemas
  const { definitions } = (await ask(server, '/openapi/v2')).json
  const objects = [
    custom['com.example.v1.Foo'],
    core['io.k8s.api.core.v1.ConfigMap'],
    definitions['com.example.v1.Foo'],
    definitions['io.k8s.api.core.v1.ConfigMap'],
  ]
  const lists = [custom['com.example.v1.FooList'], core['io.k8s.api.core.v1.ConfigMapList'], definitions['com.example.v1.FooList']]
  for (const { properties } of [...objects, ...lists]) {
    assert.match(properties.apiVersion.description, /^APIVersion defines/)
    assert.match(properties.kind.description, /^Kind is a string value/)
  }
  for (const { properties } of objects) assert.match(properties.metadata.description, /^Standard object's metadata/)
  for (const { properties } of lists) assert.match(properties.metadata.description, /^Standard list metadata/)
  const { properties } = core['io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta']
  assert.match(properties.creationTimestamp.description, /^CreationTimestamp is a timestamp/)
})
