/** The macros of CEL: presence tests and comprehensions over one or two variables, bindings, and maps of optional values. */

import { accumulator, type Expr } from './ast.ts'
import type { ExpandMacro, Macro, MacroFactory, MacroProblem } from './grammar.ts'
import { mapInsert, operators } from './operators.ts'

/** The macros of the standard library: has, all, exists, exists_one, map, filter. */
export function standardMacros(): Macro[] {
  return [
    { function: 'has', args: 1, receiver: false, expand: expandHas },
    quantified('all', 2, all),
    quantified('exists', 2, exists),
    quantified('exists_one', 2, existsOne),
    { function: 'map', args: 2, receiver: true, expand: expandMap },
    { function: 'map', args: 3, receiver: true, expand: expandMap },
    { function: 'filter', args: 2, receiver: true, expand: expandFilter },
  ]
}

/** The two-variable macros: index and element of a list, key and value of a map. They need mapInsertDeclarations. */
export function twoVariableMacros(): Macro[] {
  const transforms = (name: string, gather: Gather): Macro[] =>
    [3, 4].map(args => ({ function: name, args, receiver: true, expand: transform(gather) }))
  return [
    quantified('all', 3, all),
    quantified('exists', 3, exists),
    quantified('existsOne', 3, existsOne),
    quantified('exists_one', 3, existsOne),
    ...transforms('transformList', gatherList),
    ...transforms('transformMap', gatherMap),
    ...transforms('transformMapEntry', gatherEntries),
  ]
}

/** `cel.bind(name, value, expression)`. */
export function bindMacros(): Macro[] {
  return [{ function: 'bind', args: 3, receiver: true, expand: expandBind }]
}

/** optMap and optFlatMap, which need the functions on optional values. */
export function optionalMacros(): Macro[] {
  return [
    { function: 'optMap', args: 2, receiver: true, expand: optionalMap('optMap') },
    { function: 'optFlatMap', args: 2, receiver: true, expand: optionalMap('optFlatMap') },
  ]
}

/** The library of `cel.bind`. */
export const bindLibrary = (): { readonly macros: readonly Macro[] } => ({ macros: bindMacros() })

const unusedIterVar = '#unused'
// The former name of the accumulator, when it could still be written; it stays forbidden.
const oldAccumulator = '__result__'

const simpleName = 'argument must be a simple name'
const overwrites = 'iteration variable overwrites accumulator variable'
const isAccumulator = (name: string): boolean => name === accumulator || name === oldAccumulator

const expandHas: ExpandMacro = (make, _target, [arg]) =>
  arg!.kind === 'select' ? make.presenceTest(arg!.operand, arg!.field) : { at: arg!, problem: 'invalid argument to has() macro' }

/** The parts of a quantifier; built in this order, which determines the ids of its nodes. */
type Quantifier = (make: MacroFactory, predicate: Expr) => { accuInit: Expr; loopCondition: Expr; loopStep: Expr; result: Expr }

const all: Quantifier = (make, predicate) => ({
  accuInit: make.literal({ type: 'bool', value: true }),
  loopCondition: make.call(operators.notStrictlyFalse, make.accumulator()),
  loopStep: make.call(operators.and, make.accumulator(), predicate),
  result: make.accumulator(),
})

const exists: Quantifier = (make, predicate) => ({
  accuInit: make.literal({ type: 'bool', value: false }),
  loopCondition: make.call(operators.notStrictlyFalse, make.call(operators.not, make.accumulator())),
  loopStep: make.call(operators.or, make.accumulator(), predicate),
  result: make.accumulator(),
})

const existsOne: Quantifier = (make, predicate) => {
  const one = () => make.literal({ type: 'int', value: 1n })
  return {
    accuInit: make.literal({ type: 'int', value: 0n }),
    loopCondition: make.literal({ type: 'bool', value: true }),
    loopStep: make.call(operators.conditional, predicate, make.call(operators.add, make.accumulator(), one()), make.accumulator()),
    result: make.call(operators.equals, make.accumulator(), one()),
  }
}

function quantified(name: string, args: 2 | 3, quantifier: Quantifier): Macro {
  const expand: ExpandMacro = (make, target, given) => {
    const variables = iterationVariables(given.slice(0, args - 1))
    if ('problem' in variables) return variables
    return make.comprehension({ iterRange: target!, ...variables, ...quantifier(make, given[args - 1]!) })
  }
  return { function: name, args, receiver: true, expand }
}

function iterationVariables(args: readonly Expr[]): { iterVar: string; iterVar2?: string } | MacroProblem {
  const names: string[] = []
  for (const arg of args) {
    if (arg.kind !== 'ident') return { at: arg, problem: simpleName }
    names.push(arg.name)
  }
  const [iterVar, iterVar2] = names
  if (iterVar === iterVar2) return { at: args[1]!, problem: `duplicate variable name: ${iterVar}` }
  const taken = args.find((_, i) => isAccumulator(names[i]!))
  if (taken) return { at: taken, problem: overwrites }
  return iterVar2 === undefined ? { iterVar: iterVar! } : { iterVar: iterVar!, iterVar2 }
}

const expandMap: ExpandMacro = (make, target, args) => {
  const variable = args[0]!
  if (variable.kind !== 'ident') return { at: variable, problem: 'argument is not an identifier' }
  if (isAccumulator(variable.name)) return { at: variable, problem: overwrites }
  const filter = args.length === 3 ? args[1] : undefined
  return gatheredList(make, target!, variable.name, { filter, element: args.at(-1)! })
}

const expandFilter: ExpandMacro = (make, target, [variable, filter]) => {
  if (variable!.kind !== 'ident') return { at: variable!, problem: 'argument is not an identifier' }
  if (isAccumulator(variable!.name)) return { at: variable!, problem: overwrites }
  return gatheredList(make, target!, variable!.name, { filter, element: variable! })
}

function gatheredList(
  make: MacroFactory,
  iterRange: Expr,
  iterVar: string,
  { filter, element }: { filter: Expr | undefined; element: Expr },
): Expr {
  const accuInit = make.list()
  const loopCondition = make.literal({ type: 'bool', value: true })
  const added = make.call(operators.add, make.accumulator(), make.list(element))
  const loopStep = filter ? make.call(operators.conditional, filter, added, make.accumulator()) : added
  return make.comprehension({ iterRange, iterVar, accuInit, loopCondition, loopStep, result: make.accumulator() })
}

/** The accumulation of a transformation: its initial value and its step. */
interface Gather {
  readonly empty: (make: MacroFactory) => Expr
  readonly step: (make: MacroFactory, iterVar: string, element: Expr) => Expr
}

const gatherList: Gather = {
  empty: make => make.list(),
  step: (make, _, element) => make.call(operators.add, make.accumulator(), make.list(element)),
}
const gatherMap: Gather = {
  empty: make => make.map(),
  step: (make, iterVar, element) => make.call(mapInsert, make.accumulator(), make.ident(iterVar), element),
}
const gatherEntries: Gather = {
  empty: make => make.map(),
  step: (make, _, element) => make.call(mapInsert, make.accumulator(), element),
}

function transform(gather: Gather): ExpandMacro {
  return (make, target, args) => {
    const variables = iterationVariables(args.slice(0, 2))
    if ('problem' in variables) return variables
    const filter = args.length === 4 ? args[2] : undefined
    const step = gather.step(make, variables.iterVar, args.at(-1)!)
    const loopStep = filter ? make.call(operators.conditional, filter, step, make.accumulator()) : step
    return make.comprehension({
      iterRange: target!,
      ...variables,
      accuInit: gather.empty(make),
      loopCondition: make.literal({ type: 'bool', value: true }),
      loopStep,
      result: make.accumulator(),
    })
  }
}

const expandBind: ExpandMacro = (make, target, [variable, value, body]) => {
  if (target!.kind !== 'ident' || target!.name !== 'cel') return undefined
  if (variable!.kind !== 'ident') return { at: variable!, problem: 'cel.bind() variable names must be simple identifiers' }
  return binding(make, variable!.name, () => value!, body!)
}

// A loop over nothing: the accumulator is the variable.
const binding = (make: MacroFactory, name: string, value: () => Expr, body: Expr): Expr =>
  make.comprehension({
    iterRange: make.list(),
    iterVar: unusedIterVar,
    accuVar: name,
    accuInit: value(),
    loopCondition: make.literal({ type: 'bool', value: false }),
    loopStep: make.ident(name),
    result: body,
  })

function optionalMap(name: 'optMap' | 'optFlatMap'): ExpandMacro {
  return (make, target, [variable, body]) => {
    if (variable!.kind !== 'ident') return { at: variable!, problem: `${name}() variable name must be a simple identifier` }
    const hasValue = make.memberCall('hasValue', target!)
    const bound = binding(make, variable!.name, () => make.memberCall('value', make.copy(target!)), body!)
    const mapped = name === 'optMap' ? make.call('optional.of', bound) : bound
    return make.call(operators.conditional, hasValue, mapped, make.call('optional.none'))
  }
}
