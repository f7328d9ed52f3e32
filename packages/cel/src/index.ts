/** The package @keelson/cel: a small interface to the CEL of Keelson. `public.d.ts` is its contract. */
import { check } from '../../../src/cel/checker/checker.ts'
import { estimateCost } from '../../../src/cel/checker/cost.ts'
import { type CostEstimator, exactly } from '../../../src/cel/checker/cost-range.ts'
import { createEnv, type Env, extendEnv } from '../../../src/cel/checker/env.ts'
import { formatType } from '../../../src/cel/checker/types.ts'
import { baseEnv, languageLibraries, MAX_CALL_COST } from '../../../src/cel/kubernetes/base-env.ts'
import { isProblem, programOf } from '../../../src/cel/kubernetes/expression.ts'
import { literalIssues } from '../../../src/cel/kubernetes/literal-checks.ts'
import { sizedTypesLibrary, sizesOf } from '../../../src/cel/kubernetes/sized-types.ts'
import { kubernetesEstimator } from '../../../src/cel/libraries/call-estimates.ts'
import { CelCancellation, type Program as Planned } from '../../../src/cel/runtime/program.ts'
import { CelFault, type CelValue } from '../../../src/cel/runtime/values.ts'
import { parse } from '../../../src/cel/syntax/parser.ts'
import { type CelIssue, CelError as SourceError } from '../../../src/cel/syntax/source.ts'
import { declareFunction } from './functions.ts'
import type { Environment, EnvironmentOptions, Issue, JsonValue, Limits, Outcome, Program, Value } from './public.d.ts'
import { type DeclaredType, declaredType, readValue } from './types.ts'
import { valueFrom } from './values.ts'

export type * from './public.d.ts'

export const KUBERNETES_COST_LIMIT = MAX_CALL_COST

export class CelError extends Error {
  readonly issues: readonly Issue[]
  constructor(message: string, issues: readonly Issue[]) {
    super(message)
    this.name = 'CelError'
    this.issues = issues
  }
}

export function createEnvironment({ libraries = 'kubernetes', variables = {}, functions = [] }: EnvironmentOptions = {}): Environment {
  const isKubernetes = libraries === 'kubernetes'
  const types = new Map(Object.entries(variables).map(([name, type]) => [name, declaredType(type, name)]))
  const declared = functions.map(declareFunction)
  const base = isKubernetes ? baseEnv('stored') : createEnv(languageLibraries(), { crossTypeNumericComparisons: true })
  const roots = [...types.values(), ...declared.flatMap(({ types }) => types)].map(({ sized }) => sized)
  const env = extendEnv(base, [
    sizedTypesLibrary(...roots),
    { variables: Array.from(types, ([name, { sized }]) => ({ name, type: sized.type })), functions: declared.map(({ decl }) => decl) },
  ])
  const ofLibraries = kubernetesEstimator(sizesOf(new Map(Array.from(types, ([name, { sized }]) => [name, sized]))))
  const costs = new Map(functions.map(({ name, cost = 1 }) => [name, { cost: exactly(Math.ceil(cost)) }]))
  const estimator: CostEstimator = { ...ofLibraries, estimateCall: call => costs.get(call.function) ?? ofLibraries.estimateCall(call) }
  return { compile: expression => compileIn({ env, types, estimator, isKubernetes }, expression) }
}

export const compile = (expression: string, options?: EnvironmentOptions): Program => createEnvironment(options).compile(expression)

export function evaluate(expression: string, variables: { readonly [name: string]: JsonValue } = {}): Value {
  const types = Object.fromEntries(Object.keys(variables).map(name => [name, 'dyn' as const]))
  const outcome = compile(expression, { variables: types }).evaluate(variables)
  if (!outcome.ok) throw new Error(outcome.error)
  return outcome.value
}

interface Scope {
  readonly env: Env
  readonly types: ReadonlyMap<string, DeclaredType>
  readonly estimator: CostEstimator
  readonly isKubernetes: boolean
}

function compileIn({ env, types, estimator, isKubernetes }: Scope, expression: string): Program {
  const ast = reporting(() => {
    const checked = check(env, parse(env, expression))
    const issues = isKubernetes ? literalIssues(checked) : []
    if (issues.length > 0) throw new SourceError(checked.source, issues)
    return checked
  })
  const program = programOf(env, ast)
  if (isProblem(program)) throw new CelError(program.detail, [{ message: program.detail }])
  return {
    expression,
    type: formatType(ast.type),
    get estimatedCost() {
      return estimateCost(ast, estimator, { presenceTestCost: 0n })
    },
    evaluate: (variables = {}, limits = {}) => evaluateProgram(program, bind(types, variables), limits),
  }
}

/** Runs the compiler and reports its errors as those of this package. */
function reporting<T>(run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof SourceError) throw new CelError(error.message, error.issues.map(issueOf).sort(byPosition))
    throw error
  }
}

/** The compiler counts columns from 0, its messages from 1. */
const issueOf = ({ message, location: { line, column } }: CelIssue): Issue =>
  line < 0 ? { message } : { message, line, column: column + 1 }

const byPosition = (a: Issue, b: Issue): number => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0)

function bind(types: Scope['types'], variables: { readonly [name: string]: JsonValue }): { [name: string]: CelValue } {
  const bindings: { [name: string]: CelValue } = Object.create(null)
  for (const [name, type] of types) {
    const json = Object.hasOwn(variables, name) ? variables[name] : undefined
    if (json !== undefined) bindings[name] = readValue(type, json)
  }
  return bindings
}

function evaluateProgram(program: Planned, bindings: { [name: string]: CelValue }, limits: Limits): Outcome {
  const { maxCost = KUBERNETES_COST_LIMIT, maxWork } = limits
  const { value, cost } = program.evaluate(bindings, { maxCost, ...(maxWork !== undefined && { maxWork }) })
  if (value instanceof CelCancellation) return { ok: false, error: value.message, reason: `${value.reason} limit`, cost }
  if (value instanceof CelFault) return { ok: false, error: value.message, reason: 'failed', cost }
  return { ok: true, value: valueFrom(value), cost }
}
