/** The official suite of CEL (the npm package @bufbuild/cel-spec, cel-spec 0.25.1): everything passes except the cases named here. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tests as suite } from '@bufbuild/cel-spec/testdata/conformance.js'
import { type ConformanceTest, runConformanceTest } from '../../test/kits/cel/conformance.ts'
import { assertShown } from '../../test/kits/cel/shown-figures.ts'
import { stringsLibrary } from './libraries/strings.ts'

interface Suite {
  readonly name: string
  readonly suites?: readonly Suite[]
  readonly tests?: readonly { readonly original: ConformanceTest }[]
}

/** Libraries of cel-go that Kubernetes does not load. */
const otherLibraries = new Set(['block_ext', 'encoders_ext', 'math_ext', 'proto2_ext'])
const protobuf = /TestAllTypes|TestRequired|NestedMessage|GlobalEnum|NestedEnum|NULL_VALUE|conformance\.proto[23]/

/** Tests that do not pass, with the reason why they need not. */
const differences: { readonly [reason: string]: readonly string[] } = {
  'cel-go takes any key in a map literal, and the last of equal keys': [
    'fields/qualified_identifier_resolution/map_key_float',
    'fields/qualified_identifier_resolution/map_value_repeat_key',
    'fields/qualified_identifier_resolution/map_value_repeat_key_heterogeneous',
  ],
  'Kubernetes does not turn on errors for presence tests on scalars': [
    'optionals/optionals/map_null_entry_no_such_key',
    'optionals/optionals/map_present_key_invalid_field',
  ],
  'cel-go takes null for the type of a list of an optional value and null': [
    'type_deductions/legacy_nullable_types/null_assignable_to_abstract_parameter_candidate',
  ],
  'cel-go counts all milliseconds of a duration': ['timestamps/duration_converters/get_milliseconds'],
  'Kubernetes has version 2 of the library for strings, the suite tests version 4': [
    'string_ext/format/scientific notation formatting clause',
    'string_ext/format/default precision for scientific notation',
    'string_ext/format/NaN support for scientific notation',
    'string_ext/format/positive infinity support for scientific notation',
    'string_ext/format/negative infinity support for scientific notation',
    'string_ext/format/NaN support for decimal',
    'string_ext/format/positive infinity support for decimal',
    'string_ext/format/negative infinity support for decimal',
    'string_ext/format/positive infinity support for fixed-point',
    'string_ext/format/negative infinity support for fixed-point',
    'string_ext/format/list support for string',
    'string_ext/format/map support for string',
    'string_ext/format/map support (all key types)',
    'string_ext/format/dyntype support for scientific notation',
    'string_ext/format/dyntype NaN/infinity support',
    'string_ext/format/dyntype support for lists',
    'string_ext/format/dyntype support for maps',
    'string_ext/format/scientific notation formatting clause in a string variable',
    'string_ext/value_errors/indexof_out_of_range',
    'string_ext/value_errors/lastindexof_out_of_range',
  ],
}

function* flatten({ name, suites = [], tests = [] }: Suite, path: string): Generator<{ path: string; original: ConformanceTest }> {
  const here = path === '' ? name : `${path}/${name}`
  for (const { original } of tests) yield { path: `${here}/${original.name}`, original }
  for (const inner of suites) yield* flatten(inner, here)
}

const all = (suite.suites as readonly Suite[]).flatMap(top => [...flatten(top, '')])
const different = new Set(Object.values(differences).flat())

const isOtherLibrary = (path: string): boolean => otherLibraries.has(path.split('/')[0]!)
const needsProtobuf = ({ expr, typeEnv, bindings, value, typedResult, container }: ConformanceTest): boolean =>
  protobuf.test(JSON.stringify([expr, typeEnv, bindings, value, typedResult, container]))

test('every test of the official suite that needs no protobuf passes, but for the differences of cel-go and Kubernetes', t => {
  const failures: string[] = []
  const counts = { passed: 0, different: 0, protobuf: 0, otherLibrary: 0 }
  for (const { path, original } of all) {
    if (isOtherLibrary(path)) counts.otherLibrary++
    else if (needsProtobuf(original)) counts.protobuf++
    else {
      const problem = runConformanceTest(original, [stringsLibrary()])
      if (different.has(path)) {
        assert.notEqual(problem, undefined, `${path} passes: it is no difference any more`)
        counts.different++
      } else if (problem === undefined) counts.passed++
      else failures.push(`${path}: ${original.expr}: ${problem}`)
    }
  }
  t.diagnostic(JSON.stringify(counts))
  assert.deepEqual(failures, [])
  assertShown('cel-spec: values and errors', [all.length, counts.passed, all.length - counts.passed])
  assertShown('protobuf messages', [counts.protobuf])
  assertShown('libraries that Kubernetes does not load', [counts.otherLibrary])
  assertShown('differences of cel-go and Kubernetes', [counts.different])
  assert.deepEqual(counts, { passed: 1506, different: 27, protobuf: 553, otherLibrary: 258 })
})
