/** Unifies types: decides whether they fit, and binds their type variables. */

import { type CelType, dynType, isAssignableType, isDyn, isDynOrError, sameType } from './types.ts'

/** The bindings of type variables so far. A failed comparison leaves them unchanged. */
export class TypeBindings {
  readonly #bound = new Map<string, CelType>()
  // The bindings to restore when a comparison fails midway.
  readonly #trail: { name: string; before: CelType | undefined }[] = []
  #variables = 0

  /** An unbound type variable. */
  fresh(): CelType {
    return { kind: 'typeParam', name: `_var${this.#variables++}`, params: [], nullable: false }
  }

  /** Whether `from` can be used where `to` is expected; binds variables as needed. */
  assign(from: CelType, to: CelType): boolean {
    return this.assignAll([from], [to])
  }

  /** Whether all of `from` can be used where all of `to` are expected, under one binding of variables. */
  assignAll(from: readonly CelType[], to: readonly CelType[]): boolean {
    this.#trail.length = 0
    if (this.#assignableList(from, to)) return true
    for (let entry = this.#trail.pop(); entry; entry = this.#trail.pop()) {
      if (entry.before) this.#bound.set(entry.name, entry.before)
      else this.#bound.delete(entry.name)
    }
    return false
  }

  /** Replaces type variables by their final bindings, unbound ones by dyn. */
  finish(): (type: CelType) => CelType {
    // Types share their parts: each is replaced once.
    const done = new Map<CelType, CelType>()
    const finish = (type: CelType): CelType => {
      const known = done.get(type)
      if (known) return known
      const bound = type.kind === 'typeParam' ? this.#bound.get(type.name) : undefined
      const final = bound ? finish(bound) : type.kind === 'typeParam' ? dynType : mapParams(type, finish)
      done.set(type, final)
      return final
    }
    return finish
  }

  /** The type with its bound variables replaced; the others stay, or become dyn. */
  substitute(type: CelType, unbound: 'keep' | 'dyn'): CelType {
    if (type.kind === 'typeParam') {
      const bound = this.#bound.get(type.name)
      if (bound) return this.substitute(bound, unbound)
      return unbound === 'dyn' ? dynType : type
    }
    return mapParams(type, param => this.substitute(param, unbound))
  }

  #bind(name: string, type: CelType): void {
    this.#trail.push({ name, before: this.#bound.get(name) })
    this.#bound.set(name, type)
  }

  #assignableList(from: readonly CelType[], to: readonly CelType[]): boolean {
    return from.length === to.length && from.every((type, i) => this.#assignable(type, to[i]!))
  }

  #assignable(a: CelType, b: CelType): boolean {
    if (a === b) return true
    if (b.kind === 'typeParam') {
      const { valid, known } = this.#substitution(a, b)
      if (valid) return true
      if (known) return false
    }
    if (a.kind === 'typeParam') return this.#substitution(b, a).valid
    if (isDynOrError(a) || isDynOrError(b)) return true
    if (a.kind === 'null') return isNullable(b)
    if (b.kind === 'null') return isNullable(a)
    switch (a.kind) {
      case 'type':
        return b.kind === 'type'
      case 'opaque':
      case 'list':
      case 'map':
        return a.kind === b.kind && a.name === b.name && this.#assignableList(a.params, b.params)
    }
    return isAssignableType(b, a)
  }

  // Whether `variable` may be bound to `type`, and whether it was bound before.
  #substitution(type: CelType, variable: CelType): { valid: boolean; known: boolean } {
    if (sameType(type, variable)) return { valid: true, known: true }
    const bound = this.#bound.get(variable.name)
    if (bound) {
      if (sameType(type, bound)) return { valid: true, known: true }
      if (!this.#assignable(type, bound)) return { valid: false, known: true }
      const general = mostGeneral(type, bound)
      if (!this.#occurs(variable, general)) this.#bind(variable.name, general)
      return { valid: true, known: true }
    }
    if (this.#occurs(variable, type)) return { valid: false, known: false }
    this.#bind(variable.name, type)
    return { valid: true, known: false }
  }

  #occurs(variable: CelType, within: CelType): boolean {
    if (sameType(variable, within)) return true
    if (within.kind === 'typeParam') {
      const bound = this.#bound.get(within.name)
      return bound !== undefined && this.#occurs(variable, bound)
    }
    return within.params.some(param => this.#occurs(variable, param))
  }
}

/** The number of parts of types, memoized: counting shared parts repeatedly would take exponential time. */
export class TypeSizes {
  readonly #known = new WeakMap<CelType, number>()

  of(type: CelType): number {
    if (type.params.length === 0) return 1
    const known = this.#known.get(type)
    if (known !== undefined) return known
    const size = type.params.reduce((sum, param) => sum + this.of(param), 1)
    this.#known.set(type, size)
    return size
  }
}

/** The type with its parameters replaced; itself when none changed. */
export function mapParams(type: CelType, replace: (param: CelType) => CelType): CelType {
  if (type.params.length === 0) return type
  let changed = false
  const params = type.params.map(param => {
    const replaced = replace(param)
    if (replaced !== param) changed = true
    return replaced
  })
  return changed ? { ...type, params } : type
}

/** The less specific of two types that fit each other. */
export const mostGeneral = (a: CelType, b: CelType): CelType => (isAsGeneral(a, b) ? a : b)

function isAsGeneral(a: CelType, b: CelType): boolean {
  if (a === b || isDyn(a) || a.kind === 'typeParam') return true
  if (isDyn(b) || b.kind === 'typeParam' || a.kind !== b.kind) return false
  switch (a.kind) {
    case 'type':
      return true
    case 'opaque':
    case 'list':
    case 'map':
      return a.name === b.name && a.params.length === b.params.length && a.params.every((param, i) => isAsGeneral(param, b.params[i]!))
  }
  return sameType(a, b)
}

// Objects, times and opaque values may be compared with null although null is not one of their values.
const nullComparable = new Set(['opaque', 'object', 'any', 'duration', 'timestamp', 'null', 'dyn'])

const isNullable = (type: CelType): boolean => type.nullable || nullComparable.has(type.kind)
