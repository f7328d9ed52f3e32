import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Bench, openBench } from '../../test/kits/registry.ts'
import { defineKind, type ObjectOf } from '../schema/kind.ts'
import { invalid } from '../schema/refs.ts'
import { atomic, int32, message, string } from '../schema/types.ts'

const Boat = defineKind({
  group: 'harbour',
  version: 'v2',
  kind: 'Boat',
  scope: 'Namespaced',
  names: { plural: 'boats' },
  spec: message('BoatSpec', { crew: [1, atomic(string)], flag: [2, string.default('white')] }),
  status: message('BoatStatus', { knots: [1, int32.always()] }),
  generation: true,
  *validate({ spec }, { spec: at }) {
    if (spec.crew?.includes('nobody')) yield invalid(at.crew, 'somebody has to steer')
  },
  subresources: { status: {} },
  selectable: { 'spec.flag': o => o.spec.flag },
  columns: { Crew: ['integer', o => o.spec.crew?.length ?? 0, 'How many sail.'] },
})
type Stored = ObjectOf<typeof Boat>

/** Knows one sailor; the others go along in an annotation. */
const Dinghy = defineKind({
  group: 'harbour',
  version: 'v1',
  kind: 'Boat',
  scope: 'Namespaced',
  names: { plural: 'boats' },
  spec: message('DinghySpec', { sailor: [1, string], colours: [2, string] }),
  status: message('DinghyStatus', { speed: [1, int32.always()] }),
  conversion: {
    storedVersion: Boat,
    toStored({ metadata, spec, status }) {
      const { crew, ...annotations } = metadata.annotations ?? {}
      const others = crew ? crew.split(',') : []
      return {
        metadata: { ...metadata, annotations },
        spec: { crew: [...(spec.sailor ? [spec.sailor] : []), ...others], flag: spec.colours },
        status: { knots: status.speed },
      }
    },
    fromStored({ metadata, spec: { crew = [], flag }, status }: Stored) {
      const [sailor, ...others] = crew
      const annotations = { ...metadata.annotations, ...(others.length > 0 && { crew: others.join(',') }) }
      return { metadata: { ...metadata, annotations }, spec: { ...(sailor && { sailor }), colours: flag }, status: { speed: status.knots } }
    },
    selectable: { 'spec.colours': 'spec.flag' },
  },
})

let bench: Bench
before(async () => {
  bench = await openBench([Boat, Dinghy])
})
after(() => bench.close())

const v1 = (request: string, body?: unknown, more: object = {}) => bench.send(request, body, { apiVersion: 'harbour/v1', ...more })
const v2 = (request: string, body?: unknown, more: object = {}) => bench.send(request, body, { apiVersion: 'harbour/v2', ...more })

test('an object written in one version can be read in every version', async () => {
  const made = await v1('POST boats', { metadata: { name: 'a' }, spec: { sailor: 'ann' } })
  assert.deepEqual([made.code, made.body.apiVersion, made.body.spec], [201, 'harbour/v1', { sailor: 'ann', colours: 'white' }])
  const read = await v2('GET boats/a')
  assert.deepEqual(
    [read.body.apiVersion, read.body.spec, read.body.metadata.uid],
    ['harbour/v2', { crew: ['ann'], flag: 'white' }, made.body.metadata.uid],
  )
  const list = await v1('GET boats')
  assert.deepEqual(
    list.body.items.map((o: any) => [o.apiVersion, o.spec.sailor]),
    [['harbour/v1', 'ann']],
  )
})

test('values that a version has no field for survive an update through it', async () => {
  await v2('POST boats', { metadata: { name: 'b' }, spec: { crew: ['bob', 'eve'], flag: 'red' } })
  const { body } = await v1('GET boats/b')
  assert.deepEqual(body.metadata.annotations, { crew: 'eve' })
  const changed = await v1('PUT boats/b', { ...body, spec: { ...body.spec, sailor: 'rob' } })
  assert.equal(changed.body.metadata.generation, 2)
  const { body: stored } = await v2('GET boats/b')
  assert.deepEqual(stored.spec, { crew: ['rob', 'eve'], flag: 'red' })
  assert.equal(stored.metadata.annotations, undefined)
})

test('an update without a change writes nothing, in any version', async () => {
  const { body } = await v1('GET boats/b')
  const again = await v1('PUT boats/b', body)
  assert.equal(again.body.metadata.resourceVersion, body.metadata.resourceVersion)
})

test('patches apply to the version they are sent in', async () => {
  const { code, body } = await v1('PATCH boats/b', { spec: { sailor: null } })
  assert.deepEqual([code, body.spec, body.metadata.annotations], [200, { sailor: 'eve', colours: 'red' }, undefined])
})

test('a write is answered with what a read in the same version would be', async () => {
  const made = await v1('POST boats', { metadata: { name: 'answered', annotations: { crew: 'eve', a: 'b' } }, spec: { sailor: 'dan' } })
  assert.deepEqual(made.body, (await v1('GET boats/answered')).body)
  const changed = await v1('PATCH boats/answered', { spec: { colours: 'blue' } })
  assert.deepEqual(changed.body, (await v1('GET boats/answered')).body)
  await v1('DELETE boats/answered')
})

test('the creator of an object may name managers of another version', async () => {
  const fields = {
    manager: 'm',
    operation: 'Update',
    apiVersion: 'harbour/v2',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:spec': { 'f:flag': {} } },
  }
  const { code } = await v1('POST boats', { metadata: { name: 'managed', managedFields: [fields] }, spec: { sailor: 'eve' } })
  assert.equal(code, 201)
  await v1('DELETE boats/managed')
})

test('the rules of the stored version hold in every served version', async () => {
  const { code, body } = await v1('POST boats', { metadata: { name: 'c' }, spec: { sailor: 'nobody' } })
  assert.deepEqual([code, body.details.causes[0].field], [422, 'spec.crew'])
})

test('the status is written through its subresource, in every version', async () => {
  const { body } = await v1('GET boats/a')
  const { body: changed } = await v1('PUT boats/a/status', { ...body, spec: {}, status: { speed: 7 } })
  assert.deepEqual([changed.spec.sailor, changed.status], ['ann', { speed: 7 }])
  assert.deepEqual((await v2('GET boats/a/status')).body.status, { knots: 7 })
})

test('owners keep the version they wrote in and lose what others change in theirs', async () => {
  await v2('POST boats?fieldManager=yard', { metadata: { name: 'd' }, spec: { crew: ['dan'], flag: 'blue' } })
  await v1('PATCH boats/d?fieldManager=club', { spec: { colours: 'green' } })
  const { body } = await v2('GET boats/d')
  const owned = Object.fromEntries(body.metadata.managedFields.map((m: any) => [m.manager, [m.apiVersion, m.fieldsV1]]))
  assert.deepEqual(owned['club'], ['harbour/v1', { 'f:spec': { 'f:colours': {} } }])
  assert.deepEqual(owned['yard'], ['harbour/v2', { 'f:spec': { 'f:crew': {} } }])
})

test('apply finds conflicts with managers that used other versions', async () => {
  const apply = (manager: string, spec: object) =>
    v1(
      `PATCH boats/e?fieldManager=${manager}`,
      { apiVersion: 'harbour/v1', kind: 'Boat', metadata: { name: 'e' }, spec },
      { type: 'application/apply-patch+yaml' },
    )
  assert.equal((await apply('club', { colours: 'green' })).code, 201)
  const taken = await v2(
    'PATCH boats/e?fieldManager=yard',
    { apiVersion: 'harbour/v2', kind: 'Boat', metadata: { name: 'e' }, spec: { flag: 'red' } },
    { type: 'application/apply-patch+yaml' },
  )
  assert.deepEqual([taken.code, taken.body.message], [409, 'Apply failed with 1 conflict: conflict with "club": .spec.colours'])
})

test('field selectors use the field names of the served version', async () => {
  const { body } = await v1('GET boats?fieldSelector=spec.colours%3Dgreen')
  assert.deepEqual(
    body.items.map((o: any) => o.metadata.name),
    ['d', 'e'],
  )
  assert.equal((await v1('GET boats?fieldSelector=spec.flag%3Dgreen')).code, 400)
  assert.equal((await v2('GET boats?fieldSelector=spec.flag%3Dgreen')).body.items.length, 2)
})

test('a delete is answered in the version of the request', async () => {
  await v2('POST boats', { metadata: { name: 'f', finalizers: ['a.b/c'] }, spec: { crew: ['flo'] } })
  const { body } = await v1('DELETE boats/f')
  assert.deepEqual([body.apiVersion, body.spec.sailor], ['harbour/v1', 'flo'])
  assert.equal((await v1('DELETE boats/a')).body.status, 'Success')
  assert.equal((await v2('GET boats/a')).code, 404)
})

test('watches send every change in the version of the request', async () => {
  const { body: list } = await v1('GET boats')
  const { body: stream } = await v1(`GET boats?watch=true&resourceVersion=${list.metadata.resourceVersion}`)
  const seen: string[] = []
  stream.open({
    event: ({ type, resource, json }: any) => seen.push(`${type} ${resource.version} ${JSON.parse(json).spec.sailor}`),
    end() {},
    backlog: 0,
    onDrain() {},
  })
  await v2('POST boats', { metadata: { name: 'w' }, spec: { crew: ['wim'] } })
  await v1('PATCH boats/w', { spec: { sailor: 'kim' } })
  await v2('DELETE boats/w')
  stream.close()
  assert.deepEqual(seen, ['ADDED v1 wim', 'MODIFIED v1 kim', 'DELETED v1 kim'])
})

test('a dry run is answered in the version of the request and stores nothing', async () => {
  const { body } = await v1('POST boats?dryRun=All', { metadata: { name: 'g' }, spec: { sailor: 'gus' } })
  assert.deepEqual([body.spec, body.metadata.resourceVersion], [{ sailor: 'gus', colours: 'white' }, undefined])
  assert.equal((await v2('GET boats/g')).code, 404)
})
