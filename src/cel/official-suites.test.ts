import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tests as checking } from '@bufbuild/cel-spec/testdata/checking.js'
import { tests as comprehensions } from '@bufbuild/cel-spec/testdata/comprehension.js'
import { tests as conformance } from '@bufbuild/cel-spec/testdata/conformance.js'
import { tests as parsing } from '@bufbuild/cel-spec/testdata/parsing.js'
import type { SerializedIncrementalTest, SerializedIncrementalTestSuite } from '@bufbuild/cel-spec/testdata/tests.js'
import { adornKinds, adornTypes, debugString } from '../../test/kits/cel/print-ast.ts'
import { assertShown } from '../../test/kits/cel/shown-figures.ts'
import { messageTypes, typeFromJson } from '../../test/kits/cel/suite-types.ts'
import { check } from './checker/checker.ts'
import { createEnv, type EnvSettings, extendEnv } from './checker/env.ts'
import type { Library } from './checker/library.ts'
import { mapInsertDeclarations, optionalFunctionDeclarations, optionalTypeVariables } from './checker/optional-declarations.ts'
import { standardFunctionDeclarations, standardTypeVariables } from './checker/standard-declarations.ts'
import { standardTypes } from './checker/standard-types.ts'
import { boolType, bytesType, doubleType, intType, nullType, stringType, uintType } from './checker/types.ts'
import { bindMacros, optionalMacros, standardMacros, twoVariableMacros } from './syntax/macros.ts'
import { parse } from './syntax/parser.ts'
import { CelError, createSource } from './syntax/source.ts'

const standard: Library = {
  functions: standardFunctionDeclarations(),
  variables: standardTypeVariables(),
  macros: standardMacros(),
  types: standardTypes,
}
const optionals: Library = {
  functions: optionalFunctionDeclarations(),
  variables: optionalTypeVariables(),
  macros: optionalMacros(),
  optionalSyntax: true,
}
const messages: Library = { types: messageTypes() }

/** The declarations that cel-go's checker tests share. */
const declared: Library = {
  variables: Object.entries({ is: stringType, ii: intType, iu: uintType, iz: boolType, ib: bytesType, id: doubleType, ix: nullType }).map(
    ([name, type]) => ({ name, type }),
  ),
  functions: [
    { name: 'fg_s', overloads: [{ id: 'fg_s_0', params: [], result: stringType }] },
    { name: 'fi_s_s', overloads: [{ id: 'fi_s_s_0', params: [stringType], result: stringType, member: true }] },
  ],
}

interface Outcome {
  ast?: string | undefined
  checkedAst?: string | undefined
  error?: string | undefined
}

const ownDeclarations = (original: any): Library => ({
  variables: (original.typeEnv ?? [])
    .filter((declaration: any) => declaration.ident)
    .map((declaration: any) => ({ name: declaration.name, type: typeFromJson(declaration.ident.type) })),
  functions: (original.typeEnv ?? [])
    .filter((declaration: any) => declaration.function)
    .map((declaration: any) => ({
      name: declaration.name,
      overloads: declaration.function.overloads.map((overload: any) => ({
        id: overload.overloadId,
        params: (overload.params ?? []).map(typeFromJson),
        result: typeFromJson(overload.resultType),
        member: overload.isInstanceFunction ?? false,
      })),
    })),
})

/** The name of the source in the recorded error. */
const described = (error: string | undefined): string => /^ERROR: (.*?):-?\d+:\d+:/.exec(error ?? '')?.[1] ?? '<input>'

/** How a case ends in an environment of these libraries. */
function outcome({ original, error }: SerializedIncrementalTest, libraries: Library[], settings: EnvSettings): Outcome {
  const base = createEnv([standard, ...libraries], { container: String(original['container'] ?? ''), ...settings })
  const env = extendEnv(base, [ownDeclarations(original)])
  const result: Outcome = {}
  try {
    const parsed = parse(env, createSource(original.expr, described(error)))
    result.ast = debugString(parsed.expr, adornKinds)
    const checked = check(env, parsed)
    result.checkedAst = debugString(checked.expr, adornTypes(checked))
  } catch (thrown) {
    assert.ok(thrown instanceof CelError, String(thrown))
    result.error = thrown.message
  }
  return result
}

interface Run {
  /** The environments of the suite's cases, which it does not state and which differ between trees and types: one of them must fit. */
  readonly environments: readonly { libraries?: Library[]; settings?: EnvSettings }[]
  /** Cases that other versions of cel-go, or Kubernetes' settings of it, answer differently. */
  readonly differs?: (original: SerializedIncrementalTest) => boolean
}

/** Syntax errors have words of their own here: the first must be in the same position. */
function isSameError(error: string | undefined, wanted: string | undefined): boolean {
  if (!wanted?.includes('Syntax error: ')) return error === wanted
  const positionOf = (text = '') => /^ERROR: (.*): Syntax error: /m.exec(text)?.[1]
  return positionOf(error) === positionOf(wanted)
}

/** Runs a suite; the README of the package shows how many of its cases pass. */
function runSuite(name: string, cases: readonly SerializedIncrementalTest[], { environments, differs }: Run): number {
  let passed = 0
  for (const one of cases) {
    if (differs?.(one)) continue
    const outcomes: Outcome[] = []
    const fits = (wanted: (result: Outcome) => boolean) => outcomes.some(wanted)
    const good = () =>
      fits(result => result.ast === one.ast || one.ast === undefined) &&
      fits(result => result.checkedAst === one.checkedAst && isSameError(result.error, one.error))
    for (const { libraries = [], settings = {} } of environments) {
      if (!good()) outcomes.push(outcome(one, libraries, settings))
    }
    if (!good()) assert.deepEqual(outcomes[0], { ast: one.ast, checkedAst: one.checkedAst, error: one.error }, one.original.expr)
    passed++
  }
  assertShown(name, [cases.length, passed, cases.length - passed])
  return passed
}

test('cel-go’s cases for the parser give its trees, types and errors', () => {
  const limits = { maxDepth: 32 }
  const passed = runSuite('cel-go: parser', parsing.tests!, {
    environments: [{ settings: limits }, { libraries: [optionals], settings: limits }],
    // Recorded with escaped names off, and with a macro that only the parser's tests turn on; both are the other way round in Kubernetes.
    differs: ({ original, error }) => error?.includes("unsupported syntax: '`'") === true || /existsOne\(\w+, \w+\)/.test(original.expr),
  })
  assert.equal(passed, 179)
})

test('cel-go’s cases for the checker give its types, overloads and errors', () => {
  const base = [messages, declared]
  const passed = runSuite('cel-go: type checker', checking.tests!, {
    environments: [
      { libraries: base },
      { libraries: [...base, optionals] },
      { libraries: base, settings: { homogeneousLiterals: true } },
      { libraries: base, settings: { crossTypeNumericComparisons: true } },
      { libraries: base, settings: { variadicLogic: true } },
    ],
    // A field that the published messages do not have, and a lookup of types that cel-go has since narrowed.
    differs: ({ original }) => /nestedgroup\.nested_id|NotAMessage/.test(original.expr),
  })
  assert.equal(passed, 133)
})

const twoVariables: Library = { macros: [...twoVariableMacros(), ...bindMacros()], functions: mapInsertDeclarations() }

test('cel-go’s cases for comprehensions over two variables fail without them', () => {
  const needsStrings = /format\(|lowerAscii|upperAscii|reverse\(|split\(|join\(|cel\.bind/
  const passed = runSuite('cel-go: comprehensions over two variables', comprehensions.tests!, {
    environments: [{}, { libraries: [twoVariables, optionals] }],
    differs: ({ original }) => needsStrings.test(original.expr),
  })
  assert.equal(passed, 69)
})

test('the conformance suite gives cel-go’s trees, types and errors', () => {
  const flatten = (suite: SerializedIncrementalTestSuite): SerializedIncrementalTest[] => [
    ...(suite.tests ?? []),
    ...(suite.suites ?? []).flatMap(flatten),
  ]
  const extensions = new Set(['block_ext', 'encoders_ext', 'math_ext', 'proto2_ext', 'string_ext'])
  const cases = conformance.suites!.filter(suite => !extensions.has(suite.name)).flatMap(flatten)
  const passed = runSuite('cel-spec: trees and types', cases, {
    environments: [
      { libraries: [messages] },
      { libraries: [messages, optionals] },
      { libraries: [messages, optionals, twoVariables] },
      { libraries: [messages], settings: { crossTypeNumericComparisons: true } },
    ],
    // Recorded with escaped names off, with a depth of 32, before optional_type had a parameter, and with messages that nothing else needs.
    differs: ({ original, error }) =>
      error?.includes("unsupported syntax: '`'") === true ||
      original.name === 'parens' ||
      original.expr === 'type(optional.none()) == optional_type' ||
      /google\.protobuf\.(Empty|FieldMask)/.test(original.expr),
  })
  assert.equal(passed, 1845)
})
