/** Resolves names in an environment, and inside the comprehensions of an expression. */

import type { Constant } from '../syntax/ast.ts'
import { candidateNames } from './container.ts'
import type { Env } from './env.ts'
import type { FunctionDecl, VariableDecl } from './library.ts'
import { boolType, bytesType, type CelType, doubleType, intType, nullType, stringType, typeTypeOf, uintType } from './types.ts'

/** The types of literals. */
export const constantTypes: Readonly<Record<Constant['type'], CelType>> = {
  null: nullType,
  bool: boolType,
  int: intType,
  uint: uintType,
  double: doubleType,
  string: stringType,
  bytes: bytesType,
}

export interface Resolved {
  readonly variable: VariableDecl
  /** A variable of a comprehension has the same name, so the full name keeps its leading dot. */
  readonly shadowed: boolean
}

/** The variables of a comprehension, innermost first. */
interface Scope {
  readonly parent: Scope | undefined
  readonly variables: ReadonlyMap<string, CelType>
}

/** The names in scope at one position of an expression. */
export class Names {
  readonly #env: Env
  #scope: Scope | undefined

  constructor(env: Env) {
    this.#env = env
  }

  /** Enters a scope whose variables hide others of their names. */
  enter(variables: ReadonlyMap<string, CelType>): void {
    this.#scope = { parent: this.#scope, variables }
  }

  /** Leaves the innermost scope. */
  leave(): void {
    this.#scope = this.#scope?.parent
  }

  /** Resolves a qualified name: a variable of a comprehension, one of the environment, a type or a constant. */
  resolve(names: readonly string[]): Resolved | undefined {
    const local = this.#localType(names[0]!)
    if (local) return names.length === 1 ? { variable: { name: names[0]!, type: local }, shadowed: false } : undefined
    const name = names.join('.')
    const shadowed = name.startsWith('.') && this.#localType(names[0]!.slice(1)) !== undefined
    const variable = this.#firstOf(name, candidate => this.#findGlobal(candidate))
    return variable && { variable, shadowed }
  }

  /** The type of that name, and its full name. */
  findType(name: string): { name: string; type: CelType } | undefined {
    return this.#firstOf(name, candidate => {
      const type = this.#env.types.findType(candidate)
      return type && { name: candidate, type }
    })
  }

  findFunction(name: string): FunctionDecl | undefined {
    return this.#firstOf(name, candidate => this.#env.findFunction(candidate))
  }

  #firstOf<T>(name: string, find: (candidate: string) => T | undefined): T | undefined {
    for (const candidate of candidateNames(this.#env.settings.container, name)) {
      const found = find(candidate)
      if (found) return found
    }
    return undefined
  }

  #localType(name: string): CelType | undefined {
    for (let scope = this.#scope; scope; scope = scope.parent) {
      const type = scope.variables.get(name)
      if (type) return type
    }
    return undefined
  }

  #findGlobal(name: string): VariableDecl | undefined {
    const variable = this.#env.findVariable(name)
    if (variable) return variable
    const type = this.#env.types.findType(name)
    if (type) return { name, type: typeTypeOf(type) }
    const value = this.#env.types.findConstant?.(name)
    return value && { name, type: constantTypes[value.type], value }
  }
}
