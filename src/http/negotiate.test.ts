import assert from 'node:assert/strict'
import { test } from 'node:test'
import { find, testCatalog, testRequest } from '../../test/kits/http/test-server.ts'
import type { Call } from '../registry/api.ts'
import { ObjectMeta } from '../schema/object-meta.ts'
import { StatusError } from '../schema/status-error.ts'
import { message, raw, string } from '../schema/types.ts'
import { parseAccept } from './accept.ts'
import { acceptsGzip, bodyType, negotiate, negotiateError, servedMedia } from './negotiate.ts'

const media = (groupDomain = 'k8s.io', ...gates: string[]) => servedMedia({ groupDomain, gate: name => gates.includes(name) })
const secrets = find(testCatalog(), 'secrets')
const callOf = (verb: Call['verb'], query = ''): Call => ({
  verb,
  resource: secrets,
  namespace: 'default',
  name: '',
  subresource: '',
  query: new URLSearchParams(query),
})
const formatOf = (accept: string | undefined, verb: Call['verb'] = 'get', query = '') =>
  negotiate(testRequest('/', { headers: accept === undefined ? {} : { accept } }), callOf(verb, query), media())
const refusal = (run: () => unknown): StatusError => {
  try {
    run()
  } catch (error) {
    if (error instanceof StatusError) return error
    throw error
  }
  throw new assert.AssertionError({ message: 'nothing was refused' })
}

test('without an Accept header the answer is JSON', () => {
  for (const accept of [undefined, '', '*/*', '*', 'application/json'])
    assert.deepEqual(formatOf(accept), { mediaType: 'application/json', pretty: false, representation: undefined }, accept)
})

test('of ranges, built-in kinds know only that of everything', () => {
  assert.equal(refusal(() => formatOf('application/*')).code, 406)
  assert.equal(formatOf('application/*, */*;q=0.1').mediaType, 'application/json')
})

test('quality decides, then order', () => {
  assert.equal(formatOf('application/json;q=0.5,application/yaml').mediaType, 'application/yaml')
  assert.equal(formatOf('application/yaml;q=0.5, application/json;q=0.9').mediaType, 'application/json')
  assert.equal(formatOf('text/html,application/yaml;q=0.9,*/*;q=0.8').mediaType, 'application/yaml')
  assert.deepEqual(
    parseAccept('*/*, a/*, a/b').map(c => `${c.type}/${c.subtype}`),
    ['a/b', 'a/*', '*/*'],
  )
})

test('protobuf is served to clients that prefer it, but not tables', () => {
  const protobuf = 'application/vnd.kubernetes.protobuf'
  assert.equal(formatOf(`${protobuf},application/json`).mediaType, protobuf)
  assert.equal(formatOf(`application/json,${protobuf}`).mediaType, 'application/json')
  assert.equal(formatOf(`${protobuf};stream=watch`, 'watch').mediaType, protobuf)
  assert.equal(formatOf(`${protobuf};as=PartialObjectMetadata;v=v1;g=meta.k8s.io`).mediaType, protobuf)
  assert.equal(formatOf(`${protobuf};as=Table;v=v1;g=meta.k8s.io,application/json`).mediaType, 'application/json')
  const error = refusal(() => formatOf(`${protobuf};as=Table;v=v1;g=meta.k8s.io`))
  assert.equal(error.code, 406)
  assert.equal(
    error.message,
    'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf',
  )
})

test('a kind without wire numbers has no protobuf form but its metadata', () => {
  const type = message('Widget', { kind: [0, string], apiVersion: [0, string], metadata: [1, ObjectMeta], spec: [0, raw] })
  const call = { ...callOf('get'), resource: { ...secrets, type } }
  const protobuf = 'application/vnd.kubernetes.protobuf'
  const of = (accept: string) => negotiate(testRequest('/', { headers: { accept } }), call, media()).mediaType
  assert.equal(of(`${protobuf},application/json`), 'application/json')
  assert.equal(of(`${protobuf};as=PartialObjectMetadata;v=v1;g=meta.k8s.io`), protobuf)
  const body = testRequest('/', { headers: { 'content-type': protobuf } })
  assert.match(refusal(() => bodyType(body, { ...call, verb: 'create' }, media())).message, /: application\/json, application\/yaml$/)
  assert.equal(bodyType(body, { ...call, verb: 'delete' }, media()), protobuf)
})

test('nothing in common is refused with what there is', () => {
  const error = refusal(() => formatOf('text/html'))
  assert.equal(error.code, 406)
  assert.deepEqual(error.details, {})
  assert.equal(
    error.message,
    '406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf',
  )
  assert.match(refusal(() => formatOf('text/html', 'list')).message, /, application\/json;stream=watch, /)
})

test('tables and metadata are asked for by parameters, in a version that exists', () => {
  const table = 'application/json;as=Table;v=v1;g=meta.k8s.io'
  assert.deepEqual(formatOf(`${table},application/json`).representation, {
    as: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    includeObject: 'Metadata',
  })
  assert.equal(formatOf(table, 'list', 'includeObject=Object').representation?.includeObject, 'Object')
  assert.equal(
    formatOf('application/json;as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io').representation?.apiVersion,
    'meta.k8s.io/v1beta1',
  )
  assert.equal(formatOf('application/json;as=Table;v=v9;g=meta.k8s.io, application/json').representation, undefined)
  assert.equal(refusal(() => formatOf('application/json;as=Nope;v=v1;g=meta.k8s.io')).code, 406)
  assert.match(
    refusal(() => formatOf(table, 'list', 'includeObject=All')).message,
    /^Unable to convert to Table as requested: includeObject: Invalid/,
  )
})

test('a watch streams JSON or protobuf, but not YAML', () => {
  assert.equal(formatOf('application/json;stream=watch', 'watch').mediaType, 'application/json')
  assert.equal(
    refusal(() => formatOf('application/yaml', 'watch')).message,
    'only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch',
  )
})

test('pretty is asked for, or given to tools that people read', () => {
  const pretty = (target: string, headers = {}) => negotiate(testRequest('/', { headers }), callOf('get', target), media()).pretty
  assert.equal(pretty('pretty=true'), true)
  assert.equal(pretty('pretty=0', { 'user-agent': 'curl/8' }), false)
  assert.equal(pretty('', { 'user-agent': 'curl/8' }), true)
  assert.equal(pretty('', { 'user-agent': 'kubectl/1.37' }), false)
})

test('errors take the plain form a client accepts, else JSON', () => {
  const of = (accept: string) => negotiateError(testRequest('/', { headers: { accept } })).mediaType
  assert.equal(of('application/yaml'), 'application/yaml')
  assert.equal(of('application/vnd.kubernetes.protobuf;stream=watch,application/json'), 'application/vnd.kubernetes.protobuf')
  assert.equal(of('text/html'), 'application/json')
  assert.equal(of('application/yaml;as=Table;v=v1;g=meta.k8s.io'), 'application/json')
})

test('bodies are JSON, YAML or protobuf, patches one of four', () => {
  const of = (type: string | undefined, verb: Call['verb'] = 'create', more = {}) =>
    bodyType(testRequest('/', { headers: { ...(type === undefined ? {} : { 'content-type': type }), ...more } }), callOf(verb), media())
  assert.equal(of(undefined), 'application/json')
  assert.equal(of('Application/JSON; charset=utf-8'), 'application/json')
  assert.equal(of('application/yaml'), 'application/yaml')
  assert.equal(of('application/vnd.kubernetes.protobuf'), 'application/vnd.kubernetes.protobuf')
  assert.equal(of('application/merge-patch+json; x=y', 'patch'), 'application/merge-patch+json')
  assert.match(
    refusal(() => of('text/plain')).message,
    /^the body of the request was in an unknown format - accepted media types include: /,
  )
  assert.equal(refusal(() => of('text/plain', 'patch')).message, '415: Unsupported Media Type')
  assert.equal(refusal(() => of(undefined, 'patch')).code, 415)
  assert.equal(refusal(() => of('application/json', 'create', { 'content-encoding': 'gzip' })).code, 415)
})

test('gzip is used where it is accepted', () => {
  const of = (value: string) => acceptsGzip(testRequest('/', { headers: { 'accept-encoding': value } }))
  assert.equal(of('deflate, gzip'), true)
  assert.equal(of('gzip;q=0.5'), true)
  assert.equal(of('gzip;q=0'), false)
  assert.equal(of('br'), false)
})

test('representations are asked for in the group of the domain or in that of Kubernetes, and answered as asked', () => {
  const representation = (group: string) => {
    const accept = `application/json;as=Table;v=v1;g=${group},application/json`
    return negotiate(testRequest('/', { headers: { accept } }), callOf('get', ''), media('example.org')).representation?.apiVersion
  }
  assert.equal(representation('meta.example.org'), 'meta.example.org/v1')
  assert.equal(representation('meta.k8s.io'), 'meta.k8s.io/v1')
  assert.equal(representation('meta.other.org'), undefined)
})
