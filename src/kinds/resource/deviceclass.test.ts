import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withGates } from '../../../test/kits/kinds/devices.ts'
import { check, contextWith, created } from '../../../test/kits/kinds/kinds.ts'
import { DeviceClass } from './deviceclass.ts'

const ctx = withGates()
const faults = (spec: object, old?: object) => check(DeviceClass, { spec }, old ? { ctx, old: { spec: old } } : { ctx })
const opaque = (parameters: unknown, driver = 'gpu.example.com') => ({ opaque: { driver, parameters } })
const selector = (expression: string) => ({ cel: { expression } })

test('a class may say nothing, or select and configure devices', () => {
  assert.deepEqual(faults({}), [])
  assert.deepEqual(
    faults({
      selectors: [selector('device.driver == "gpu.example.com"')],
      config: [opaque({ mode: 'x' }), opaque({}, 'GPU.example.com')],
      extendedResourceName: 'example.com/gpu',
    }),
    [],
  )
})

test('a selector holds an expression of at most 10 Ki', () => {
  assert.deepEqual(faults({ selectors: [{}] }), ['spec.selectors[0].cel: Required value'])
  assert.deepEqual(faults({ selectors: [selector('true'.padEnd(10240))] }), [])
  assert.deepEqual(faults({ selectors: [selector('x'.repeat(10241))] }), [
    'spec.selectors[0].cel.expression: Too long: may not be more than 10240 bytes',
  ])
})

test('a selector compiles, returns a bool, and is not too costly', () => {
  const errorsOf = (expression: string) =>
    faults({ selectors: [selector(expression)] }).map(error => error.replace('spec.selectors[0].cel.expression: ', ''))
  assert.deepEqual(errorsOf('device.attributes["a.example.com"].flag'), [])
  assert.deepEqual(errorsOf('cel.bind(a, device.attributes["a.example.com"], a.x && a.y)'), [])
  assert.deepEqual(errorsOf('device.driver'), ['Invalid value: "device.driver": must evaluate to bool or the unknown type, not string'])
  assert.deepEqual(errorsOf('device.nope'), [
    `Invalid value: "device.nope": compilation failed: ERROR: <input>:1:7: undefined field 'nope'\n | device.nope\n | ......^`,
  ])
  assert.deepEqual(errorsOf("int('x') == 1"), [
    "Internal error: program instantiation failed: type conversion error from 'string' to 'int'",
  ])
  const nested = ['a', 'b', 'c', 'd', 'e'].reduceRight((inner, name) => `device.attributes["x"].all(${name}, ${inner})`, 'true')
  assert.deepEqual(errorsOf(nested), ['Forbidden: too complex, exceeds cost limit'])
})

test('what a selector can access of devices depends on feature gates', () => {
  const errorOf = (expression: string, ...gates: string[]) =>
    check(DeviceClass, { spec: { selectors: [selector(expression)] } }, { ctx: contextWith({ gates }) }).join()
  const shared = 'device.allowMultipleAllocations'
  assert.match(errorOf(shared), /undefined field 'allowMultipleAllocations'/)
  assert.equal(errorOf(shared, 'DRAConsumableCapacity'), '')
  const listed = 'device.attributes["x"].y.includes("z")'
  assert.match(errorOf(listed), /undeclared reference to 'includes'/)
  assert.equal(errorOf(listed, 'DRAListTypeAttributes'), '')
})

test('selectors that stay as they are are not compiled again', () => {
  const old = { spec: { selectors: [selector('no longer valid')] } }
  assert.deepEqual(check(DeviceClass, old, { old }), [])
  assert.equal(check(DeviceClass, { spec: { selectors: [selector('no longer valid'), selector('true')] } }, { old }).length, 1)
})

test('configuration is for one driver and an object of at most 10 Ki', () => {
  assert.deepEqual(faults({ config: [{}] }), ['spec.config[0].opaque: Required value'])
  assert.deepEqual(faults({ config: [opaque(undefined, '')] }), [
    'spec.config[0].opaque.parameters: Required value',
    'spec.config[0].opaque.driver: Required value',
  ])
  assert.deepEqual(faults({ config: [opaque(null)] }), ['spec.config[0].opaque.parameters: Required value'])
  for (const parameters of ['text', 7, [1], true])
    assert.deepEqual(faults({ config: [opaque(parameters)] }), [
      'spec.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object',
    ])
  assert.deepEqual(faults({ config: [opaque({ x: 'y'.repeat(10240 - 8) })] }), [])
  assert.deepEqual(faults({ config: [opaque({ x: 'y'.repeat(10240 - 7) })] }), [
    'spec.config[0].opaque.parameters: Too long: may not be more than 10240 bytes',
  ])
})

test('the size of numbers beyond 2^53 is that of their digits', () => {
  const parameters = { n: 2n ** 62n, x: '' }
  const remaining = 10240 - '{"n":4611686018427387904,"x":""}'.length
  assert.deepEqual(faults({ config: [opaque({ ...parameters, x: 'y'.repeat(remaining) })] }), [])
  assert.equal(faults({ config: [opaque({ ...parameters, x: 'y'.repeat(remaining + 1) })] }).length, 1)
})

test('drivers are DNS names of at most 63 characters', () => {
  assert.deepEqual(faults({ config: [opaque({}, `${'x'.repeat(60)}.com`)] }), [
    'spec.config[0].opaque.driver: Too long: may not be more than 63 characters',
  ])
  assert.match(faults({ config: [opaque({}, 'a_b')] })[0] ?? '', /opaque\.driver: Invalid value: "a_b": an RFC 1123 subdomain must/)
})

test('what is stored already is not measured again', () => {
  const long = { selectors: [selector('x'.repeat(20000))], config: [opaque({ x: 'y'.repeat(20000) })] }
  assert.deepEqual(faults({ ...long, extendedResourceName: 'example.com/a' }, long), [])
  assert.deepEqual(faults({ ...long, selectors: [...long.selectors, ...long.selectors] }, long).length, 2)
})

test('there are at most 32 selectors and 32 configurations', () => {
  assert.deepEqual(faults({ selectors: new Array(33).fill(selector('true')), config: new Array(33).fill(opaque({})) }), [
    'spec.selectors: Too many: 33: must have at most 32 items',
    'spec.config: Too many: 33: must have at most 32 items',
  ])
})

test('an extended resource has a domain that is not that of Kubernetes', () => {
  assert.deepEqual(faults({ extendedResourceName: 'gpu' }), [
    'spec.extendedResourceName: Invalid value: "gpu": a name must be a domain-prefixed path, such as \'example.com/my-prop\'',
  ])
  assert.deepEqual(faults({ extendedResourceName: 'kubernetes.io/gpu' }), [
    'spec.extendedResourceName: Invalid value: "kubernetes.io/gpu": must not have "kubernetes.io/" domain',
  ])
  assert.deepEqual(faults({ extendedResourceName: 'requests.example.com/gpu' }), [
    'spec.extendedResourceName: Invalid value: "requests.example.com/gpu": must not have "requests." prefix',
  ])
  assert.equal(faults({ extendedResourceName: '' }).length, 2)
})

test('free-form parameters are kept unchanged, whatever their keys', () => {
  const parameters = JSON.parse('{"__proto__": {"a": 1}, "constructor": 2}')
  const { spec } = created(DeviceClass, { spec: { config: [opaque(parameters)] } }, ctx)
  assert.equal(JSON.stringify(spec.config[0].opaque.parameters), '{"__proto__":{"a":1},"constructor":2}')
})
