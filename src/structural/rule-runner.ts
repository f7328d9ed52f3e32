/** Runs the rules of one schema on one value, within a budget that all rules on an object share. */
import { PER_CALL_LIMIT } from '../cel/kubernetes/base-env.ts'
import { type Bindings, CelCancellation, type Program } from '../cel/runtime/program.ts'
import { CelFault, CelOptional, type CelValue, optionalNone } from '../cel/runtime/values.ts'
import { goFieldValue, goQuote } from '../lib/go-text.ts'
import type { Json } from '../lib/json-value.ts'
import type { FieldError, FieldReason } from '../schema/refs.ts'
import type { CompiledRule } from './compile-rules.ts'
import type { Correlation } from './correlation.ts'
import { MAX_LENGTH, NIL_PATH } from './failure.ts'
import { ruleShapeOf } from './rule-shapes.ts'
import type { Structural, ValidationRule } from './schema.ts'

/** What all rules on one object may cost together. */
export const OBJECT_BUDGET = 10_000_000

/** The longest message that an expression may give, in bytes. */
const MAX_MESSAGE = 5 * 1024

/** That the budget is spent, or an expression cost too much: no rule runs after that. */
export class RulesEnded extends Error {}

/** Where a value stands: its path, what it was, and whether what is wrong with it is forgiven because it did not change. */
export type Stand = {
  readonly path: string
  readonly old: Json
  readonly correlation: Correlation | undefined
  /** The nearest place above that correlates. */
  readonly above: Correlation | undefined
}

export class RuleRunner {
  readonly errors: FieldError[] = []
  /** What was wrong but forgiven, as text. */
  readonly warnings: string[] = []
  #budget = OBJECT_BUDGET
  #said = 0

  /** Once there is no room for more, no more rules are run either. */
  #tell(error: FieldError): void {
    if (this.#said > MAX_LENGTH) throw new RulesEnded()
    this.#said += error.field.length + error.message.length
    this.errors.push(error)
  }

  /** Runs the rules of a schema on a value that is not null. Throws RulesEnded after the error that tells why. */
  run(rules: Iterable<CompiledRule>, schema: Structural, value: Json, stand: Stand): void {
    const type = schema.source.type ?? ''
    const fail = (why: string) => this.#tell(invalid(stand.path, goQuote(type), why))
    if (this.#budget <= 0) {
      fail(OUT_OF_BUDGET)
      throw new RulesEnded()
    }
    const shape = ruleShapeOf(schema)
    const bindings = (optional: boolean): Bindings =>
      bindingsOf(shape.read(value), stand.old === null ? undefined : shape.read(stand.old), optional)
    for (const compiled of rules) {
      const { rule, condition } = compiled
      if (condition === undefined) continue
      if ('problem' in condition) {
        fail(`rule compile error: ${condition.problem}`)
        continue
      }
      const optional = rule.optionalOldSelf === true
      // A rule about a change says nothing where nothing was before, unless it asked to be told.
      if (condition.usesOldSelf && stand.old === null && !optional) continue
      const outcome = this.#evaluate(condition.program, bindings(optional), fail)
      if (outcome === true) continue
      if (outcome instanceof CelFault) this.#failed(outcome, rule, fail)
      else this.#broken(compiled, schema, value, stand, bindings(false))
    }
  }

  #evaluate(program: Program, bindings: Bindings, fail: (why: string) => void): CelValue {
    const { value, cost } = program.evaluate(bindings, { budget: PER_CALL_LIMIT })
    if (cost > this.#budget) {
      fail(OUT_OF_BUDGET)
      throw new RulesEnded()
    }
    this.#budget -= cost
    return value
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

  #broken(compiled: CompiledRule, schema: Structural, value: Json, stand: Stand, bindings: Bindings): void {
    const { rule, condition, fieldPath } = compiled
    const path = fieldPath === '' ? stand.path : stand.path === '' ? fieldPath : `${stand.path}.${fieldPath}`
    const usesOldSelf = condition?.usesOldSelf === true
    const report = (error: FieldError) => {
      if (!usesOldSelf && isForgiven(stand)) this.warnings.push(`${error.field}: ${error.message}`)
      else this.#tell(error)
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

  /** What the rule's own expression says; undefined where there is none or it gives no usable text. */
  #message({ rule, message }: CompiledRule, bindings: Bindings, endWith: (why: string) => never): string | undefined {
    if (message === undefined || 'problem' in message) return undefined
    const { value, cost } = message.program.evaluate(bindings, { budget: PER_CALL_LIMIT })
    if (cost > this.#budget)
      return endWith('messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run')
    if (value instanceof CelCancellation)
      return endWith(
        `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${goQuote(rule.messageExpression!)}`,
      )
    this.#budget -= cost
    if (typeof value !== 'string') return undefined
    const text = value.trim()
    return text === '' || text.includes('\n') || Buffer.byteLength(text) > MAX_MESSAGE ? undefined : text
  }
}

const OUT_OF_BUDGET = 'validation failed due to running out of cost budget, no further validation rules will be run'

/** What the rule is called: its message, or itself. */
const nameOf = (rule: ValidationRule) => (rule.message || rule.rule).trim()

function bindingsOf(self: CelValue, old: CelValue | undefined, optional: boolean): Bindings {
  if (optional) return { self, oldSelf: old === undefined ? optionalNone : new CelOptional(old) }
  return old === undefined ? { self } : { self, oldSelf: old }
}

const isForgiven = ({ correlation, above }: Stand): boolean => (correlation ?? above)?.unchanged === true

const invalid = (path: string, shown: string | undefined, detail: string): FieldError =>
  told('FieldValueInvalid', path, ['Invalid value', shown, detail])

function told(reason: FieldReason, path: string, parts: readonly (string | undefined)[]): FieldError {
  return { reason, field: path === '' ? NIL_PATH : path, message: parts.filter(part => part !== undefined && part !== '').join(': ') }
}

/** The error of a broken rule, of the reason that the rule gives. */
function errorFor(reason: string | undefined, path: string, { shown, detail }: { shown: string | undefined; detail: string }): FieldError {
  switch (reason) {
    case 'FieldValueForbidden':
      return told(reason, path, ['Forbidden', detail])
    case 'FieldValueRequired':
      return told(reason, path, ['Required value', detail])
    case 'FieldValueDuplicate':
      return told(reason, path, ['Duplicate value', shown])
    default:
      return invalid(path, shown, detail)
  }
}
