import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { randomFrom, sample } from '../../test/kits/random-objects.ts'
import { builtinKinds } from '../kinds/all.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { conform } from '../schema/conform.ts'
import { fillDefaults } from '../schema/defaults.ts'
import { resourceOf } from '../schema/resource.ts'
import * as t from '../schema/types.ts'
import { stringifyJson } from './json.ts'
import { fromProtobuf } from './protobuf-decode.ts'
import { toCompleteProtobuf, toProtobuf } from './protobuf-encode.ts'
import { hasProtobuf, type WireField, wireFieldsOf } from './protobuf-fields.ts'
import { ProtobufError } from './protobuf-reader.ts'

const types = builtinKinds
  .map(kind => resourceOf(kind, 'k8s.io'))
  .map(({ kind, apiVersion, type }) => ({ name: `${apiVersion} ${kind}`, type }))

/** All messages that the kinds are made of, each once. */
function messages(): Map<string, WireField[]> {
  const found = new Map<string, WireField[]>()
  const seen = new Set<object>()
  const visit = ({ shape }: t.AnyType): void => {
    if (shape.kind === 'list') visit(shape.item)
    else if (shape.kind === 'map') visit(shape.value)
    else if (shape.kind === 'message' && !seen.has(shape)) {
      seen.add(shape)
      found.set(`${shape.name} ${seen.size}`, wireFieldsOf(shape))
      for (const [, type] of Object.values(shape.fields)) visit(type)
    }
  }
  for (const { type } of types) visit(type)
  return found
}

test('every field of every kind has a wire number of its own', () => {
  const check = (name: string, fields: readonly WireField[]) => {
    const numbers = fields.map(field => field.number)
    assert.equal(new Set(numbers).size, numbers.length, `${name}: ${numbers.join()}`)
    for (const field of fields) {
      assert.ok(Number.isInteger(field.number) && field.number > 0 && field.number < 2 ** 29, `${name} ${field.number}`)
      if ('embedded' in field) check(`${name}.${field.number}`, field.embedded)
    }
  }
  const all = messages()
  assert.ok(all.size > 50)
  for (const [name, fields] of all) check(name, fields)
  for (const { name, type } of types) assert.ok(hasProtobuf(type), name)
})

test('wire numbers are those of Kubernetes', () => {
  const expected: Record<string, Record<string, number | Record<string, number>>> = {
    ObjectMeta: { name: 1, generateName: 2, namespace: 3, selfLink: 4, uid: 5, resourceVersion: 6, generation: 7, creationTimestamp: 8 },
    OwnerReference: { kind: 1, name: 3, uid: 4, apiVersion: 5, controller: 6, blockOwnerDeletion: 7 },
    ManagedFieldsEntry: { manager: 1, operation: 2, apiVersion: 3, time: 4, fieldsType: 6, fieldsV1: 7, subresource: 8 },
    ConfigMap: { metadata: 1, data: 2, binaryData: 3, immutable: 4 },
    Secret: { metadata: 1, data: 2, type: 3, stringData: 4, immutable: 5 },
    LabelSelector: { matchLabels: 1, matchExpressions: 2 },
    Probe: { '1': { exec: 1, httpGet: 2, tcpSocket: 3, grpc: 4 }, initialDelaySeconds: 2, timeoutSeconds: 3 },
    Volume: { name: 1, '2': { hostPath: 1, emptyDir: 2, secret: 6, configMap: 19, projected: 26 } },
    DeploymentSpec: { replicas: 1, selector: 2, template: 3, strategy: 4, minReadySeconds: 5, paused: 7, progressDeadlineSeconds: 9 },
    LeaseSpec: { holderIdentity: 1, leaseDurationSeconds: 2, acquireTime: 3, renewTime: 4, leaseTransitions: 5, strategy: 6 },
  }
  const all = [...messages()]
  for (const [name, numbers] of Object.entries(expected)) {
    const found = all.filter(([key]) => key.startsWith(`${name} `))
    assert.notEqual(found.length, 0, name)
    for (const [, fields] of found) assertNumbers(name, fields, numbers)
  }
})

function assertNumbers(name: string, fields: readonly WireField[], numbers: Record<string, number | Record<string, number>>): void {
  for (const [field, number] of Object.entries(numbers)) {
    if (typeof number === 'number') {
      assert.equal(fields.find(f => 'name' in f && f.name === field)?.number, number, `${name}.${field}`)
    } else {
      const group = fields.find(f => f.number === Number(field))
      assert.ok(group && 'embedded' in group, `${name}.${field}`)
      assertNumbers(name, group.embedded, number)
    }
  }
}

for (const { name, type } of types) {
  test(`any ${name} comes back from protobuf as it was`, () => {
    fc.assert(
      fc.property(fc.nat(2 ** 31), seed => {
        const { value } = conform(type, sample(type, randomFrom(seed), []))
        const { kind: _, apiVersion: __, ...object } = value
        const back = fromProtobuf(type, toProtobuf(type, value))
        assert.deepEqual(back, object)
        assert.equal(stringifyJson(back), stringifyJson(object), 'fields are in the same order')
      }),
      { numRuns: 25 },
    )
  })

  test(`any ${name} is written the same again, with its defaults`, () => {
    fc.assert(
      fc.property(fc.nat(2 ** 31), seed => {
        const { value } = conform(type, sample(type, randomFrom(seed), []))
        fillDefaults(type, value)
        const bytes = toCompleteProtobuf(type, value)
        const back = fromProtobuf(type, bytes)
        // Kinds of templates inside are not on the wire; they are filled in again.
        fillDefaults(type, back)
        const { kind: _, apiVersion: __, ...object } = value
        assert.deepEqual(back, object)
        assert.deepEqual(toCompleteProtobuf(type, back), bytes)
      }),
      { numRuns: 5 },
    )
  })

  test(`any bytes read as ${name} are conformed, or refused`, () => {
    fc.assert(
      fc.property(fc.nat(2 ** 31), fc.array(fc.tuple(fc.nat(2 ** 16), fc.nat(255)), { maxLength: 4 }), (seed, changes) => {
        const bytes = Buffer.from(toCompleteProtobuf(type, conform(type, sample(type, randomFrom(seed), [])).value))
        for (const [at, byte] of changes) bytes[at % bytes.length] = byte
        let value: JsonObject
        try {
          value = fromProtobuf(type, bytes)
        } catch (error) {
          assert.ok(error instanceof ProtobufError, String(error))
          return
        }
        assert.deepEqual(conform(type, value).value, value)
      }),
      { numRuns: 25 },
    )
  })
}

test('the complete encoding has zeros for plain fields, nothing for what may be absent, and maps by their keys', () => {
  const inner = t.message('Inner', { a: [1, t.string], b: [2, t.string.optional()] })
  const type = t.message('Outer', {
    text: [1, t.string],
    flag: [2, t.bool],
    count: [3, t.int64.optional()],
    at: [4, t.time],
    until: [5, t.time.optional()],
    plain: [6, inner.orEmpty()],
    pointer: [7, inner],
    list: [8, t.atomic(t.string)],
    map: [9, t.mapOf(t.string)],
    bytes: [10, t.bytes],
    port: [11, t.intOrString],
    ...t.inlined(12, { inlined: [1, inner] }),
    amount: [13, t.quantity],
  })
  assert.equal(toCompleteProtobuf(type, {}).toString('hex'), '0a00 1000 2200 32020a00 5a06080010001a00 6200 6a030a0130'.replaceAll(' ', ''))
  assert.equal(
    toCompleteProtobuf(t.message('M', { map: [1, t.mapOf(t.string)] }), { map: { b: '', '\u{10000}': '', a: '', '\uffff': '' } }).toString(
      'hex',
    ),
    ['0a050a01611200', '0a050a01621200', '0a070a03efbfbf1200', '0a080a04f09080801200'].join(''),
  )
})
