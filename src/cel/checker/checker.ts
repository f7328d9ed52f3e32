/** The type checker: checks the types of an expression, resolves its names and selects the overloads of its calls. */

import type { CallExpr, ComprehensionExpr, Expr, IdentExpr, ListExpr, MapExpr, ParsedAst, SelectExpr, StructExpr } from '../syntax/ast.ts'
import { operators } from '../syntax/operators.ts'
import { CelError, type CelIssue, MAX_ISSUES, nowhere } from '../syntax/source.ts'
import type { CheckedAst, Reference } from './checked-ast.ts'
import { qualifiedName, qualifiers } from './container.ts'
import type { Env } from './env.ts'
import type { FunctionDecl, Overload } from './library.ts'
import { constantTypes, Names, type Resolved } from './names.ts'
import { isCrossTypeComparison } from './standard-declarations.ts'
import { isMessageType } from './standard-types.ts'
import {
  boolType,
  type CelType,
  declaredName,
  dynType,
  errorType,
  formatType,
  intType,
  isDyn,
  isDynOrError,
  isOptionalType,
  listType,
  mapType,
  optionalType,
  sameType,
  stringType,
  unwrapOptional,
} from './types.ts'
import { mapParams, mostGeneral, TypeBindings, TypeSizes } from './unification.ts'

/** The expression with its types; throws a CelError with cel-go's message when it does not type-check. */
export function check(env: Env, parsed: ParsedAst): CheckedAst {
  const checker = new Checker(env, parsed)
  const expr = checker.check(parsed.expr)
  if (checker.issues.length > 0) throw new CelError(parsed.source, checker.issues)
  const types = checker.finalTypes()
  return { ...parsed, expr, types, references: checker.references, type: types[expr.id]! }
}

/** The limit of a type's parts: each level of `{x: x}` doubles them, which would exhaust memory. */
const MAX_TYPE_SIZE = 600

class Checker {
  readonly issues: CelIssue[] = []
  readonly references: (Reference | undefined)[] = []
  readonly #types: (CelType | undefined)[] = []
  readonly #bindings = new TypeBindings()
  readonly #sizes = new TypeSizes()
  readonly #env: Env
  readonly #names: Names
  readonly #parsed: ParsedAst

  constructor(env: Env, parsed: ParsedAst) {
    this.#env = env
    this.#names = new Names(env)
    this.#parsed = parsed
  }

  /** The types of all nodes; unbound type variables become dyn. */
  finalTypes(): (CelType | undefined)[] {
    const finish = this.#bindings.finish()
    return this.#types.map(type => type && finish(type))
  }

  check(expr: Expr): Expr {
    switch (expr.kind) {
      case 'literal':
        return this.#typed(expr, constantTypes[expr.value.type])
      case 'ident':
        return this.#ident(expr)
      case 'select':
        return this.#select(expr)
      case 'call':
        return expr.function === operators.optSelect ? this.#optionalSelect(expr) : this.#call(expr)
      case 'list':
        return this.#list(expr)
      case 'map':
        return this.#map(expr)
      case 'struct':
        return this.#struct(expr)
      case 'comprehension':
        return this.#comprehension(expr)
    }
  }

  #ident(expr: IdentExpr): Expr {
    const resolved = this.#names.resolve([expr.name])
    if (resolved) return this.#resolvedIdent(expr, resolved)
    this.#undeclared(expr, expr.name)
    return this.#typed(expr, errorType)
  }

  #resolvedIdent(expr: Expr, { variable, shadowed }: Resolved): Expr {
    const plain = variable.name.startsWith('.') ? variable.name.slice(1) : variable.name
    const name = shadowed ? `.${plain}` : plain
    this.references[expr.id] = variable.value ? { name, value: variable.value } : { name }
    const ident: IdentExpr = expr.kind === 'ident' && expr.name === name ? expr : { kind: 'ident', id: expr.id, offset: expr.offset, name }
    return this.#typed(ident, variable.type)
  }

  #select(expr: SelectExpr): Expr {
    // The whole selection may be one qualified name.
    const names = qualifiers(expr)
    const resolved = names && this.#names.resolve(names)
    if (resolved) return this.#resolvedIdent(expr, resolved)
    const operand = this.check(expr.operand)
    const selected = this.#fieldType(expr, operand, { field: expr.field, optional: false })
    const checked = operand === expr.operand ? expr : { ...expr, operand }
    return this.#typed(checked, expr.testOnly ? boolType : this.#known(selected))
  }

  #optionalSelect(expr: CallExpr): Expr {
    const [of, field] = expr.args
    if (expr.args.length !== 2 || expr.target) {
      const how = expr.target ? ' member call with' : ''
      this.#issue(expr, `unsupported optional field selection: incorrect signature.${how} argument count: ${expr.args.length}`)
      return this.#typed(expr, errorType)
    }
    if (field!.kind !== 'literal' || field!.value.type !== 'string') {
      this.#issue(field!, 'unsupported optional field selection')
      return this.#typed(expr, errorType)
    }
    const operand = this.check(of!)
    const selected = this.#fieldType(expr, operand, { field: field!.value.value, optional: true })
    this.references[expr.id] = { overloads: ['select_optional_field'] }
    this.#setType(field!, stringType)
    return this.#typed(operand === of ? expr : { ...expr, args: [operand, field!] }, this.#known(selected))
  }

  #fieldType(expr: Expr, operand: Expr, { field, optional }: { field: string; optional: boolean }): CelType {
    const operandType = this.#known(this.#typeOf(operand))
    const type = unwrapOptional(operandType)
    const found = this.#plainFieldType(expr, type, field)
    return optional || isOptionalType(operandType) ? optionalType(found) : found
  }

  #plainFieldType(expr: Expr, type: CelType, field: string): CelType {
    switch (type.kind) {
      case 'map':
        return type.params[1]!
      case 'object':
        return this.#declaredField(expr, type.name, field)
      case 'typeParam':
        // From here on the operand may be anything.
        this.#bindings.assign(dynType, type)
        return dynType
    }
    if (!isDynOrError(type)) this.#issue(expr, `type '${formatType(type)}' does not support field selection`)
    return dynType
  }

  #declaredField(at: { offset: number }, type: string, field: string): CelType {
    const { types } = this.#env
    if (!types.findType(type)) this.#issue(at, `unexpected failed resolution of '${type}'`)
    else {
      const found = types.findField(type, field)
      if (found) return found
      this.#issue(at, `undefined field '${field}'`)
    }
    return errorType
  }

  #call(expr: CallExpr): Expr {
    const args = this.#checkAll(expr.args)
    if (!expr.target) {
      const found = this.#names.findFunction(expr.function)
      if (found) return this.#resolveCall({ ...expr, function: found.name, args }, found)
      this.#undeclared(expr, expr.function)
      return this.#typed(expr, errorType)
    }
    // The target may be the namespace of the function.
    const prefix = qualifiedName(expr.target)
    const namespaced = prefix === undefined ? undefined : this.#names.findFunction(`${prefix}.${expr.function}`)
    if (namespaced) return this.#resolveCall({ ...expr, function: namespaced.name, target: undefined, args }, namespaced)
    const target = this.check(expr.target)
    const found = this.#names.findFunction(expr.function)
    if (found) return this.#resolveCall({ ...expr, target, args }, found)
    this.#undeclared(expr, expr.function)
    return this.#typed(expr, errorType)
  }

  #resolveCall(expr: CallExpr, declared: FunctionDecl): Expr {
    if (declared.name === operators.and || declared.name === operators.or) return this.#logicCall(expr, declared)
    const args = (expr.target ? [expr.target, ...expr.args] : expr.args).map(arg => this.#typeOf(arg))
    const overloads: string[] = []
    let result: CelType | undefined
    for (const overload of declared.overloads) {
      if ((overload.member ?? false) !== (expr.target !== undefined) || overload.params.length !== args.length) continue
      if (!this.#env.settings.crossTypeNumericComparisons && isCrossTypeComparison(overload.id)) continue
      const type = this.#fitOverload(overload, args)
      if (!type) continue
      overloads.push(overload.id)
      if (!result) result = type
      else if (!isDyn(result) && !sameType(type, result)) result = dynType
    }
    if (result) this.references[expr.id] = { overloads }
    else this.#noOverload(expr, declared.name, args)
    return this.#typed(expr, result ?? errorType)
  }

  // The type of the result if the overload accepts the arguments.
  #fitOverload(overload: Overload, args: readonly CelType[]): CelType | undefined {
    const variables = new Map<string, CelType>()
    const instantiate = (type: CelType): CelType => {
      if (type.kind !== 'typeParam') return mapParams(type, instantiate)
      const known = variables.get(type.name)
      if (known) return known
      const fresh = this.#bindings.fresh()
      variables.set(type.name, fresh)
      return fresh
    }
    const result = instantiate(overload.result)
    const params = overload.params.map(instantiate)
    return this.#bindings.assignAll(args, params) ? this.#known(result) : undefined
  }

  #noOverload(expr: CallExpr, name: string, args: readonly CelType[]): void {
    this.#issue(expr, () => {
      const types = args.map(type => formatType(this.#bindings.substitute(type, 'dyn')))
      const signature = expr.target ? `${types[0]}.(${types.slice(1).join(', ')})` : `(${types.join(', ')})`
      return `found no matching overload for '${name}' applied to '${signature}'`
    })
  }

  #logicCall(expr: CallExpr, declared: FunctionDecl): Expr {
    this.references[expr.id] = { overloads: declared.overloads.slice(0, 1).map(overload => overload.id) }
    let type = boolType
    for (const arg of expr.args) {
      const found = this.#typeOf(arg)
      if (this.#bindings.assign(found, boolType)) continue
      this.#mismatch(arg, boolType, found)
      type = errorType
    }
    return this.#typed(expr, type)
  }

  #list(expr: ListExpr): Expr {
    const elements = this.#checkAll(expr.elements)
    let type: CelType | undefined
    elements.forEach((element, i) => {
      const found = this.#entryType(element, expr.optional.includes(i))
      type = this.#join(element, type, found)
    })
    const checked = elements === expr.elements ? expr : { ...expr, elements }
    return this.#typed(checked, this.#bounded(expr, listType(type ?? this.#bindings.fresh())))
  }

  #map(expr: MapExpr): Expr {
    let key: CelType | undefined
    let value: CelType | undefined
    const entries = expr.entries.map(entry => {
      const checkedKey = this.check(entry.key)
      key = this.#join(checkedKey, key, this.#typeOf(checkedKey))
      const checkedValue = this.check(entry.value)
      value = this.#join(checkedValue, value, this.#entryType(checkedValue, entry.optional))
      return { ...entry, key: checkedKey, value: checkedValue }
    })
    const type = mapType(key ?? this.#bindings.fresh(), value ?? this.#bindings.fresh())
    return this.#typed({ ...expr, entries }, this.#bounded(expr, type))
  }

  // The type that an entry adds; an entry with a question mark must be optional and adds the type of its value.
  #entryType(expr: Expr, optional: boolean): CelType {
    const type = this.#typeOf(expr)
    if (!optional) return type
    if (!isOptionalType(type) && !isDyn(type)) this.#mismatch(expr, optionalType(type), type)
    return unwrapOptional(type)
  }

  #join(expr: Expr, before: CelType | undefined, type: CelType): CelType {
    if (!before) return type
    if (this.#bindings.assign(before, type)) return mostGeneral(before, type)
    if (!this.#env.settings.homogeneousLiterals) return dynType
    this.#mismatch(expr, before, type)
    return errorType
  }

  #struct(expr: StructExpr): Expr {
    const found = this.#names.findType(expr.type)
    if (!found) {
      this.#undeclared(expr, expr.type)
      return this.#typed(expr, errorType)
    }
    this.references[expr.id] = { name: found.name }
    let { type } = found
    // Wrappers are constructed by their protobuf names, which their types do not have.
    const fieldsOf = type.kind === 'object' ? declaredName(type) : found.name
    if (type.kind !== 'object' && !isMessageType(type)) {
      this.#issue(expr, `'${declaredName(type)}' is not a message type`)
      type = errorType
    }
    this.#setType(expr, type)
    const fields = expr.fields.map(field => {
      const value = this.check(field.value)
      const declared = this.#declaredField(field, fieldsOf, field.name)
      const given = this.#entryType(value, field.optional)
      if (!this.#bindings.assign(declared, given)) {
        const message = `expected type of field '${field.name}' is '${formatType(declared)}' but provided type is '${formatType(given)}'`
        this.#issue(field, message)
      }
      return { ...field, value }
    })
    return { ...expr, type: found.name, fields }
  }

  #comprehension(expr: ComprehensionExpr): Expr {
    const iterRange = this.check(expr.iterRange)
    const accuInit = this.check(expr.accuInit)
    const accuType = this.#typeOf(accuInit)
    this.#names.enter(new Map([[expr.accuVar, accuType]]))
    this.#names.enter(this.#iterationTypes(expr, iterRange))
    const loopCondition = this.check(expr.loopCondition)
    this.#assert(loopCondition, boolType)
    const loopStep = this.check(expr.loopStep)
    this.#assert(loopStep, accuType)
    this.#names.leave()
    const result = this.check(expr.result)
    this.#names.leave()
    return this.#typed({ ...expr, iterRange, accuInit, loopCondition, loopStep, result }, this.#known(this.#typeOf(result)))
  }

  #iterationTypes(expr: ComprehensionExpr, iterRange: Expr): Map<string, CelType> {
    const range = this.#known(this.#typeOf(iterRange))
    let first = dynType
    let second = dynType
    switch (range.kind) {
      case 'list':
        first = expr.iterVar2 === undefined ? range.params[0]! : intType
        second = range.params[0]!
        break
      case 'map':
        first = range.params[0]!
        second = range.params[1]!
        break
      case 'dyn':
      case 'error':
      case 'typeParam':
        this.#bindings.assign(dynType, range)
        break
      default:
        this.#issue(
          iterRange,
          `expression of type '${formatType(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
        )
        first = errorType
        second = errorType
    }
    const variables = new Map([[expr.iterVar, first]])
    if (expr.iterVar2 !== undefined) variables.set(expr.iterVar2, second)
    return variables
  }

  #assert(expr: Expr, type: CelType): void {
    const found = this.#typeOf(expr)
    if (!this.#bindings.assign(type, found)) this.#mismatch(expr, type, found)
  }

  #checkAll(exprs: readonly Expr[]): readonly Expr[] {
    const checked = exprs.map(expr => this.check(expr))
    return checked.every((expr, i) => expr === exprs[i]) ? exprs : checked
  }

  #typeOf(expr: Expr): CelType {
    return this.#types[expr.id]!
  }

  #setType(expr: Expr, type: CelType): void {
    this.#types[expr.id] = type
  }

  #typed<T extends Expr>(expr: T, type: CelType): T {
    this.#types[expr.id] = type
    return expr
  }

  #known(type: CelType): CelType {
    return this.#bindings.substitute(type, 'keep')
  }

  #bounded(expr: Expr, type: CelType): CelType {
    if (this.#sizes.of(type) <= MAX_TYPE_SIZE) return type
    this.#issue(expr, 'type of expression is too large')
    return errorType
  }

  #mismatch(expr: Expr, expected: CelType, found: CelType): void {
    this.#issue(expr, () => `expected type '${formatType(expected)}' but found '${formatType(found)}'`)
  }

  #undeclared(expr: Expr, name: string): void {
    this.#issue(expr, `undeclared reference to '${name}' (in container '${this.#env.settings.container}')`)
  }

  // Only so many issues are reported: the messages of the others, which types can make long, are not built.
  #issue({ offset }: { offset: number }, message: string | (() => string)): void {
    if (this.issues.length >= MAX_ISSUES) this.issues.push({ location: nowhere, message: '' })
    else this.issues.push({ location: this.#parsed.source.locate(offset), message: typeof message === 'string' ? message : message() })
  }
}
