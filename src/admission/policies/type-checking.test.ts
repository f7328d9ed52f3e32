import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtinKinds } from '../../kinds/all.ts'
import { resourcesOf } from '../../schema/resource.ts'
import { typeWarnings } from './type-checking.ts'

const RESOURCES = resourcesOf(builtinKinds, 'k8s.io')

type Rule = { apiGroups: string[]; apiVersions: string[]; resources: string[] }
const rule = (group: string, version: string, ...resources: string[]): Rule => ({ apiGroups: [group], apiVersions: [version], resources })

/** The faults of an expression about the objects of some rules, without the pictures. */
function wrong(expression: string, rules: Rule[], more: object = {}): string[] {
  const spec = { matchConstraints: { resourceRules: rules }, validations: [{ expression }], ...more }
  const work = typeWarnings({ metadata: { name: 'p' }, spec } as never, RESOURCES)
  for (;;) {
    const { done, value } = work.next()
    if (done) return value.flatMap(({ warning }) => warning.split('\n').filter(line => line.includes('ERROR')))
  }
}

const DEPLOYMENTS = [rule('apps', 'v1', 'deployments')]
const about = (expression: string, more: object = {}) =>
  wrong(expression, DEPLOYMENTS, more).map(line => line.replace(/^apps\/v1, Kind=Deployment: ERROR: <input>:\d+:\d+: /, ''))

test('fields are known with their types', () => {
  assert.deepEqual(about('object.spec.template.spec.containers.all(c, c.image.startsWith("a") && c.ports.exists(p, p.hostPort > 1))'), [])
  assert.deepEqual(about('object.metadata.creationTimestamp < timestamp("2026-01-01T00:00:00Z") && object.metadata.labels["a"] == "b"'), [])
  assert.deepEqual(about('oldObject.metadata.namespace == object.metadata.__namespace__ && has(object.spec.paused)'), [])
  assert.deepEqual(about('object.spec.strategy.rollingUpdate.maxSurge == 1 || object.spec.strategy.rollingUpdate.maxSurge == "25%"'), [])
  assert.deepEqual(about('object.metadata.managedFields.all(m, m.fieldsV1 != null) && object.kind == "Deployment"'), [])
  assert.deepEqual(about('object.spec.replicas == "five"'), ["found no matching overload for '_==_' applied to '(int, string)'"])
  assert.deepEqual(about('object.spec.nosuch == 1'), ["undefined field 'nosuch'"])
  // A quantity is a text or a number: nothing is known of it.
  assert.deepEqual(about('object.spec.template.spec.containers[0].resources.requests["cpu"] == "1"'), ["undefined field 'requests'"])
})

test('variables, parameters and the parts of the request have types as well', () => {
  const variables = [
    { name: 'count', expression: 'object.spec.replicas' },
    { name: 'spec', expression: 'object.spec' },
  ]
  assert.deepEqual(about('variables.count > 1 && variables.spec.whatever == 1', { variables }), [])
  assert.deepEqual(about('variables.count > "1"', { variables }), ["found no matching overload for '_>_' applied to '(int, string)'"])
  const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' }
  assert.deepEqual(about('params.data["a"] == "b"', { paramKind }), [])
  assert.deepEqual(about('params.spec == 1', { paramKind }), ["undefined field 'spec'"])
  assert.deepEqual(about('params.spec == 1', { paramKind: { apiVersion: 'example.com/v1', kind: 'Unknown' } }), [])
  assert.deepEqual(about('request.nosuch == 1'), ["undefined field 'nosuch'"])
  assert.deepEqual(about('authorizer.group("").resource("pods").check("get").allowed()'), [])
})

test('every kind that rules name without wildcards is checked, in order', () => {
  const rules = [
    rule('apps', 'v1', 'statefulsets', 'deployments', 'deployments/scale', '*/status'),
    rule('batch', '*', 'jobs'),
    rule('*', 'v1', 'pods'),
  ]
  assert.deepEqual(
    wrong('object.spec.serviceName == "a"', rules).map(line => line.replace(/: ERROR.*/, '')),
    ['apps/v1, Kind=Deployment'],
  )
  assert.deepEqual(
    wrong('object.nosuch', [...rules, rule('', 'v1', 'events')]).map(line => line.replace(/: ERROR.*/, '')),
    ['/v1, Kind=Event', 'apps/v1, Kind=Deployment', 'apps/v1, Kind=StatefulSet', 'events.k8s.io/v1, Kind=Event'],
  )
  const many = RESOURCES.filter(({ group, version }) => group === '' && version === 'v1').map(({ plural }) => plural)
  assert.equal(wrong('object.nosuch', [rule('', 'v1', ...many)]).length, 10)
})

test('a type that contains itself ends where it begins anew', () => {
  const definitions = [rule('apiextensions.k8s.io', 'v1', 'customresourcedefinitions')]
  const schema = 'object.spec.versions[0].schema.openAPIV3Schema'
  assert.deepEqual(wrong(`${schema}.properties["a"] != null`, definitions), [])
  assert.match(wrong(`${schema}.not.type == "a"`, definitions)[0]!, /undefined field 'type'/)
})
