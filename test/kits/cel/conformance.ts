/** Runs tests of the official CEL suite: parses their JSON, builds environments for them and compares the results. For tests only. */

import { check } from '../../../src/cel/checker/checker.ts'
import { createEnv, type Env } from '../../../src/cel/checker/env.ts'
import type { FunctionDecl, Library, VariableDecl } from '../../../src/cel/checker/library.ts'
import {
  anyType,
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  formatType,
  intType,
  listType,
  mapType,
  nullableType,
  nullType,
  objectType,
  opaqueType,
  stringType,
  timestampType,
  typeParam,
  typeTypeOf,
  uintType,
} from '../../../src/cel/checker/types.ts'
import { equalValues } from '../../../src/cel/runtime/equality.ts'
import { CelProgramError } from '../../../src/cel/runtime/planner.ts'
import { createProgram, type Program } from '../../../src/cel/runtime/program.ts'
import { dynShape } from '../../../src/cel/runtime/shapes.ts'
import { showValue } from '../../../src/cel/runtime/show-value.ts'
import { parseDurationValue, parseTimestamp } from '../../../src/cel/runtime/times.ts'
import {
  CelDouble,
  CelFault,
  CelTypeValue,
  CelUint,
  type CelValue,
  intOf,
  listOf,
  mapOf,
  runtimeType,
} from '../../../src/cel/runtime/values.ts'
import { constructWellKnown } from '../../../src/cel/runtime/well-known-values.ts'
import { parse } from '../../../src/cel/syntax/parser.ts'
import { CelError } from '../../../src/cel/syntax/source.ts'
import { compile } from './compile.ts'
import { wholeLibrary } from './program.ts'

/** The JSON of a test; members that are not used here are left out. */
export interface ConformanceTest {
  readonly name?: string
  readonly expr: string
  readonly container?: string
  readonly typeEnv?: readonly Json[]
  readonly bindings?: { readonly [name: string]: Json }
  readonly value?: Json
  readonly evalError?: Json
  readonly typedResult?: Json
  readonly disableCheck?: boolean
  readonly checkOnly?: boolean
}

/** The JSON of protobuf messages, whose types the suite ensures. */
type Json = any

/** A test cannot be run: it needs features that Keelson does not have. */
class NotSupported extends Error {}

/** Runs one test; undefined if it passed, else the error. */
export function runConformanceTest(test: ConformanceTest, extensions: readonly Library[]): string | undefined {
  try {
    return test.checkOnly ? checkOnly(test, extensions) : evaluate(test, extensions)
  } catch (error) {
    if (error instanceof NotSupported) return error.message
    if (error instanceof CelProgramError) return test.evalError ? undefined : error.message
    if (error instanceof CelError) return `does not compile: ${error.message.split('\n')[0]}`
    return `threw ${error instanceof Error ? error.stack : error}`
  }
}

function evaluate(test: ConformanceTest, extensions: readonly Library[]): string | undefined {
  const bindings = Object.entries(test.bindings ?? {}).map(([name, { value }]): [string, CelValue] => [name, valueFrom(value)])
  const program = programFor(test, envFor(test, extensions))
  const { value } = program.evaluate(Object.fromEntries(bindings))
  if (test.evalError) return value instanceof CelFault ? undefined : `gives ${showValue(value)} instead of an error`
  const expected = valueFrom(test.value ?? test.typedResult?.result ?? { boolValue: true })
  const same = equalValues(value, expected) === true || bothNaN(value, expected)
  if (!same || runtimeType(value).name !== runtimeType(expected).name) return `gives ${showValue(value)} instead of ${showValue(expected)}`
  return test.typedResult?.deducedType ? compareTypes(program.type, typeOf(test.typedResult.deducedType)) : undefined
}

/** Tests that are to run unchecked are checked if possible: Keelson runs only checked expressions, but its functions accept any values. */
function programFor(test: ConformanceTest, env: Env): Program {
  const parsed = parse(env, test.expr)
  try {
    return createProgram(env, check(env, parsed), { optimize: false })
  } catch (error) {
    if (!test.disableCheck || !(error instanceof CelError)) throw error
    return createProgram(env, { ...parsed, types: [], references: [], type: dynType }, { optimize: false })
  }
}

const bothNaN = (a: CelValue, b: CelValue): boolean =>
  a instanceof CelDouble && b instanceof CelDouble && Number.isNaN(a.value) && Number.isNaN(b.value)

function checkOnly(test: ConformanceTest, extensions: readonly Library[]): string | undefined {
  return compareTypes(compile(envFor(test, extensions), test.expr, { optimize: false }).type, typeOf(test.typedResult.deducedType))
}

function compareTypes(actual: CelType, expected: CelType): string | undefined {
  return formatType(actual) === formatType(expected) ? undefined : `is of type ${formatType(actual)} instead of ${formatType(expected)}`
}

function envFor({ container = '', typeEnv = [] }: ConformanceTest, extensions: readonly Library[]): Env {
  const variables: VariableDecl[] = []
  const functions: FunctionDecl[] = []
  for (const declared of typeEnv) {
    if (declared.ident) variables.push({ name: declared.name, type: typeOf(declared.ident.type) })
    else functions.push({ name: declared.name, overloads: declared.function.overloads.map(overloadOf) })
  }
  return createEnv([wholeLibrary(), ...extensions, { variables, functions }], { container, crossTypeNumericComparisons: true })
}

const overloadOf = (declared: Json) => ({
  id: declared.overloadId,
  params: (declared.params ?? []).map(typeOf),
  result: typeOf(declared.resultType),
  member: declared.isInstanceFunction ?? false,
})

const primitives: { readonly [name: string]: CelType } = {
  BOOL: boolType,
  INT64: intType,
  UINT64: uintType,
  DOUBLE: doubleType,
  STRING: stringType,
  BYTES: bytesType,
}
const wellKnown: { readonly [name: string]: CelType } = { TIMESTAMP: timestampType, DURATION: durationType, ANY: anyType }

function typeOf(json: Json): CelType {
  if (json.primitive) return primitives[json.primitive]!
  if (json.wellKnown) return wellKnown[json.wellKnown]!
  if (json.wrapper) return nullableType(primitives[json.wrapper]!)
  if (json.listType) return listType(typeOf(json.listType.elemType ?? { dyn: {} }))
  if (json.mapType) return mapType(typeOf(json.mapType.keyType ?? { dyn: {} }), typeOf(json.mapType.valueType ?? { dyn: {} }))
  if (json.messageType) return messageType(json.messageType)
  if (json.typeParam) return typeParam(json.typeParam)
  if (json.abstractType) return opaqueType(json.abstractType.name, ...(json.abstractType.parameterTypes ?? []).map(typeOf))
  if (json.type) return typeTypeOf(typeOf(json.type))
  if ('null' in json) return nullType
  if ('dyn' in json) return dynType
  throw new NotSupported(`unknown type ${JSON.stringify(json)}`)
}

function messageType(name: string): CelType {
  const type = objectType(name)
  if (type.kind === 'object') throw new NotSupported(`protobuf message ${name}`)
  return type
}

function valueFrom(json: Json): CelValue {
  const [kind, value] = Object.entries<Json>(json)[0]!
  switch (kind) {
    case 'nullValue':
      return null
    case 'boolValue':
    case 'stringValue':
      return value
    case 'int64Value':
      return intOf(BigInt(value))
    case 'uint64Value':
      return new CelUint(BigInt(value))
    case 'doubleValue':
      return new CelDouble(Number(value))
    case 'bytesValue':
      return Buffer.from(value, 'base64')
    case 'listValue':
      return listOf((value.values ?? []).map(valueFrom))
    case 'mapValue':
      return mapOf((value.entries ?? []).map((entry: Json) => [valueFrom(entry.key), valueFrom(entry.value)]))
    case 'typeValue':
      return new CelTypeValue({ ...dynType, name: value })
    case 'objectValue':
      return messageValue(value)
  }
  throw new NotSupported(`unknown value ${kind}`)
}

function messageValue(message: Json): CelValue {
  const type: string = message['@type'].replace('type.googleapis.com/', '')
  if (type === 'google.protobuf.Any') return messageValue(message.value)
  const { value } = message
  const made = type.endsWith('.Timestamp')
    ? parseTimestamp(value)
    : type.endsWith('.Duration')
      ? parseDurationValue(value)
      : constructWellKnown(type, wellKnownFields(type, value))
  if (made === undefined) throw new NotSupported(`protobuf message ${type}`)
  return made
}

/** The fields of a well-known message from its JSON. */
function wellKnownFields(type: string, value: Json): ReadonlyMap<string, CelValue> {
  if (/\.U?Int\d\dValue$/.test(type)) return new Map([['value', type.includes('UInt') ? new CelUint(BigInt(value)) : intOf(BigInt(value))]])
  if (/\.(?:Double|Float)Value$/.test(type)) return new Map([['value', new CelDouble(Number(value))]])
  if (type.endsWith('.BytesValue')) return new Map([['value', Buffer.from(value, 'base64')]])
  const field = type.endsWith('.Struct') ? 'fields' : type.endsWith('.ListValue') ? 'values' : 'value'
  return new Map([[type.endsWith('.Value') && value === null ? 'null_value' : field, dynShape.read(value)]])
}
