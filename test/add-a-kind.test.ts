// Adding a kind touches one file: here that file is this one, and everything a server derives from a kind works for it.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Condition } from '../src/kinds/rules/meta.ts'
import { age } from '../src/schema/columns.ts'
import { defineKind } from '../src/schema/kind.ts'
import { duplicate, invalid } from '../src/schema/refs.ts'
import { int32, keyed, mapOf, message, oneOf, quantity, string } from '../src/schema/types.ts'
import { DEFAULTS } from '../src/server/config.ts'
import { startServer } from '../src/server/start.ts'
import { type Answer, ask, patient, run, type Sent, type Target, targetOf, temporaryDirectory, Watching } from './kit.ts'
import { testWith } from './programs.ts'

const Bed = message('Bed', {
  name: [1, string.required(), 'Unique in the greenhouse.'],
  plant: [2, string.required(), 'What grows there.'],
  water: [3, oneOf('Drip', 'Spray').default('Drip'), 'How it is watered.'],
})

const GreenhouseSpec = message('GreenhouseSpec', {
  beds: [1, keyed(Bed, 'name').mergedBy('name').max(100), 'What is planted where.'],
  minCelsius: [2, int32.min(-20).max(60).default(5), 'Heating starts below this.'],
  maxCelsius: [3, int32.optional(), 'Windows open above this.'],
  supplies: [4, mapOf(quantity), 'What is needed in a week.'],
})

const GreenhouseStatus = message('GreenhouseStatus', {
  celsius: [1, int32.always(), 'The temperature last measured.'],
  conditions: [2, keyed(Condition, 'type').mergedBy('type'), 'The last observed conditions.'],
})

const Greenhouse = defineKind({
  group: 'garden.{group_domain}',
  version: 'v1',
  kind: 'Greenhouse',
  scope: 'Namespaced',
  names: { plural: 'greenhouses', short: ['gh'], categories: ['all'] },
  doc: 'A house of glass in which plants grow.',
  spec: GreenhouseSpec,
  status: GreenhouseStatus,
  generation: true,

  *validate({ spec }, { spec: at }) {
    const { minCelsius, maxCelsius } = spec
    if (maxCelsius !== undefined && maxCelsius <= minCelsius) yield invalid(at.maxCelsius, 'must be greater than minCelsius')
    const plants = new Set<string>()
    for (const [i, bed] of (spec.beds ?? []).entries()) {
      if (plants.has(bed.plant)) yield duplicate(at.beds[i]!.plant)
      plants.add(bed.plant)
    }
  },
  *validateUpdate({ spec }, { spec: old }, { spec: at }) {
    if (spec.minCelsius < old.minCelsius - 10) yield invalid(at.minCelsius, 'may fall by at most 10 at a time')
  },

  subresources: { status: {} },
  selectable: { 'spec.minCelsius': o => o.spec.minCelsius },
  columns: {
    Beds: ['integer', o => o.spec.beds?.length ?? 0, 'How many beds there are'],
    Celsius: ['integer', o => o.status.celsius, 'The temperature last measured'],
    Age: age,
  },
})

const GROUP = '/apis/garden.example.com/v1'
const HOUSES = `${GROUP}/namespaces/default/greenhouses`
const house = (name: string, spec: object = {}) => ({ apiVersion: 'garden.example.com/v1', kind: 'Greenhouse', metadata: { name }, spec })
const fern = { name: 'a', plant: 'fern' }

type Garden = {
  readonly target: Target
  readonly send: (method: string, path: string, sent?: Sent) => Promise<Answer>
  readonly kubeconfig: string
}

/** A server of a domain of its own, so that nothing can depend on the usual one. */
async function openGarden(t: TestContext): Promise<Garden> {
  const server = await startServer({ ...DEFAULTS, store: 'memory', port: 0, groupDomain: 'example.com' }, { kinds: [Greenhouse] })
  t.after(() => server.close())
  const target = targetOf(server.kubeconfig)
  return { target, kubeconfig: server.kubeconfig, send: (method, path, sent = {}) => ask(target, path, { method, ...sent }) }
}

test('discovery lists the kind with its names, verbs and subresources', patient, async t => {
  const { send } = await openGarden(t)
  const { json } = await send('GET', GROUP)
  const [resource, status] = json.resources
  assert.deepEqual(
    { ...resource, storageVersionHash: undefined },
    {
      name: 'greenhouses',
      singularName: 'greenhouse',
      namespaced: true,
      kind: 'Greenhouse',
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['gh'],
      categories: ['all'],
      storageVersionHash: undefined,
    },
  )
  assert.equal(status.name, 'greenhouses/status')
  const { json: groups } = await send('GET', '/apis')
  assert.ok(groups.groups.some((group: any) => group.name === 'garden.example.com'))
})

test('OpenAPI describes it, with its docs, list kinds and merge keys', patient, async t => {
  const { send } = await openGarden(t)
  const { json } = await send('GET', `/openapi/v3${GROUP}`)
  const { properties } = json.components.schemas['com.example.garden.v1.GreenhouseSpec']
  assert.equal(properties.beds.description, 'What is planted where.')
  assert.deepEqual(properties.beds['x-kubernetes-list-map-keys'], ['name'])
  assert.equal(properties.beds['x-kubernetes-patch-merge-key'], 'name')
  assert.ok(json.paths[`${GROUP}/namespaces/{namespace}/greenhouses/{name}/status`].put)
})

test('objects get defaults, are checked, counted and selected', patient, async t => {
  const { send } = await openGarden(t)
  const { status, json } = await send('POST', HOUSES, { body: house('one', { beds: [fern] }) })
  assert.equal(status, 201)
  assert.deepEqual(json.spec, { beds: [{ ...fern, water: 'Drip' }], minCelsius: 5 })
  assert.deepEqual(json.status, { celsius: 0 })
  assert.equal(json.metadata.generation, 1)

  const bad = await send('POST', HOUSES, {
    body: house('bad', { beds: [fern, { name: 'b', plant: 'fern', water: 'Hose' }], maxCelsius: 1 }),
  })
  assert.equal(bad.status, 422)
  assert.deepEqual(bad.json.details.causes, [
    {
      reason: 'FieldValueNotSupported',
      message: 'Unsupported value: "Hose": supported values: "Drip", "Spray"',
      field: 'spec.beds[1].water',
    },
    { reason: 'FieldValueInvalid', message: 'Invalid value: 1: must be greater than minCelsius', field: 'spec.maxCelsius' },
    { reason: 'FieldValueDuplicate', message: 'Duplicate value: "fern"', field: 'spec.beds[1].plant' },
  ])
  const strict = await send('POST', `${HOUSES}?fieldValidation=Strict`, { body: house('odd', { glass: true }) })
  assert.match(strict.json.message, /unknown field "spec.glass"/)

  await send('POST', HOUSES, { body: house('warm', { minCelsius: 20 }) })
  const names = async (selector: string) =>
    (await send('GET', `${HOUSES}?fieldSelector=${selector}`)).json.items.map((o: any) => o.metadata.name)
  assert.deepEqual(await names('spec.minCelsius%3D20'), ['warm'])
  const cold = await send('PATCH', `${HOUSES}/warm`, {
    body: { spec: { minCelsius: 0 } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  assert.match(cold.json.message, /may fall by at most 10 at a time/)
})

test('patches and apply merge its lists by their keys, and there is a status subresource', patient, async t => {
  const { send } = await openGarden(t)
  await send('POST', HOUSES, { body: house('one', { beds: [fern] }) })
  const patched = await send('PATCH', `${HOUSES}/one`, {
    body: { spec: { beds: [{ name: 'b', plant: 'rose' }] } },
    headers: { 'content-type': 'application/strategic-merge-patch+json' },
  })
  assert.deepEqual(
    patched.json.spec.beds.map((bed: any) => bed.name),
    ['b', 'a'],
  )
  assert.equal(patched.json.metadata.generation, 2)

  const apply = (manager: string, beds: object[]) =>
    send('PATCH', `${HOUSES}/two?fieldManager=${manager}`, {
      body: house('two', { beds }),
      headers: { 'content-type': 'application/apply-patch+yaml' },
    })
  assert.equal((await apply('anna', [fern])).status, 201)
  const both = await apply('bert', [{ name: 'b', plant: 'rose' }])
  assert.deepEqual(
    both.json.spec.beds.map((bed: any) => bed.name),
    ['a', 'b'],
  )
  const conflict = await apply('bert', [{ name: 'a', plant: 'moss' }])
  assert.equal(conflict.status, 409)
  assert.match(conflict.json.message, /\.spec\.beds\[name="a"\]\.plant/)

  const measured = await send('PUT', `${HOUSES}/two/status`, { body: { ...both.json, spec: {}, status: { celsius: 18 } } })
  assert.equal(measured.json.status.celsius, 18)
  assert.equal(measured.json.spec.beds.length, 2)
  assert.equal(measured.json.metadata.generation, both.json.metadata.generation)
})

test('watches send its objects, and tables show its columns', patient, async t => {
  const { target, send } = await openGarden(t)
  const watching = await Watching.open(t, target, `${HOUSES}?watch=true`)
  await send('POST', HOUSES, { body: house('one', { beds: [fern] }) })
  await send('DELETE', `${HOUSES}/one`)
  const events = await watching.until(({ type }) => type === 'DELETED')
  assert.deepEqual(
    events.map(({ type, object }) => [type, object.metadata.name]),
    [
      ['ADDED', 'one'],
      ['DELETED', 'one'],
    ],
  )
  await send('POST', HOUSES, { body: house('two', { beds: [fern] }) })
  const { json } = await send('GET', HOUSES, { headers: { accept: 'application/json;as=Table;v=v1;g=meta.example.com' } })
  assert.deepEqual(
    json.columnDefinitions.map((column: any) => column.name),
    ['Name', 'Beds', 'Celsius', 'Age'],
  )
  assert.deepEqual(json.rows[0].cells.slice(0, 3), ['two', 1, 0])
})

testWith('kubectl', 'kubectl gets, explains, applies and edits it like any other', patient, async (t, program) => {
  const server = await startServer({ ...DEFAULTS, store: 'memory', port: 0 }, { kinds: [Greenhouse] })
  t.after(() => server.close())
  const home = temporaryDirectory(t)
  const file = join(home, 'house.json')
  writeFileSync(join(home, 'kubeconfig'), server.kubeconfig)
  const manifest = (beds: object[]) => writeFileSync(file, JSON.stringify({ ...house('one', { beds }), apiVersion: 'garden.k8s.io/v1' }))
  const kubectl = async (...args: string[]) => {
    const all = ['--kubeconfig', join(home, 'kubeconfig'), '--cache-dir', join(home, 'cache'), ...args]
    const { code, stdout, stderr } = await run(program, all, { env: { PATH: process.env['PATH'], HOME: home } })
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${stderr}`)
    return stdout
  }
  assert.match(await kubectl('explain', 'greenhouse.spec.beds'), /What is planted where\.[\s\S]*plant\t<string>/)
  manifest([fern, { name: 'b', plant: 'rose' }])
  assert.match(await kubectl('apply', '-f', file), /greenhouse.garden.k8s.io\/one created/)
  manifest([fern])
  assert.match(await kubectl('apply', '-f', file), /configured/)
  assert.match(await kubectl('get', 'gh'), /^NAME +BEDS +CELSIUS +AGE\none +1 +0 +/)
  await kubectl('apply', '--server-side', '--force-conflicts', '-f', file)
  await kubectl('patch', 'gh', 'one', '--type=merge', '-p', '{"spec":{"maxCelsius":30}}')
  assert.match(await kubectl('get', 'all'), /greenhouse.garden.k8s.io\/one/)
  assert.match(await kubectl('delete', 'gh', 'one'), /"one" deleted/)
})
