/** An environment: the names, functions, types and macros that an expression may use. */

import type { Grammar, Macro } from '../syntax/grammar.ts'
import type { FunctionDecl, Library, Overload, TypeProvider, VariableDecl } from './library.ts'

export interface EnvSettings extends Partial<Grammar['settings']> {
  /** The namespace in which names are looked up first. */
  readonly container?: string
  /** Lists and maps must be of one type each; otherwise mixed ones have elements of type dyn. */
  readonly homogeneousLiterals?: boolean
  /** Allows `1 < 2.0` and the like. */
  readonly crossTypeNumericComparisons?: boolean
}

/** A set of declarations for parsing and checking; it is immutable, and extending one costs only as much as is added. */
export interface Env extends Grammar {
  readonly settings: Required<EnvSettings>
  findVariable(name: string): VariableDecl | undefined
  findFunction(name: string): FunctionDecl | undefined
  findOverload(id: string): Overload | undefined
  readonly types: TypeProvider
}

const defaults: Required<EnvSettings> = {
  container: '',
  homogeneousLiterals: false,
  crossTypeNumericComparisons: false,
  variadicLogic: false,
  maxSourceLength: 100_000,
  maxDepth: 250,
  maxNodes: 150_000,
}

/**
 * An environment of the given libraries; a function in several libraries has the overloads of all, later ones replacing those with the same
 * id.
 */
export function createEnv(libraries: readonly Library[], settings: EnvSettings = {}): Env {
  return layer(undefined, libraries, { ...defaults, ...settings })
}

/** The environment with more libraries, and with the given settings. */
export function extendEnv(base: Env, libraries: readonly Library[], settings: EnvSettings = {}): Env {
  return layer(base, libraries, { ...base.settings, ...settings })
}

function layer(base: Env | undefined, libraries: readonly Library[], settings: Required<EnvSettings>): Env {
  const variables = new Map<string, VariableDecl>()
  const functions = new Map<string, FunctionDecl>()
  const overloads = new Map<string, Overload>()
  const macros = new Map<string, Macro>()
  for (const library of libraries) {
    for (const variable of library.variables ?? []) variables.set(variable.name, variable)
    for (const declared of library.functions ?? []) {
      const before = functions.get(declared.name) ?? base?.findFunction(declared.name)
      functions.set(declared.name, before ? mergeFunctions(before, declared) : declared)
      for (const overload of declared.overloads) overloads.set(overload.id, overload)
    }
    for (const macro of library.macros ?? []) macros.set(macroKey(macro.function, macro.args, macro.receiver), macro)
  }
  return {
    settings,
    optionalSyntax: libraries.some(library => library.optionalSyntax) || (base?.optionalSyntax ?? false),
    findVariable: name => variables.get(name) ?? base?.findVariable(name),
    findFunction: name => functions.get(name) ?? base?.findFunction(name),
    findOverload: id => overloads.get(id) ?? base?.findOverload(id),
    findMacro: (name, args, receiver) =>
      macros.get(macroKey(name, args, receiver)) ??
      macros.get(macroKey(name, undefined, receiver)) ??
      base?.findMacro(name, args, receiver),
    types: joinProviders([...libraries.flatMap(library => library.types ?? []), ...(base ? [base.types] : [])]),
  }
}

function mergeFunctions(before: FunctionDecl, added: FunctionDecl): FunctionDecl {
  const overloads = new Map(before.overloads.map(overload => [overload.id, overload]))
  for (const overload of added.overloads) overloads.set(overload.id, overload)
  return { name: before.name, overloads: [...overloads.values()] }
}

const macroKey = (name: string, args: number | undefined, receiver: boolean): string => `${name}:${args ?? '*'}:${receiver}`

function joinProviders(providers: readonly TypeProvider[]): TypeProvider {
  if (providers.length === 1) return providers[0]!
  const first = <T>(find: (provider: TypeProvider) => T | undefined): T | undefined => {
    for (const provider of providers) {
      const found = find(provider)
      if (found !== undefined) return found
    }
    return undefined
  }
  return {
    findType: name => first(provider => provider.findType(name)),
    findField: (type, field) => first(provider => provider.findField(type, field)),
    findConstant: name => first(provider => provider.findConstant?.(name)),
    construct: (type, fields) => first(provider => provider.construct?.(type, fields)),
  }
}
