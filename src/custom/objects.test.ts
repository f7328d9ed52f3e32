import assert from 'node:assert/strict'
import test from 'node:test'
import { definitions, openCustomBench, type Version, widget, widgetDefinition, widgets } from '../../test/kits/custom-kinds.ts'

const WITH_STATUS: Version = { subresources: { status: {} } }
const SCALED: Version = {
  spec: { replicas: { type: 'integer', minimum: 0 }, color: { type: 'string', default: 'white' } },
  subresources: {
    status: {},
    scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas', labelSelectorPath: '.status.selector' },
  },
}

test('unknown fields are dropped, with a warning or an error as the client wants', async t => {
  const { send, define } = await openCustomBench(t)
  await define(widgetDefinition())
  const odd = { ...widget('a', { color: 'red', colour: 'red' }, { metadata: { lables: {} } }), extra: 1 }
  const warned = await send(`POST ${widgets()}`, odd)
  assert.equal(warned.code, 201)
  assert.deepEqual(warned.warnings, ['unknown field "metadata.lables"', 'unknown field "extra"', 'unknown field "spec.colour"'])
  assert.deepEqual([warned.body.spec, warned.body.extra], [{ color: 'red' }, undefined])
  assert.deepEqual((await send(`POST ${widgets('?fieldValidation=Ignore')}`, { ...odd, metadata: { name: 'b' } })).warnings, [])
  const strict = await send(`POST ${widgets('?fieldValidation=Strict')}`, odd)
  assert.deepEqual(
    [strict.code, strict.body.message],
    [
      400,
      'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "metadata.lables", unknown field "extra", unknown field "spec.colour"',
    ],
  )
  const twice = '{"apiVersion":"stable.example.com/v1","kind":"Widget","metadata":{"name":"c"},"spec":{"color":"red","color":"blue"}}'
  assert.deepEqual((await send(`POST ${widgets()}`, twice)).warnings, ['duplicate field "spec.color"'])
  const patched = await send(`PATCH ${widgets('/a?fieldValidation=Strict')}`, { spec: { size: 2, sise: 2 } })
  assert.match(patched.body.message, /strict decoding error: unknown field "spec\.sise"$/)
})

test('an object has to say what it is', async t => {
  const { send, define } = await openCustomBench(t)
  await define(widgetDefinition())
  const whole = widget('a')
  const answers = []
  for (const body of [
    { ...whole, kind: undefined },
    { ...whole, apiVersion: 'stable.example.com/v2' },
    { ...whole, kind: 'Gadget' },
  ])
    answers.push(await send(`POST ${widgets()}`, body))
  assert.deepEqual(
    answers.map(({ code, body }) => [code, body.message]),
    [
      [
        400,
        'the object provided is unrecognized (must be of type Widget): Object \'Kind\' is missing in \'{"apiVersion":"stable.example.com/v1","metadata":{"name":"a"},"spec":{}}\' ({"apiVersion":"stable.example. ...)',
      ],
      [400, 'the API version in the data (stable.example.com/v2) does not match the expected API version (stable.example.com/v1)'],
      [422, 'Gadget.stable.example.com "a" is invalid: kind: Invalid value: "Gadget": must be Widget'],
    ],
  )
})

test('the schema is checked and its defaults are filled in', async t => {
  const { send, define } = await openCustomBench(t)
  await define(widgetDefinition([SCALED]))
  const created = await send(`POST ${widgets()}`, widget('a', { replicas: 1 }))
  assert.deepEqual(created.body.spec, { replicas: 1, color: 'white' })
  const refused = await send(`PATCH ${widgets('/a')}`, { spec: { replicas: -1 } })
  assert.deepEqual(
    [refused.code, refused.body.message],
    [
      422,
      'Widget.stable.example.com "a" is invalid: [spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0, .spec.replicas: Invalid value: -1: should be a non-negative integer]',
    ],
  )
  const emptied = await send(`PATCH ${widgets('/a')}`, { spec: { color: null } })
  assert.equal(emptied.body.spec.color, 'white')
})

test('a status that has a path of its own is written through it alone', async t => {
  const { send, define } = await openCustomBench(t)
  await define(widgetDefinition([WITH_STATUS]))
  const created = await send(`POST ${widgets()}`, { ...widget('a', { color: 'red' }), status: { phase: 'New' } })
  assert.deepEqual([created.body.status, created.body.metadata.generation], [undefined, 1])
  const told = await send(`PATCH ${widgets('/a/status')}`, {
    spec: { color: 'blue' },
    status: { phase: 'Ready' },
    metadata: { labels: { a: 'b' } },
  })
  assert.deepEqual(
    [told.body.spec, told.body.status, told.body.metadata.generation, told.body.metadata.labels],
    [{ color: 'red' }, { phase: 'Ready' }, 1, undefined],
  )
  const changed = await send(`PATCH ${widgets('/a')}`, { spec: { color: 'blue' }, status: { phase: 'Lost' } })
  assert.deepEqual([changed.body.status, changed.body.metadata.generation], [{ phase: 'Ready' }, 2])
  const labelled = await send(`PATCH ${widgets('/a')}`, { metadata: { labels: { a: 'b' } } })
  assert.equal(labelled.body.metadata.generation, 2)
  const wrong = await send(`PATCH ${widgets('/a/status')}`, { status: { phase: 1 } })
  assert.equal(
    wrong.body.message,
    'Widget.stable.example.com "a" is invalid: status.phase: Invalid value: "integer": phase in body must be of type string: "integer"',
  )
  const entries = labelled.body.metadata.managedFields.map((m: any) => [m.manager, m.subresource, Object.keys(m.fieldsV1)])
  assert.deepEqual(entries, [
    ['test', undefined, ['f:metadata', 'f:spec']],
    ['test', 'status', ['f:status']],
  ])
})

test('without such a path the status is a field like others', async t => {
  const { send, define } = await openCustomBench(t)
  await define(widgetDefinition())
  const created = await send(`POST ${widgets()}`, { ...widget('a'), status: { phase: 'New' } })
  assert.deepEqual(created.body.status, { phase: 'New' })
  assert.equal((await send(`PATCH ${widgets('/a')}`, { status: { phase: 'Old' } })).body.metadata.generation, 2)
  assert.equal((await send(`GET ${widgets('/a/status')}`)).code, 404)
})

test('a replace names the version it replaces', async t => {
  const { send, define } = await openCustomBench(t)
  await define(widgetDefinition())
  const { body } = await send(`POST ${widgets()}`, widget('a'))
  const blind = await send(`PUT ${widgets('/a')}`, widget('a', { color: 'red' }))
  assert.deepEqual(
    [blind.code, blind.body.message],
    [422, 'widgets.stable.example.com "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update'],
  )
  assert.equal((await send(`PUT ${widgets('/a')}`, { ...body, spec: { color: 'red' } })).code, 200)
  assert.equal((await send(`PUT ${widgets('/a')}`, { ...body, spec: { color: 'blue' } })).code, 409)
})

test('sizes are read and written through the scale', async t => {
  const { send, define } = await openCustomBench(t)
  await define(widgetDefinition([SCALED]))
  await send(`POST ${widgets()}`, widget('a', { replicas: 3 }))
  await send(`POST ${widgets()}`, widget('unsized'))
  const scale = await send(`GET ${widgets('/a/scale')}`)
  assert.deepEqual([scale.body.kind, scale.body.spec], ['Scale', { replicas: 3 }])
  assert.equal((await send(`PUT ${widgets('/a/scale')}`, { ...scale.body, spec: { replicas: 5 } })).body.spec.replicas, 5)
  const { body } = await send(`GET ${widgets('/a')}`)
  assert.deepEqual([body.spec.replicas, body.metadata.generation], [5, 2])
  const missing = await send(`GET ${widgets('/unsized/scale')}`)
  assert.deepEqual(
    [missing.code, missing.body.message],
    [500, 'Internal error occurred: the spec replicas field ".spec.replicas" does not exist'],
  )
  assert.equal(
    (await send(`PATCH ${widgets('/unsized/scale')}`, { metadata: {} })).body.message,
    'the spec replicas field ".spec.replicas" cannot be empty',
  )
  assert.equal((await send(`PATCH ${widgets('/unsized/scale')}`, { spec: { replicas: 2 } })).body.spec.replicas, 2)
})

test('patches are those that need no strategy', async t => {
  const { send, define } = await openCustomBench(t)
  await define(widgetDefinition())
  await send(`POST ${widgets()}`, widget('a'))
  const strategic = await send(`PATCH ${widgets('/a')}`, { spec: {} }, { type: 'application/strategic-merge-patch+json' })
  assert.deepEqual(
    [strategic.code, strategic.body.message],
    [
      415,
      'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
    ],
  )
  const operations = [{ op: 'add', path: '/spec/color', value: 'red' }]
  assert.equal((await send(`PATCH ${widgets('/a')}`, operations, { type: 'application/json-patch+json' })).body.spec.color, 'red')
})

test('apply merges lists by their keys, reports conflicts and takes over when forced', async t => {
  const { send, define } = await openCustomBench(t)
  const ports = {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['port'],
    items: { type: 'object', required: ['port'], properties: { port: { type: 'integer' }, name: { type: 'string' } } },
  }
  await define(widgetDefinition([{ spec: { ports, color: { type: 'string' } } }]))
  const apply = (manager: string, spec: object, more = '') =>
    send(`PATCH ${widgets(`/a?fieldManager=${manager}${more}`)}`, widget('a', spec), { type: 'application/apply-patch+yaml' })
  assert.equal((await apply('one', { color: 'red', ports: [{ port: 80, name: 'web' }] })).code, 201)
  assert.deepEqual((await apply('two', { ports: [{ port: 443 }] })).body.spec.ports, [{ port: 80, name: 'web' }, { port: 443 }])
  const conflict = await apply('two', { color: 'blue', ports: [{ port: 443 }] })
  assert.deepEqual([conflict.code, conflict.body.message], [409, 'Apply failed with 1 conflict: conflict with "one": .spec.color'])
  assert.equal((await apply('two', { color: 'blue' }, '&force=true')).body.spec.color, 'blue')
  const left = await apply('one', {})
  assert.deepEqual(left.body.spec, { color: 'blue' })
})

test('fields can be selected by where the definition says so', async t => {
  const { send, define } = await openCustomBench(t)
  await define(widgetDefinition([{ selectableFields: [{ jsonPath: '.spec.color' }] }]))
  for (const [name, color] of [
    ['a', 'red'],
    ['b', 'blue'],
    ['c', 'red'],
  ] as const)
    await send(`POST ${widgets()}`, widget(name, { color }))
  const names = ({ body }: any) => body.items.map((item: any) => item.metadata.name)
  assert.deepEqual(names(await send(`GET ${widgets('?fieldSelector=spec.color%3Dred')}`)), ['a', 'c'])
  assert.deepEqual(names(await send(`GET ${widgets('?fieldSelector=spec.color!%3Dred')}`)), ['b'])
  assert.equal((await send(`GET ${widgets('?fieldSelector=spec.size%3D1')}`)).code, 400)
})

test('a kind without selectable fields is selected by name and namespace alone, and refuses the rest as custom kinds do', async t => {
  const { send, define } = await openCustomBench(t)
  await define(widgetDefinition())
  await define(widgetDefinition([{}], { scope: 'Cluster', names: { plural: 'planets', kind: 'Planet' } }))
  const ask = (plural: string, selector: string) =>
    send(`GET /apis/stable.example.com/v1/${plural}?fieldSelector=${encodeURIComponent(selector)}`)
  assert.equal((await ask('widgets', 'metadata.namespace=default,metadata.name=a')).code, 200)
  assert.equal((await ask('widgets', 'spec.color=red')).body.message, 'field label not supported: spec.color')
  assert.equal((await ask('planets', 'metadata.namespace=default')).body.message, 'field label not supported: metadata.namespace')
})

test('a finalizer without a domain is warned of', async t => {
  const { send, define } = await openCustomBench(t)
  await define(widgetDefinition())
  const { warnings } = await send(
    `POST ${widgets()}`,
    widget('a', {}, { metadata: { finalizers: ['mine', 'example.com/mine', 'orphan'] } }),
  )
  assert.deepEqual(warnings, [
    'metadata.finalizers: "mine": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers',
  ])
})

test('names of prototypes are names like others, in schemas and in objects', async t => {
  const { send, define } = await openCustomBench(t)
  const definition = JSON.parse(
    JSON.stringify(
      widgetDefinition([
        { spec: { constructor: { type: 'string' }, toString: { type: 'string', default: 'x' }, proto: { type: 'string' } } },
      ]),
    ).replaceAll('"proto"', '"__proto__"'),
  )
  await define(definition)
  const sent =
    '{"apiVersion":"stable.example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"__proto__":"p","constructor":"c","valueOf":"v"}}'
  const { code, body, warnings } = await send(`POST ${widgets()}`, sent)
  assert.equal(code, 201, body.message)
  assert.deepEqual(Object.entries(body.spec).sort(), [
    ['__proto__', 'p'],
    ['constructor', 'c'],
    ['toString', 'x'],
  ])
  assert.deepEqual(warnings, ['unknown field "spec.valueOf"'])
  assert.equal(Object.hasOwn((await send(`GET ${widgets('/a')}`)).body.spec, '__proto__'), true)
})

test('deleting a collection deletes custom objects', async t => {
  const { send, define } = await openCustomBench(t)
  await define(widgetDefinition())
  for (const name of ['a', 'b', 'c'])
    await send(`POST ${widgets()}`, widget(name, {}, { metadata: { labels: { keep: String(name === 'b') } } }))
  await send(`DELETE ${widgets('?labelSelector=keep%3Dfalse')}`)
  assert.deepEqual(
    (await send(`GET ${widgets()}`)).body.items.map((item: any) => item.metadata.name),
    ['b'],
  )
})

test('kinds of a cluster have no namespace', async t => {
  const { send, define } = await openCustomBench(t)
  await define(widgetDefinition([{}], { scope: 'Cluster' }))
  assert.equal((await send('POST /apis/stable.example.com/v1/widgets', widget('a'))).body.metadata.namespace, undefined)
  assert.equal((await send(`GET ${widgets('/a')}`)).code, 404)
  assert.equal((await send(`GET ${definitions()}`)).body.items.length, 1)
})

test('an object does not grow without end, however it is changed', async t => {
  const { send, define } = await openCustomBench(t)
  await define(widgetDefinition([{ spec: { notes: { type: 'object', additionalProperties: { type: 'string' } } } }]))
  await send(`POST ${widgets()}`, widget('a'))
  const codes: number[] = []
  for (let i = 0; i < 4; i++)
    codes.push((await send(`PATCH ${widgets('/a')}`, { spec: { notes: { [`n${i}`]: 'x'.repeat(2_500_000) } } })).code)
  assert.deepEqual(codes, [200, 200, 200, 413])
  assert.equal((await send(`PATCH ${widgets('/a')}`, { spec: { notes: null } })).code, 200)
})

test('where the schema says integer, a whole number is one however it is written', async t => {
  const { send, define } = await openCustomBench(t)
  await define(widgetDefinition([{ spec: { size: { type: 'integer' }, share: { type: 'number' } } }]))
  const body = (name: string, spec: string) =>
    `{"apiVersion":"stable.example.com/v1","kind":"Widget","metadata":{"name":"${name}"},"spec":${spec}}`
  const made = await send(`POST ${widgets()}`, body('a', '{"size":1.0,"share":-0}'))
  assert.deepEqual(made.body.spec, { size: 1, share: 0 })
  const patch = (text: string, type: string) => send(`PATCH ${widgets('/a')}`, text, { type })
  assert.equal((await patch('{"spec":{"size":2e3}}', 'application/merge-patch+json')).body.spec.size, 2000)
  const replace = '[{"op":"replace","path":"/spec/size","value":3.0}]'
  assert.equal((await patch(replace, 'application/json-patch+json')).body.spec.size, 3)
  const notWhole =
    'Widget.stable.example.com "b" is invalid: [spec.size: Invalid value: "number": spec.size in body must be of type integer: "number", <nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.size]'
  const answers = []
  for (const spec of ['{"size":1.5}', '{"size":9223372036854775808}', '{"size":1e400}'])
    answers.push(await send(`POST ${widgets()}`, body('b', spec)))
  assert.deepEqual(
    answers.map(({ code, body: { message } }) => [code, message]),
    [
      [422, notWhole],
      [422, notWhole],
      [400, 'Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal number 1e400 into Go value of type float64'],
    ],
  )
  const huge = await send(`POST ${widgets()}`, body('c', '{"share":9223372036854775808}'))
  assert.equal(huge.body.spec.share, 9223372036854776000)
})
