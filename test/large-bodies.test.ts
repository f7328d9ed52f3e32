// Bodies as large as real definitions and custom objects become, and larger, are accepted; those of too many values are not.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { LIMITS } from '../src/lib/limits.ts'
import { DEFINITIONS, definition, schema } from './hostile/request.ts'
import { ask, CONFIG_MAPS, eventually, freshServer, patient } from './kit.ts'

const MOST = LIMITS.values.large.decoded.values
const OBJECTS = '/apis/hostile.example.com/v1/namespaces/default/opens'
const YAML = { 'content-type': 'application/yaml' }

/** A schema of `parts` times 500 values. */
const largeSchema = (parts: number) => {
  const properties = Object.fromEntries(Array.from({ length: 248 }, (_, i) => [`field${i}`, { type: 'string' }]))
  return {
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: parts }, (_, i) => [`part${i}`, { type: 'object', properties }])),
  }
}
const open = (name: string, spec: unknown) => ({ apiVersion: 'hostile.example.com/v1', kind: 'Open', metadata: { name }, spec })
const numbers = (n: number) => Array.from({ length: n }, (_, i) => i % 10)

test('definitions and custom objects of as many values as real ones have, and four times as many, are stored', patient, async t => {
  const server = await freshServer(t, { controllers: ['none'] })
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) => ask(server, path, { method: 'POST', body, headers })
  // The largest real definition that was found has 52,493 values and 2.7 MB of YAML.
  const large = definition('large', schema(largeSchema(110)))
  const created = await post(DEFINITIONS, stringify(large), YAML)
  assert.equal(created.status, 201, created.text.slice(0, 300))
  const name = `${DEFINITIONS}/larges.hostile.example.com`
  const applied = { 'content-type': 'application/apply-patch+yaml' }
  assert.equal((await ask(server, `${name}?fieldManager=m&force=true`, { method: 'PATCH', headers: applied, body: large })).status, 200)

  await post(DEFINITIONS, definition('open', schema({ 'x-kubernetes-preserve-unknown-fields': true })))
  await eventually('the kind is served', async () => (await ask(server, OBJECTS)).status === 200 || undefined)
  assert.equal((await post(OBJECTS, open('most', numbers(MOST - 100)))).status, 201)
  assert.equal((await post(OBJECTS, `${stringify(open('yaml', 0))}list: [${numbers(MOST - 100).join(', ')}]\n`, YAML)).status, 201)
  for (const more of [
    await post(OBJECTS, open('more', numbers(MOST + 1))),
    await post(OBJECTS, `${stringify(open('more', 0))}list: [${numbers(MOST + 1).join(', ')}]\n`, YAML),
  ]) {
    assert.equal(more.status, 413)
    assert.equal(more.json.message, `Request entity too large: limit is ${MOST} values`)
  }
  const merge = { 'content-type': 'application/merge-patch+json' }
  const merged = await ask(server, `${OBJECTS}/most`, { method: 'PATCH', headers: merge, body: { spec: numbers(MOST - 200) } })
  assert.equal(merged.status, 200)
  const operations = { 'content-type': 'application/json-patch+json' }
  const replaced = [{ op: 'replace', path: '/spec', value: numbers(MOST - 300) }]
  assert.equal((await ask(server, `${OBJECTS}/most`, { method: 'PATCH', headers: operations, body: replaced })).status, 200)
  assert.equal((await ask(server, `${OBJECTS}/most`)).json.spec.length, MOST - 300)
})

test('other kinds may hold fewer values', patient, async t => {
  const server = await freshServer(t, { controllers: ['none'] })
  const most = LIMITS.values.other.decoded.values
  const finalizers = Array.from({ length: most }, (_, i) => `example.com/${i}`)
  const refused = await ask(server, CONFIG_MAPS, { method: 'POST', body: { metadata: { name: 'many', finalizers } } })
  assert.equal(refused.status, 413)
  assert.equal(refused.json.message, `Request entity too large: limit is ${most} values`)
})
