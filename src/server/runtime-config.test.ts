import assert from 'node:assert/strict'
import test from 'node:test'
import { readRuntimeConfig } from './runtime-config.ts'

const read = (text: string, isForwardCompatible = false) => readRuntimeConfig(text, { groupDomain: 'k8s.io', isForwardCompatible })
const isOn = (text: string, ...path: [string, string, string]) => read(text).isEnabled(...path)

test('stable versions are on and others off, until stages, versions and resources say otherwise, the more exact one last', () => {
  const claims = (text: string) => ['v1', 'v1beta1', 'v1alpha3'].map(version => isOn(text, 'resource.k8s.io', version, 'resourceclaims'))
  assert.deepEqual(claims(''), [true, false, false])
  assert.deepEqual(claims('api/all=true'), [true, true, true])
  assert.deepEqual(claims('api/beta=true'), [true, true, false])
  assert.deepEqual(claims('api/alpha=false,api/all=true'), [true, true, false])
  assert.deepEqual(claims('resource.k8s.io/v1beta1=true'), [true, true, false])
  assert.deepEqual(claims('resource.k8s.io/v1beta1,resource.k8s.io/v1=0'), [false, true, false])
  assert.deepEqual(claims('resource.k8s.io/v1beta1/resourceclaims=true'), [true, true, false])
  assert.deepEqual(claims('api/all=true, resource.k8s.io/v1beta1/resourceclaims = false'), [true, false, true])
  assert.deepEqual(claims('resource.k8s.io/v1beta1/resourceclaims=false,resource.k8s.io/v1beta1=true'), [true, false, false])
  assert.equal(isOn('resource.k8s.io/v1beta1/resourceclaims=true', 'resource.k8s.io', 'v1beta1', 'deviceclasses'), false)
})

test('the core group is v1, api/v1 or /v1; api/legacy means nothing', () => {
  for (const name of ['v1', 'api/v1', '/v1', 'v1/pods']) assert.equal(isOn(`${name}=false`, '', 'v1', 'pods'), false, name)
  assert.equal(isOn('api/legacy=false', '', 'v1', 'pods'), true)
})

test('versions that have no resources any more may be named', () => {
  for (const name of ['networking.k8s.io/v1beta1', 'extensions/v1beta1', 'apps/v1beta2', 'apiextensions.k8s.io/v1beta1'])
    assert.doesNotThrow(() => read(`${name}=true`), name)
})

test('a forward compatible server has the versions after one that is on', () => {
  const { isEnabled } = read('resource.k8s.io/v1beta1=true,resource.k8s.io/v1=false', true)
  const on = ['v1', 'v1beta2', 'v1beta1', 'v1alpha3'].map(version => isEnabled('resource.k8s.io', version, 'resourceclaims'))
  assert.deepEqual(on, [false, true, true, false])
})

const REFUSED: readonly (readonly [string, string])[] = [
  ['foo/v1=true', 'unknown api groups foo/v1'],
  ['foo/v1/x=true,bar/v2=false', 'unknown api groups bar/v2,foo/v1'],
  ['foo', 'runtime-config invalid key foo'],
  ['a/b/c/d=true', 'runtime-config invalid key a/b/c/d'],
  ['apps/v9=true', 'group version apps/v9 that has not been registered'],
  ['apps/v1=maybe', 'invalid value of apps/v1: maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax'],
  [
    'apps/v1/Deployments=true',
    'invalid key apps/v1/Deployments: group/version/resource and resource is always lowercase plural, not "Deployments"',
  ],
  ['api/all=maybe', 'invalid value api/all=maybe'],
  ['api/ga=false', '--runtime-config=api/ga=false conflicts with --enable-priority-and-fairness=true'],
  [
    'flowcontrol.apiserver.k8s.io/v1=false',
    '--runtime-config=flowcontrol.apiserver.k8s.io/v1=false conflicts with --enable-priority-and-fairness=true',
  ],
  [
    'api/all=false',
    '[--runtime-config=api/all=false conflicts with --enable-priority-and-fairness=true, invalid runtime-config with only api/all=false]',
  ],
]

test('faults are refused in the words of kube-apiserver', () => {
  for (const [text, message] of REFUSED) assert.throws(() => read(text), { message }, text)
  assert.doesNotThrow(() => read('api/all=false,flowcontrol.apiserver.k8s.io/v1=true,v1=true'))
})
