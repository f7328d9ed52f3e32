import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileDeviceExpression, type DeviceFeatures } from './devices.ts'
import { isProblem } from './expression.ts'

const plain: DeviceFeatures = { consumableCapacity: true, listTypeAttributes: false }
const lists: DeviceFeatures = { consumableCapacity: true, listTypeAttributes: true }

/** The maximum cost of an expression, or its error. */
function maxCost(text: string, features = plain): bigint | string {
  const compiled = compileDeviceExpression(text, 'selector', features)
  return isProblem(compiled) ? compiled.detail : compiled.maxCost
}

test('the sizes of devices limit what selectors may cost', () => {
  assert.equal(maxCost('true'), 0n)
  assert.equal(maxCost('device.driver == "dra.example.com"'), 4n)
  assert.equal(maxCost('device.attributes["dra.example.com"].name'), 4n)
  assert.equal(maxCost('cel.bind(dra, device.attributes["dra.example.com"], dra.name)'), 15n)
  assert.equal(maxCost('"dra.example.com" in device.attributes'), 3n)
  assert.equal(maxCost('device.attributes.exists_one(x, x == "dra.example.com")'), 164n)
  assert.equal(maxCost('device.attributes["dra.example.com"].exists_one(x, x == "services")'), 133n)
  assert.equal(maxCost('device.attributes["dra.example.com"].services.split("example").size() >= 2'), 19n)
  assert.equal(maxCost('device.attributes["dra.example.com"].services.matches("[^a]?sym")'), 18n)
  assert.equal(maxCost('device.capacity["dra.example.com"].memory.isGreaterThan(quantity("1Ki"))'), 6n)
  const deep = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].reduceRight(
    (inner, name) => `[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].all(${name}, ${inner})`,
    "int('1'.find('[0-9]*')) < 100",
  )
  assert.equal(maxCost(deep), 85_555_551n)
})

test('attributes may be lists where that is on', () => {
  assert.equal(maxCost('device.attributes["dra.example.com"].names.all(x, x != "")', lists), 5n + 4n * 64n)
  assert.equal(maxCost('device.attributes["dra.example.com"].name.includes("fish")', lists), 4n + 64n)
  assert.equal(maxCost('device.attributes["dra.example.com"].names.size() == 2', lists), 6n)
  assert.match(
    String(maxCost('device.attributes["dra.example.com"].ids.exists(id, id == 1)')),
    /expression of type 'any' cannot be range of a comprehension/,
  )
})

test('a derived attribute is a value that devices can have', () => {
  const problem = (text: string, features = plain) => {
    const compiled = compileDeviceExpression(text, 'attribute', features)
    return isProblem(compiled) ? compiled.detail : undefined
  }
  for (const text of ['1', 'true', "'a'", "semver('1.0.0')", 'device.attributes["a"].b', 'device.driver'])
    assert.equal(problem(text), undefined)
  const scalar = 'must evaluate to a primitive scalar (string, integer, boolean, semver)'
  assert.equal(problem('[1]'), `${scalar}, not list(int)`)
  assert.equal(problem('[1]', lists), undefined)
  assert.equal(problem("quantity('1')", lists), `${scalar} or a list of these scalars, not kubernetes.Quantity`)
})
