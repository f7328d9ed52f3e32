/** From the bytes of a body to a typed object: parse, find the kind, conform, and report unknown and duplicate fields. */

import { CBOR, CborError, CborFormError, CborTypeError } from '../codec/cbor.ts'
import { cborTexts, cborTypeName, decodeCbor } from '../codec/cbor-decode.ts'
import { diagnoseCbor } from '../codec/cbor-diagnose.ts'
import { limitValues } from '../codec/decoded-size.ts'
import { JsonError, JsonRangeError, parseJson } from '../codec/json.ts'
import { fromProtobuf } from '../codec/protobuf-decode.ts'
import { type Enveloped, openEnvelope, PROTOBUF } from '../codec/protobuf-envelope.ts'
import { ProtobufError } from '../codec/protobuf-reader.ts'
import { goQuote } from '../lib/go-text.ts'
import { type Duplicate, isObject, type Json, type JsonObject, jsonTypeName } from '../lib/json-value.ts'
import type { Step } from '../lib/step.ts'
import { ConformError, type Conformed, cborTypeOf, conformCbor } from '../schema/conform.ts'
import { type Conforming, conformObject } from '../schema/custom-schema.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { invalid, refTo } from '../schema/refs.ts'
import { badRequest, invalidObject, type StatusError } from '../schema/status-error.ts'
import type { Body } from './api.ts'
import { type FindKind, mistakenKind, versionOf } from './claimed-kind.ts'
import type { FieldValidation } from './options.ts'
import { type Limited, valueLimitsOf } from './value-limits.ts'

/** The kind that a body is expected to be of. */
export type Expected = Conforming & {
  readonly kind: string
  readonly apiVersion: string
  /** Other versions that a body may say it is of; it is read as the expected one. */
  readonly alsoVersions?: readonly string[]
  /** The versions that are served of a kind. */
  readonly versions?: readonly { readonly apiVersion: string }[]
  /** Options that come as a body: errors do not name the kind. */
  readonly isOptions?: true
}
export type Decoded = { readonly object: AnyObject; readonly warnings: readonly string[] }

/** Reads a whole object sent as JSON, YAML, protobuf or CBOR. Kind and version may be left out; they are then those of the path. */
export function* decodeObject(expected: Expected, source: Body, validation: FieldValidation, findKind?: FindKind): Step<Decoded> {
  const { value, duplicates, strictError } = parseAs(expected, source, findKind)
  yield
  if (value !== null && !isObject(value)) throw noObject(expected, value, source)
  const claimed = expected.def?.custom
    ? recogniseCustom(expected, value ?? {}, { source, validation })
    : recognise(expected, value ?? {}, { source, findKind })
  try {
    const conformed =
      source.mediaType === CBOR
        ? conformAsCbor(expected, value ?? {})
        : conformObject(expected, value ?? {}, strictError === undefined ? duplicates : [])
    const { value: object } = conformed
    const problems = strictError === undefined ? conformed.problems : [strictError, ...conformed.problems]
    if (problems.length > 0 && validation === 'Strict') throw new ConformError(`strict decoding error: ${problems.join(', ')}`)
    object.kind = expected.kind
    object.apiVersion = expected.apiVersion
    return { object, warnings: validation === 'Warn' ? warningsOf(problems) : [] }
  } catch (error) {
    if (error instanceof ConformError) throw cannotBe(expected, claimed, error)
    throw error
  }
}

const STRICT_YAML = /^(error converting YAML to JSON: )?yaml: unmarshal errors:\n/

/** A warning for each problem. Duplicate fields of YAML are one problem, with a line for each. */
export const warningsOf = (problems: readonly string[]): string[] =>
  problems.flatMap(problem => {
    const withoutPrefix = problem.replace(STRICT_YAML, '')
    return withoutPrefix === problem ? [problem] : withoutPrefix.split('\n').map(line => line.trim())
  })

function parseAs(expected: Expected, source: Body, findKind: FindKind | undefined): ParsedBody {
  if (source.mediaType === PROTOBUF) return readProtobuf(expected, source, findKind)
  if (source.mediaType === CBOR) return { value: readCbor(expected, source.bytes), duplicates: [] }
  return parseBody(expected, source)
}

/** A parsed body. Duplicates in YAML are reported with their lines, in one error for all of them. */
type ParsedBody = { readonly value: Json; readonly duplicates: readonly Duplicate[]; readonly strictError?: string | undefined }

/** Reads any JSON or YAML document; errors are those of an object of the expected kind. */
function parseBody(expected: Expected, body: Body): ParsedBody {
  const { mediaType, bytes, object } = body
  if (object) return { value: object.take(), duplicates: [] }
  try {
    if (mediaType !== 'application/yaml') return parseJson(bytes, readingOf(expected))
    const { value, strictError } = transcodedOf(expected, body, message => unidentified(expected, message, bytes))
    return { value, duplicates: [], strictError }
  } catch (error) {
    if (error instanceof JsonRangeError) throw cannotBe(expected, { kind: expected.kind, version: versionOf(expected) }, error)
    if (error instanceof JsonError) throw unrecognised(expected, error.message, bytes)
    throw error
  }
}

/** The JSON value of a body that was sent as something else; `refuse` makes the error for one that cannot be read. */
export function transcodedOf(
  expected: Limited,
  { transcoded }: Body,
  refuse: (message: string) => StatusError,
): { value: Json; strictError: string | undefined } {
  if (!transcoded) throw new Error('the body has not been prepared')
  if (transcoded.outcome === 'malformed') throw refuse(transcoded.message)
  if (transcoded.outcome === 'parsed') return { value: transcoded.take(), strictError: undefined }
  const { value } = parseJson(transcoded.json, { trusted: true })
  // A mapping of many keys counts for more than workers count it.
  if (typeof value === 'object' && value !== null) limitValues(value, valueLimitsOf(expected).decoded)
  return { value, strictError: transcoded.strictError }
}

/** Types of fields decide how a number is read; a schema does so only after parsing. */
const readingOf = ({ def }: Expected) => ({ numbers: def?.custom ? 'values' : 'written', limit: valueLimitsOf({ def }).decoded }) as const

/** Reads a message and the kind in its envelope. Protobuf has no unknown or duplicate fields to report. */
function readProtobuf(expected: Expected, body: Body, findKind: FindKind | undefined): ParsedBody {
  const { kind, apiVersion, raw } = openBody(expected, body.bytes)
  const claimed = recognise(expected, { kind, apiVersion }, { source: body, findKind })
  try {
    const message = body.transcoded
      ? (transcodedOf(expected, body, problem => cannotBe(expected, claimed, new Error(problem))).value as JsonObject)
      : fromProtobuf(expected.type, raw, { values: valueLimitsOf(expected).decoded.values })
    return { value: { ...message, kind, apiVersion }, duplicates: [] }
  } catch (error) {
    if (error instanceof ProtobufError) throw cannotBe(expected, claimed, error)
    throw error
  }
}

/** Reads CBOR, in which a key that is there twice is an error, however strict the request is. */
function readCbor(expected: Expected, bytes: Uint8Array): Json {
  try {
    return decodeCbor(bytes, { ...readingOf(expected), type: expected.def?.custom ? undefined : expected.type })
  } catch (error) {
    if (error instanceof CborFormError) throw undetermined(expected, error.message, bytes)
    if (!(error instanceof CborError)) throw error
    const { kind = '', apiVersion = '' } = cborTexts(bytes, ['kind', 'apiVersion'])
    const claimed = { kind: kind || expected.kind, version: versionOf({ apiVersion: apiVersion || expected.apiVersion }) }
    const message = error instanceof CborTypeError && !expected.def?.custom ? error.in(goStructOf(expected)) : error.message
    throw cannotBe(expected, claimed, new Error(message))
  }
}

/** Conforms an object that was sent as CBOR. kube-apiserver drops unknown fields of custom objects without a word then. */
function conformAsCbor(expected: Expected, value: JsonObject): Conformed {
  if (expected.def?.custom) return { value: conformObject(expected, value).value, problems: [] }
  try {
    return conformCbor(expected.type, value)
  } catch (error) {
    if (error instanceof ConformError && error.mismatch) throw new ConformError(new CborTypeError(error.mismatch).in(goStructOf(expected)))
    throw error
  }
}

/** The name of the type in Go: `v1.ConfigMap`. */
const goStructOf = (expected: Expected): string => `${versionOf(expected)}.${expected.kind}`

function openBody(expected: Expected, bytes: Uint8Array): Enveloped {
  try {
    return openEnvelope(bytes)
  } catch (error) {
    if (error instanceof ProtobufError) throw unidentified(expected, error.message, bytes)
    throw error
  }
}

const cannotBe = (expected: Expected, { kind, version }: { kind: string; version: string }, { message }: Error) =>
  badRequest(expected.isOptions ? message : `${kind} in version ${goQuote(version)} cannot be handled as a ${expected.kind}: ${message}`)

/** The kind and version a body claims, completed by the expected ones. Throws when they are others. */
function recognise(
  expected: Expected,
  value: { readonly [key: string]: Json },
  { source, findKind }: { source: Body; findKind: FindKind | undefined },
): { kind: string; version: string } {
  const { bytes } = source
  const claimOf = (field: 'apiVersion' | 'kind'): string => {
    const text = value[field] ?? ''
    if (typeof text !== 'string') throw noText(expected, field, { value: text, source })
    return text === '' ? expected[field] : text
  }
  const apiVersion = claimOf('apiVersion')
  const kind = claimOf('kind')
  const claimed = { kind, version: versionOf({ apiVersion }) }
  if (kind === expected.kind && apiVersion !== expected.apiVersion && expected.versions?.some(each => each.apiVersion === apiVersion))
    throw otherVersion(expected, apiVersion)
  const mistake = expected.alsoVersions?.includes(apiVersion)
    ? mistakenKind({ ...expected, apiVersion }, { kind, apiVersion }, findKind)
    : mistakenKind(expected, { kind, apiVersion }, findKind)
  if (mistake?.startsWith('unexpected')) throw unidentified(expected, mistake, bytes)
  if (mistake !== undefined) throw cannotBe(expected, claimed, new Error(mistake))
  return claimed
}

/** Custom objects have to name their kind; an object of another kind is read, and refused as not valid. */
function recogniseCustom(
  expected: Expected,
  value: JsonObject,
  { source, validation }: { source: Body; validation: FieldValidation },
): { kind: string; version: string } {
  const { bytes } = source
  const isCbor = source.mediaType === CBOR
  const shown = () => (isCbor ? diagnoseCbor(bytes) : Buffer.from(bytes).toString())
  const claimed = { kind: expected.kind, version: versionOf(expected) }
  const { kind, apiVersion, metadata } = value
  if (typeof kind !== 'string' || kind === '') {
    const why = `Object 'Kind' is missing in '${shown()}'`
    throw validation === 'Ignore' && !isCbor ? cannotBe(expected, claimed, new Error(why)) : unidentified(expected, why, bytes)
  }
  if (isCbor && (typeof apiVersion !== 'string' || apiVersion === ''))
    throw cannotBe(expected, { kind, version: '' }, new Error(`Object 'apiVersion' is missing in '${shown()}'`))
  if (apiVersion !== expected.apiVersion) throw otherCustomVersion(expected, value, isCbor ? 'Ignore' : validation)
  if (kind === expected.kind) return claimed
  throw otherCustomKind(expected, kind, metadata)
}

const otherVersion = (expected: Expected, sent: string) =>
  badRequest(`the API version in the data (${sent}) does not match the expected API version (${expected.apiVersion})`)

/** The error for a custom object of another version; of one that is not served no field is known. */
function otherCustomVersion(expected: Expected, value: JsonObject, validation: FieldValidation): StatusError {
  const { apiVersion, kind } = value
  const sent = typeof apiVersion === 'string' ? apiVersion : ''
  const error = otherVersion(expected, sent)
  const isKnown = expected.versions?.some(version => version.apiVersion === sent)
  if (isKnown || kind !== expected.kind || groupIn(sent) !== groupIn(expected.apiVersion)) return error
  const unknown = Object.keys(value).filter(field => !['apiVersion', 'kind', 'metadata'].includes(field))
  const problems = unknown.sort().map(field => `unknown field ${goQuote(field)}`)
  if (validation === 'Strict' && problems.length > 0)
    return cannotBe(
      expected,
      { kind, version: versionOf({ apiVersion: sent }) },
      new Error(`strict decoding error: ${problems.join(', ')}`),
    )
  if (validation === 'Warn') error.warnings = problems
  return error
}

const groupIn = (apiVersion: string) => apiVersion.slice(0, Math.max(0, apiVersion.lastIndexOf('/')))

/** The error for a custom object that says it is of another kind. */
export function otherCustomKind(expected: Expected, kind: string, metadata: Json | undefined): StatusError {
  const name = isObject(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : ''
  const group = expected.apiVersion.slice(0, expected.apiVersion.lastIndexOf('/'))
  return invalidObject({ group, kind }, name, [invalid(refTo({ kind }).kind, `must be ${expected.kind}`)])
}

/** The error for a body that is no object. */
function noObject(expected: Expected, value: Json, { mediaType, bytes }: Body): StatusError {
  if (mediaType !== CBOR)
    return unrecognised(expected, `json: cannot unmarshal ${jsonTypeName(value)} into Go value of type ${TYPE_META}`, bytes)
  const why = Array.isArray(value) ? 'cannot decode CBOR array to struct without toarray option' : ''
  return undetermined(expected, new CborTypeError({ sent: cborTypeName(bytes), expected: 'v1.TypeMeta', why }).message, bytes)
}

/** The error for a kind or apiVersion that is no text. */
function noText(expected: Expected, field: 'apiVersion' | 'kind', { value, source }: { value: Json; source: Body }): StatusError {
  const { mediaType, bytes } = source
  if (mediaType !== CBOR)
    return unrecognised(expected, `json: cannot unmarshal ${jsonTypeName(value)} into Go struct field .${field} of type string`, bytes)
  return undetermined(expected, new CborTypeError({ sent: cborTypeOf(value), expected: 'string', field }).in('v1.TypeMeta'), bytes)
}

/** The error for CBOR of which nothing can be told. */
const undetermined = (expected: Expected, problem: string, bytes: Uint8Array): StatusError =>
  unidentified(expected, `unable to determine group/version/kind: ${problem}`, bytes)

/** The error for a body whose kind cannot be read. */
const unrecognised = (expected: Expected, problem: string, bytes: Uint8Array): StatusError =>
  unidentified(expected, `couldn't get version/kind; json parse error: ${problem}`, bytes)

/** The error for a body that cannot be identified: it shows a part of the body. */
const unidentified = ({ kind, isOptions }: Expected, problem: string, bytes: Uint8Array): StatusError =>
  badRequest(isOptions ? problem : `the object provided is unrecognized (must be of type ${kind}): ${problem} (${excerpt(bytes)})`)

export const TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
const EXCERPT = 30

/** The beginning of the body: as text when it looks like an object, else in hex. */
function excerpt(bytes: Uint8Array): string {
  if (bytes.length === 0) return '<empty>'
  const head = Buffer.from(bytes.subarray(0, EXCERPT))
  return head.toString(head[0] === 0x7b ? 'utf8' : 'hex') + (bytes.length > EXCERPT ? ' ...' : '')
}
