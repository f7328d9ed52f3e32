/** ConfigMap holds configuration as keys and values. */
import { deepEqual } from '../../lib/json-value.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { forbidden, refTo, tooLong } from '../../schema/refs.ts'
import { bool, bytes, mapOf, string } from '../../schema/types.ts'
import { MAX_DATA_BYTES, SEALED, sizeOf, validateKeys } from '../rules/data.ts'

/** kube-apiserver's path of the object itself. */
const WHOLE_OBJECT = '[]'

export const ConfigMap = defineKind({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  scope: 'Namespaced',
  names: { plural: 'configmaps', short: ['cm'] },
  doc: 'Configuration for programs to read.',
  fields: {
    immutable: [4, bool.optional(), 'When true, only metadata can be changed from then on.'],
    data: [2, mapOf(string), 'Texts by key.'],
    binaryData: [3, mapOf(bytes), 'Bytes by key; no key may also be in data.'],
  },

  *validateUpdate(o, old, at) {
    if (!old.immutable) return
    if (!o.immutable) yield forbidden(at.immutable, SEALED)
    if (!deepEqual(o.data, old.data)) yield forbidden(at.data, SEALED)
    if (!deepEqual(o.binaryData, old.binaryData)) yield forbidden(at.binaryData, SEALED)
  },
  *validate({ data, binaryData }, at) {
    yield* validateKeys(data, at.data, { data: binaryData, name: 'binaryData' })
    yield* validateKeys(binaryData, at.binaryData)
    // The limit is on both maps together, so the error is about the whole object.
    if (sizeOf(data, 'utf8') + sizeOf(binaryData, 'base64') > MAX_DATA_BYTES) yield tooLong(refTo(data, WHOLE_OBJECT), MAX_DATA_BYTES)
  },

  columns: {
    Data: [
      'string',
      o => Object.keys(o.data ?? {}).length + Object.keys(o.binaryData ?? {}).length,
      "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not overlap with the keys in the BinaryData field, this is enforced during validation process.",
    ],
    Age: age,
  },
})

/** An object of the kind ConfigMap. */
export type ConfigMap = ObjectOf<typeof ConfigMap>
