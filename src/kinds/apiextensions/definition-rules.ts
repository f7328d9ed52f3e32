/** The rules of CustomResourceDefinition. */

import { isPrintable } from '../../lib/go-text.ts'
import { isDNS1035Label, isDNS1123Subdomain } from '../../lib/names.ts'
import type { Budget } from '../../schema/budget.ts'
import type { KObject } from '../../schema/kind.ts'
import {
  duplicate,
  type FieldError,
  type FieldErrors,
  invalid,
  type Ref,
  refTo,
  required,
  tooMany,
  unsupported,
  withValue,
} from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import { fieldAt } from '../../structural/field-path.ts'
import { isProtectedGroup, validateApproval } from './approval-rules.ts'
import { compileExpressions } from './compile-expressions.ts'
import { validateConversion } from './conversion-rules.ts'
import type { ColumnDefinition, DefinitionNames, DefinitionSubresources, DefinitionVersion, Spec, Status } from './definition-shapes.ts'
import { internalVersion } from './internal-type.ts'
import type { Schema } from './json-schema.ts'
import { anyHasStatus, hasStatus, type Layout, layoutOf, type Parts } from './layout.ts'
import { MAX_SELECTABLE, strictnessFor } from './ratcheting.ts'
import { validateRootSchema } from './schema-rules.ts'
import { anySchema } from './schema-walk.ts'
import { STRICT, type Strictness } from './strictness.ts'
import { structuralFault } from './structural-rules.ts'

type Definition = KObject<Spec, Status>
type Context = RequestContext & { readonly old?: Definition }

/** All rules for a definition and, on updates, for its change. */
export function* validateDefinition(o: Definition, at: Ref<Definition>, { old, groupDomain, budget }: Context): FieldErrors {
  const { spec, status } = o
  yield* compileExpressions(spec, old?.spec, budget)
  if (!old) yield* validateName(o, at)
  const strict = old ? strictnessFor(spec, old) : STRICT
  yield* validateSpec(spec, at.spec, { strict, budget })
  if (old) yield* validateKept(spec, old.spec, { at: at.spec, strict })
  yield* validateNames(status.acceptedNames, at.status.acceptedNames)
  yield* validateStoredVersions(status.storedVersions ?? [], spec, at.status)
  if (isProtectedGroup(spec.group, groupDomain)) yield* validateApproval(o.metadata, at.metadata, old?.metadata)
  if (spec.preserveUnknownFields && !old?.spec.preserveUnknownFields) yield invalid(at.spec.preserveUnknownFields, NOT_PRESERVED)
}

const NOT_PRESERVED = 'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead'

function* validateName({ metadata: { name, generateName }, spec }: Definition, { metadata: at }: Ref<Definition>): Iterable<FieldError> {
  const wanted = `${spec.names.plural}.${spec.group}`
  const detail = 'must be spec.names.plural+"."+spec.group'
  if (generateName && generateName !== wanted) yield invalid(at.generateName, detail)
  if (name && name !== wanted) yield invalid(at.name, detail)
}

const SCOPES = ['Cluster', 'Namespaced']

/** The strictness of the rules, and the work budget for them. */
type Checks = { readonly strict: Strictness; readonly budget: Budget }

function* validateSpec(spec: Spec, at: Ref<Spec>, { strict: given, budget }: Checks): Iterable<FieldError> {
  const { group, scope, names } = spec
  const layout = layoutOf(spec)
  const faults = group === '' ? [] : isDNS1123Subdomain(group)
  if (group === '') yield required(at.group)
  else if (faults.length > 0) yield invalid(at.group, faults.join(','))
  else if (!group.includes('.')) yield invalid(at.group, 'should be a domain with at least one dot')
  if (scope === '') yield required(at.scope)
  else if (!SCOPES.includes(scope)) yield unsupported(at.scope, ...SCOPES)
  yield* validatePresence(spec, at, { layout, strict: given })
  const hasDefaults = anySchema(spec, schema => schema.default !== undefined)
  if (hasDefaults && spec.preserveUnknownFields)
    yield invalid(at.preserveUnknownFields, 'must be false in order to use defaults in the schema')
  const structural = given.structural || !spec.preserveUnknownFields || hasDefaults || anySchema(spec, hasExtensions)
  const strict = { ...given, structural }
  yield* validateVersions(layout, at, { strict, budget })
  for (const name of ['plural', 'singular', 'kind', 'listKind'] as const) if (!names[name]) yield required(at.names[name])
  yield* validateNames(names, at.names)
  yield* validateShared(layout, { strict, budget })
  yield* validateConversion(spec, at, strict)
}

/** Extensions that are only meaningful in a structural schema. */
const hasExtensions = (schema: Schema) =>
  schema['x-kubernetes-embedded-resource'] === true ||
  schema['x-kubernetes-preserve-unknown-fields'] !== undefined ||
  schema['x-kubernetes-int-or-string'] === true ||
  schema['x-kubernetes-list-map-keys'] !== undefined ||
  schema['x-kubernetes-list-type'] !== undefined ||
  schema['x-kubernetes-validations'] !== undefined

/** Every version has a schema; for definitions that were stored without, only served versions need one. */
function* validatePresence(
  { preserveUnknownFields }: Spec,
  at: Ref<Spec>,
  { layout: { shared, versions }, strict }: { layout: Layout; strict: Strictness },
): Iterable<FieldError> {
  if (shared.schema?.openAPIV3Schema || (!strict.schemas && preserveUnknownFields)) return
  for (const [i, { served, schema }] of versions.entries()) {
    if (schema?.openAPIV3Schema) continue
    const there = at.versions[i]!.schema.openAPIV3Schema
    if (strict.schemas) yield required(there)
    else if (served) yield required(there, 'because otherwise all fields are pruned')
  }
}

function* validateVersions(layout: Layout, at: Ref<Spec>, checks: Checks): Iterable<FieldError> {
  const { versions } = layout
  for (const [i, version] of versions.entries()) {
    const there = at.versions[i]!
    const faults = isDNS1035Label(version.name)
    if (faults.length > 0) yield invalid(there.name, faults.join(','))
    yield* validateDeprecation(version, there)
    yield* validateParts(version, partsAt(version, `spec.versions[${i}]`, 'schema'), {
      ...checks,
      hasStatus: hasStatus(layout, version),
      name: version.name,
    })
  }
  const shown = () => withValue(at.versions, versions.length === 0 ? null : versions.map(internalVersion))
  if (new Set(versions.map(({ name }) => name)).size < versions.length) yield invalid(shown(), 'must contain unique version names')
  if (versions.filter(({ storage }) => storage).length !== 1)
    yield invalid(shown(), 'must have exactly one version marked as storage version')
  // The first version used to have a separate field.
  const [first] = versions
  const faults = first && first.name !== '' ? isDNS1035Label(first.name) : []
  if (faults.length > 0) yield invalid(refTo(first!.name, 'spec.version'), faults.join(','))
}

/** Rules for the parts that all versions share. */
function validateShared(layout: Layout, checks: Checks): Iterable<FieldError> {
  const { shared, versions } = layout
  const first = versions[0]?.name ?? ''
  const at = partsAt(shared, 'spec', 'validation')
  return validateParts(shared, at, { ...checks, hasStatus: anyHasStatus(layout), name: first, isShared: true })
}

type PartsAt = { readonly [P in keyof Parts]-?: Ref<NonNullable<Parts[P]>> } & { readonly schemaFault: Ref<string> }

/** The paths of the parts in errors, which are not always those in the object. */
function partsAt(parts: Parts, path: string, schema: string): PartsAt {
  return {
    schema: refTo(parts.schema, `${path}.${schema}`) as PartsAt['schema'],
    schemaFault: refTo('', `${path}.schema.openAPIV3Schema`),
    subresources: refTo(parts.subresources, `${path}.subresources`) as PartsAt['subresources'],
    additionalPrinterColumns: refTo(
      parts.additionalPrinterColumns,
      `${path}.additionalPrinterColumns`,
    ) as PartsAt['additionalPrinterColumns'],
    selectableFields: refTo(parts.selectableFields, `${path}.selectableFields`) as PartsAt['selectableFields'],
  }
}

type PartsContext = Checks & { readonly hasStatus: boolean; readonly name: string; readonly isShared?: boolean }

function* validateParts(
  parts: Parts,
  at: PartsAt,
  { hasStatus, strict, budget, name, isShared = false }: PartsContext,
): Iterable<FieldError> {
  const { schema, subresources, additionalPrinterColumns = [], selectableFields = [] } = parts
  const root = schema?.openAPIV3Schema
  if (root)
    yield* validateRootSchema(root, at.schema.openAPIV3Schema, {
      hasStatus,
      strict: { ...strict, anyCost: strict.unchanged.has(name) },
      budget,
    })
  if (subresources) yield* validateSubresources(subresources, at.subresources)
  yield* validateColumns(additionalPrinterColumns, at.additionalPrinterColumns)
  if (selectableFields.length === 0) return
  if (!root) return yield invalid(withValue(at.selectableFields, ''), isShared ? WITHOUT_VALIDATION : WITHOUT_SCHEMA)
  const fault = structuralFault(root)
  if (fault !== undefined) return yield invalid(at.schemaFault, fault)
  const keepsMany = strict.manySelectable.has(isShared ? '' : name)
  yield* validateSelectableFields(selectableFields, at.selectableFields, { schema: root, keepsMany })
}

const WITHOUT_VALIDATION = 'may only be set when validations.schema is included'
const WITHOUT_SCHEMA = 'may only be set when `version.schema.openAPIV3Schema` is not included'

/** Rules for names, as far as they are set: those of the spec and the accepted ones. */
export function* validateNames(names: DefinitionNames, at: Ref<DefinitionNames>): Iterable<FieldError> {
  const { plural, singular = '', kind, listKind = '', shortNames = [], categories = [] } = names
  const faultsOf = (name: string) => (name === '' ? '' : isDNS1035Label(name).join(','))
  const mixed = 'may have mixed case, but should otherwise match: '
  if (faultsOf(plural)) yield invalid(at.plural, faultsOf(plural))
  if (faultsOf(singular)) yield invalid(at.singular, faultsOf(singular))
  if (faultsOf(kind.toLowerCase())) yield invalid(at.kind, mixed + faultsOf(kind.toLowerCase()))
  if (faultsOf(listKind.toLowerCase())) yield invalid(at.listKind, mixed + faultsOf(listKind.toLowerCase()))
  yield* validateLabels(shortNames, at.shortNames)
  if (kind !== '' && kind === listKind) yield invalid(at.listKind, 'kind and listKind may not be the same')
  yield* validateLabels(categories, at.categories)
}

function* validateLabels(labels: readonly string[], at: Ref<string[]>): Iterable<FieldError> {
  for (const [i, label] of labels.entries()) {
    const faults = isDNS1035Label(label)
    if (faults.length > 0) yield invalid(at[i]!, faults.join(','))
  }
}

/** Fields that determine the paths and storage of objects are immutable. */
function* validateKept(spec: Spec, old: Spec, { at, strict }: { at: Ref<Spec>; strict: Strictness }): Iterable<FieldError> {
  const detail = 'field is immutable'
  if (strict.names && spec.scope !== old.scope) yield invalid(at.scope, detail)
  if (strict.names && spec.names.kind !== old.names.kind) yield invalid(at.names.kind, detail)
  if (spec.group !== old.group) yield invalid(at.group, detail)
  if (spec.names.plural !== old.names.plural) yield invalid(at.names.plural, detail)
}

/** A version in which objects may be stored must stay, or they could not be read any more. */
function* validateStoredVersions(stored: readonly string[], { versions }: Spec, { storedVersions: at }: Ref<Status>): Iterable<FieldError> {
  if (stored.length === 0) return yield invalid(at, 'must have at least one stored version')
  const last = new Map(stored.map((name, i) => [name, i]))
  const isStorageMissing = ({ name, storage }: DefinitionVersion) => storage && !last.has(name)
  for (const version of (versions ?? []).filter(isStorageMissing)) yield invalid(at, `must have the storage version ${version.name}`)
  const known = new Set((versions ?? []).map(({ name }) => name))
  for (const [v, i] of last)
    if (!known.has(v))
      yield invalid(
        at[i]!,
        `missing from spec.versions; ${v} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${v} and removes ${v} from status.storedVersions`,
      )
}

/** Rules for the warning of a deprecated version. */
function* validateDeprecation({ deprecated, deprecationWarning }: DefinitionVersion, at: Ref<DefinitionVersion>): Iterable<FieldError> {
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

/** Rules for subresources. */
function* validateSubresources({ scale }: DefinitionSubresources, at: Ref<DefinitionSubresources>): Iterable<FieldError> {
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

/** Rules for table columns. Errors name the path as in the first version of this API. */
function* validateColumns(columns: readonly ColumnDefinition[], at: Ref<ColumnDefinition[]>): Iterable<FieldError> {
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

/** Rules for selectable fields: they are in the schema, scalar and few. */
function* validateSelectableFields(
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
