/** Rules on the parts of a version of a custom kind: subresources, columns, selectable fields, warnings. */
import { isPrintable } from '../../lib/go-text.ts'
import { duplicate, type FieldError, invalid, type Ref, required, tooMany, withValue } from '../../schema/refs.ts'
import { fieldAt } from '../../structural/field-path.ts'
import type { ColumnDefinition, DefinitionSubresources, DefinitionVersion } from './definition-shapes.ts'
import type { Schema } from './json-schema.ts'
import { MAX_SELECTABLE } from './strictness.ts'

/** Rules on what users of a deprecated version are told. */
export function* validateDeprecation(
  { deprecated, deprecationWarning }: DefinitionVersion,
  at: Ref<DefinitionVersion>,
): Iterable<FieldError> {
  if (deprecationWarning === undefined) return
  if (!deprecated) return yield invalid(at.deprecationWarning, 'can only be set for deprecated versions')
  if (Buffer.byteLength(deprecationWarning) > 256) yield invalid(at.deprecationWarning, 'must be <= 256 characters long')
  if (deprecationWarning === '') yield invalid(at.deprecationWarning, 'must not be an empty string')
  const found = [...deprecationWarning].find(char => !isPrintable(char))
  if (found !== undefined) {
    const index = Buffer.byteLength(deprecationWarning.slice(0, deprecationWarning.indexOf(found)))
    const detail = `must only contain printable UTF-8 characters; non-printable character found at index ${index}`
    yield invalid(at.deprecationWarning, detail)
  }
}

/** Rules on parts of objects that have a path of their own. */
export function* validateSubresources({ scale }: DefinitionSubresources, at: Ref<DefinitionSubresources>): Iterable<FieldError> {
  if (!scale) return
  const { specReplicasPath, statusReplicasPath, labelSelectorPath = '' } = scale
  yield* validateScalePath(specReplicasPath, at.scale.specReplicasPath, { under: ['.spec.'], detail: 'should be a json path under .spec' })
  const status = { under: ['.status.'], detail: 'should be a json path under .status' }
  yield* validateScalePath(statusReplicasPath, at.scale.statusReplicasPath, status)
  const either = { under: ['.spec.', '.status.'], detail: 'should be a json path under either .spec or .status' }
  if (labelSelectorPath !== '') yield* validateScalePath(labelSelectorPath, at.scale.labelSelectorPath, either)
}

function* validateScalePath(
  path: string,
  at: Ref<string>,
  { under, detail }: { under: readonly string[]; detail: string },
): Iterable<FieldError> {
  if (path === '') yield required(at)
  else if (!path.startsWith('.')) yield invalid(at, NOT_SIMPLE)
  else if (!under.some(prefix => path.startsWith(prefix))) yield invalid(at, detail)
}

const NOT_SIMPLE = 'must be a simple json path starting with .'
const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string']
const COLUMN_FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password']

/** Rules on the columns of tables. Errors name the path as it was called in the first version of this API. */
export function* validateColumns(columns: readonly ColumnDefinition[], at: Ref<ColumnDefinition[]>): Iterable<FieldError> {
  for (const [i, { name, type, format = '', jsonPath }] of columns.entries()) {
    const there = at[i]! as Ref<ColumnDefinition> & { readonly JSONPath: Ref<string> }
    if (name === '') yield required(there.name)
    const types = `must be one of ${COLUMN_TYPES.join(',')}`
    if (type === '') yield required(there.type, types)
    else if (!COLUMN_TYPES.includes(type)) yield invalid(there.type, types)
    if (format !== '' && !COLUMN_FORMATS.includes(format)) yield invalid(there.format, `must be one of ${COLUMN_FORMATS.join(',')}`)
    if (jsonPath === '') yield required(there.JSONPath)
    else if (!jsonPath.startsWith('.')) yield invalid(withValue(there.JSONPath, jsonPath), NOT_SIMPLE)
  }
}

const SELECTABLE: ReadonlySet<string> = new Set(['string', 'boolean', 'integer'])

/** Rules on fields for field selectors: they are described, plain and few. */
export function* validateSelectableFields(
  fields: readonly { readonly jsonPath: string }[],
  at: Ref<{ jsonPath: string }[]>,
  { schema, keepsMany }: { schema: Schema; keepsMany: boolean },
): Iterable<FieldError> {
  const seen = new Set<string>()
  for (const [i, { jsonPath }] of fields.entries()) {
    const there = at[i]!.jsonPath
    const found = jsonPath === '' ? undefined : fieldAt(jsonPath, schema, { brackets: false })
    if (!found) yield required(there)
    else if ('fault' in found) yield invalid(there, `is an invalid path: ${found.fault}`)
    else {
      if (found.names[0] === 'metadata') yield invalid(there, 'must not point to fields in metadata')
      if (!SELECTABLE.has(found.schema?.type ?? '')) yield invalid(there, NOT_SELECTABLE)
      if (seen.has(found.path)) yield duplicate(there)
      seen.add(found.path)
    }
  }
  if (seen.size > MAX_SELECTABLE && !keepsMany) yield tooMany(at, seen.size, MAX_SELECTABLE)
}

const NOT_SELECTABLE = 'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.'
