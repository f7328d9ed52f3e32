/** How numbers that are not written as integers are decoded, for each media type and patch type. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { openBench } from '../../test/kits/registry.ts'
import { defineKind } from '../schema/kind.ts'
import { int32, message, quantity } from '../schema/types.ts'

const Crate = defineKind({
  group: 'harbour',
  version: 'v1',
  kind: 'Crate',
  scope: 'Namespaced',
  names: { plural: 'crates' },
  spec: message('CrateSpec', { count: [1, int32], weight: [2, quantity] }),
})

const JSON_PATCH = { type: 'application/json-patch+json' }
const STRATEGIC = { type: 'application/strategic-merge-patch+json' }

async function open(t: { after(close: () => Promise<void>): void }) {
  const bench = await openBench([Crate])
  t.after(bench.close)
  const { send } = bench
  await send('POST crates', { metadata: { name: 'a' }, spec: { count: 5 } })
  const says = async (...request: Parameters<typeof send>) => {
    const { code, body } = await send(...request)
    return code < 300 ? body.spec : [code, body.message.replace(/patch: Invalid value: .*: (?=json: |cannot convert )/, 'patch: … ')]
  }
  return { ...bench, says }
}

const refused = (number: string) => `json: cannot unmarshal number ${number} into Go struct field CrateSpec.spec.count of type int32`

test('a body in JSON has to write integers as such, and quantities stay as they are written', async t => {
  const { says } = await open(t)
  const body = (count: string) => `{"metadata":{"name":"b"},"spec":{"count":${count}}}`
  for (const number of ['1.0', '1e3', '1.50', '123456789012345678901234567890', '1e400'])
    assert.deepEqual(await says('POST crates', body(number)), [
      400,
      `Crate in version "v1" cannot be handled as a Crate: ${refused(number)}`,
    ])
  assert.deepEqual(await says('POST crates', '{"metadata":{"name":"b"},"spec":{"count":-0,"weight":1e3}}'), { weight: '1e3' })
  assert.deepEqual(await says('PUT crates/b', body('2.0')), [400, `Crate in version "v1" cannot be handled as a Crate: ${refused('2.0')}`])
})

test('YAML numbers are values, however they are written', async t => {
  const { says } = await open(t)
  const sent = 'metadata: {name: c}\nspec:\n  count: 1e3\n'
  assert.deepEqual(await says('POST crates', sent, { type: 'application/yaml' }), { count: 1000 })
})

test('patches that are merged as text are read as JSON is', async t => {
  const { says, send } = await open(t)
  assert.deepEqual(await says('PATCH crates/a', '{"spec":{"count":1.0}}'), [422, ` "" is invalid: patch: … ${refused('1.0')}`])
  const replace = (value: string) => `[{"op":"replace","path":"/spec/count","value":${value}}]`
  assert.deepEqual(await says('PATCH crates/a', replace('1e3'), JSON_PATCH), [422, ` "" is invalid: patch: … ${refused('1e3')}`])
  const { body } = await send('PATCH crates/a', replace('2.50'), JSON_PATCH)
  assert.match(body.message, /"spec\\":\{\\"count\\":2\.50/)
  const testing = (value: string) => `[{"op":"test","path":"/spec/count","value":${value}},{"op":"replace","path":"/spec/count","value":6}]`
  assert.equal((await send('PATCH crates/a', testing('5.0'), JSON_PATCH)).code, 422)
  assert.equal((await send('PATCH crates/a', testing('5'), JSON_PATCH)).code, 200)
  const twice =
    '[{"op":"add","path":"/spec/count","value":7.0},{"op":"test","path":"/spec/count","value":7.0},{"op":"replace","path":"/spec/count","value":8}]'
  assert.equal((await says('PATCH crates/a', twice, JSON_PATCH)).count, 8)
})

test('patches that are merged as values take whole numbers however they are written', async t => {
  const { says } = await open(t)
  assert.equal((await says('PATCH crates/a', '{"spec":{"count":1e1}}', STRATEGIC)).count, 10)
  assert.deepEqual(await says('PATCH crates/a', '{"spec":{"count":1.5}}', STRATEGIC), [
    422,
    ' "" is invalid: patch: … cannot convert float64 to int32',
  ])
})

test('a patch with a number outside the range of a double is rejected', async t => {
  const { says } = await open(t)
  const sent = '{"spec":{"count":1e400}}'
  const what = 'json: cannot unmarshal number 1e400 into Go'
  assert.deepEqual(await says('PATCH crates/a', sent), [400, `error decoding patch: ${what} value of type float64`])
  assert.deepEqual(await says('PATCH crates/a', sent, STRATEGIC), [400, `${what} value of type float64`])
  assert.deepEqual(await says('PATCH crates/a', '[{"op":"add","path":"/spec/count","value":1e400}]', JSON_PATCH), [
    400,
    `error decoding patch: ${what} struct field jsonPatchOp.value of type float64`,
  ])
})
