/** Runs the rules of one schema on one value, within the limits that all rules on an object share. */
import { MAX_CALL_COST } from '../cel/kubernetes/base-env.ts'
import { type Bindings, CelCancellation, type Evaluation, type Program } from '../cel/runtime/program.ts'
import { CelFault, CelOptional, type CelValue, optionalNone } from '../cel/runtime/values.ts'
import { goFieldValue, goQuote } from '../lib/go-text.ts'
import type { Json } from '../lib/json-value.ts'
import type { Budget } from '../schema/budget.ts'
import type { FieldError, FieldReason } from '../schema/refs.ts'
import type { CompiledRule } from './compile-rules.ts'
import type { Correlation } from './correlation.ts'
import { MAX_LENGTH, NIL_PATH } from './failure.ts'
import { ruleShapeOf } from './rule-shapes.ts'
import type { Structural, ValidationRule } from './schema.ts'

/** The cost of all rules on one object together, as CEL counts it. */
const MAX_OBJECT_COST = 10_000_000

/** The longest message that an expression may give, in bytes. */
const MAX_MESSAGE = 5 * 1024

/** A cost limit was exceeded, or enough errors were reported: no rule runs after that. */
export class RulesEnded extends Error {}

/** The context of rules on a value: its field path, the stored value, and whether errors are tolerated because it did not change. */
export type RuleContext = {
  readonly path: string
  readonly old: Json
  readonly correlation: Correlation | undefined
  /** The nearest value around it that correlates. */
  readonly above: Correlation | undefined
}

export class RuleRunner {
  readonly errors: FieldError[] = []
  /** Errors that are tolerated, as text. */
  readonly warnings: string[] = []
  readonly #budget: Budget
  #costLeft = MAX_OBJECT_COST
  #reported = 0

  constructor(budget: Budget) {
    this.#budget = budget
  }

  /** Reports an error. Once the limit of errors is reached, no more rules are run. */
  #report(error: FieldError): void {
    if (this.#reported > MAX_LENGTH) throw new RulesEnded()
    this.#reported += error.field.length + error.message.length
    this.errors.push(error)
  }

  /** Runs the rules of a schema on a value that is not null. Throws RulesEnded after the error that tells why. */
  run(rules: Iterable<CompiledRule>, schema: Structural, value: Json, ctx: RuleContext): void {
    const type = schema.source.type ?? ''
    const fail = (why: string) => this.#report(invalid(ctx.path, goQuote(type), why))
    if (this.#costLeft <= 0) {
      fail(OUT_OF_BUDGET)
      throw new RulesEnded()
    }
    const shape = ruleShapeOf(schema)
    const bindings = (optional: boolean): Bindings =>
      bindingsOf(shape.read(value), ctx.old === null ? undefined : shape.read(ctx.old), optional)
    for (const compiled of rules) {
      const { rule, condition } = compiled
      if (condition === undefined) continue
      if ('problem' in condition) {
        fail(`rule compile error: ${condition.problem}`)
        continue
      }
      const optional = rule.optionalOldSelf === true
      // A transition rule is not evaluated where there is no old value, unless it asked for that.
      if (condition.usesOldSelf && ctx.old === null && !optional) continue
      const outcome = this.#evaluate(condition.program, bindings(optional), fail)
      if (outcome === true) continue
      if (outcome instanceof CelFault) this.#failed(outcome, rule, fail)
      else this.#broken(compiled, schema, value, ctx, bindings(false))
    }
  }

  #evaluate(program: Program, bindings: Bindings, fail: (why: string) => void): CelValue {
    const { value, cost } = this.#run(program, bindings)
    if (cost > this.#costLeft) {
      fail(OUT_OF_BUDGET)
      throw new RulesEnded()
    }
    this.#costLeft -= cost
    return value
  }

  #run(program: Program, bindings: Bindings): Evaluation {
    const evaluation = program.evaluate(bindings, { maxCost: MAX_CALL_COST, maxWork: this.#budget.left })
    this.#budget.charge(EVALUATION_WORK + evaluation.work + evaluation.cost / COST_PER_UNIT)
    return evaluation
  }

  #failed(failure: CelFault, rule: ValidationRule, fail: (why: string) => void): void {
    const { message } = failure
    if (failure instanceof CelCancellation) {
      fail(`'${message}': no further validation rules will be run due to call cost exceeds limit for rule: ${nameOf(rule)}`)
      throw new RulesEnded()
    }
    if (message.startsWith('no such overload'))
      fail(`'${message}': call arguments did not match a supported operator, function or macro signature for rule: ${nameOf(rule)}`)
    else fail(`${message} evaluating rule: ${nameOf(rule)}`)
  }

  #broken(compiled: CompiledRule, schema: Structural, value: Json, ctx: RuleContext, bindings: Bindings): void {
    const { rule, condition, fieldPath } = compiled
    const path = fieldPath === '' ? ctx.path : ctx.path === '' ? fieldPath : `${ctx.path}.${fieldPath}`
    const usesOldSelf = condition?.usesOldSelf === true
    const report = (error: FieldError) => {
      if (!usesOldSelf && isTolerated(ctx)) this.warnings.push(`${error.field}: ${error.message}`)
      else this.#report(error)
    }
    const type = schema.source.type ?? ''
    const endWith = (why: string): never => {
      report(invalid(path, goQuote(type), why))
      throw new RulesEnded()
    }
    const detail = this.#message(compiled, bindings, endWith) ?? (rule.message ? rule.message.trim() : `failed rule: ${rule.rule.trim()}`)
    const shown = type === 'object' || type === 'array' ? undefined : goFieldValue(value, 'sorted')
    report(errorFor(rule.reason, path, { shown, detail }))
  }

  /** The result of the rule's message expression; undefined where there is none or it gives no usable text. */
  #message({ rule, message }: CompiledRule, bindings: Bindings, endWith: (why: string) => never): string | undefined {
    if (message === undefined || 'problem' in message) return undefined
    const { value, cost } = this.#run(message.program, bindings)
    if (cost > this.#costLeft)
      return endWith('messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run')
    if (value instanceof CelCancellation)
      return endWith(
        `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${goQuote(rule.messageExpression!)}`,
      )
    this.#costLeft -= cost
    if (typeof value !== 'string') return undefined
    const text = value.trim()
    return text === '' || text.includes('\n') || Buffer.byteLength(text) > MAX_MESSAGE ? undefined : text
  }
}

/** The units of work that an evaluation takes at least, and how much of its cost is one unit. */
const EVALUATION_WORK = 16
const COST_PER_UNIT = 4

const OUT_OF_BUDGET = 'validation failed due to running out of cost budget, no further validation rules will be run'

/** The name of a rule in messages: its message, or itself. */
const nameOf = (rule: ValidationRule) => (rule.message || rule.rule).trim()

function bindingsOf(self: CelValue, old: CelValue | undefined, optional: boolean): Bindings {
  if (optional) return { self, oldSelf: old === undefined ? optionalNone : new CelOptional(old) }
  return old === undefined ? { self } : { self, oldSelf: old }
}

const isTolerated = ({ correlation, above }: RuleContext): boolean => (correlation ?? above)?.unchanged === true

const invalid = (path: string, shown: string | undefined, detail: string): FieldError =>
  fieldError('FieldValueInvalid', path, ['Invalid value', shown, detail])

function fieldError(reason: FieldReason, path: string, parts: readonly (string | undefined)[]): FieldError {
  return { reason, field: path === '' ? NIL_PATH : path, message: parts.filter(part => part !== undefined && part !== '').join(': ') }
}

/** The error of a broken rule, of the reason that the rule gives. */
function errorFor(reason: string | undefined, path: string, { shown, detail }: { shown: string | undefined; detail: string }): FieldError {
  switch (reason) {
    case 'FieldValueForbidden':
      return fieldError(reason, path, ['Forbidden', detail])
    case 'FieldValueRequired':
      return fieldError(reason, path, ['Required value', detail])
    case 'FieldValueDuplicate':
      return fieldError(reason, path, ['Duplicate value', shown])
    default:
      return invalid(path, shown, detail)
  }
}
