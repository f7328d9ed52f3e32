/** Types with fields of limited size: environments declare variables with them, and cost estimates use them. */

import { type CostNode, type Range, UNLIMITED } from '../checker/cost-range.ts'
import type { Library } from '../checker/library.ts'
import { type CelType, listType, mapType, objectType } from '../checker/types.ts'

export interface SizedType {
  readonly type: CelType
  /** The maximum number of characters, elements or entries; -1 is unlimited, 0 for types without a size. */
  readonly maxElements: number
  readonly key?: SizedType
  readonly element?: SizedType
  readonly fields?: ReadonlyMap<string, SizedType>
}

/** A type with values of at most some size. */
export const sized = (type: CelType, maxElements = 0): SizedType => ({ type, maxElements })

export const sizedList = (element: SizedType, maxElements = -1): SizedType => ({ type: listType(element.type), maxElements, element })

export const sizedMap = (key: SizedType, element: SizedType, maxElements = -1): SizedType => ({
  type: mapType(key.type, element.type),
  maxElements,
  key,
  element,
})

/** A named type with fields. */
export const sizedObject = (name: string, fields: Readonly<Record<string, SizedType>>): SizedType => ({
  type: objectType(name),
  maxElements: 0,
  fields: new Map(Object.entries(fields)),
})

/** The types of fields, and recursively of their fields, by name. */
export function sizedTypesLibrary(...roots: readonly SizedType[]): Library {
  const known = new Map<string, SizedType>()
  for (const root of roots) gather(root, known)
  return {
    types: {
      findType: name => known.get(name)?.type,
      findField: (type, field) => known.get(type)?.fields?.get(field)?.type,
    },
  }
}

function gather(root: SizedType, known: Map<string, SizedType>): void {
  if (root.fields) {
    if (known.has(root.type.name)) return
    known.set(root.type.name, root)
  }
  for (const part of [root.key, root.element, ...(root.fields?.values() ?? [])]) if (part) gather(part, known)
}

/** Finds sizes by path from a variable. `ofMapField` returns the type of a field that is a key of a map. */
export function sizesOf(
  variables: Pick<ReadonlyMap<string, SizedType>, 'get'>,
  ofMapField: (map: SizedType) => SizedType | undefined = () => undefined,
): (node: CostNode) => Range | undefined {
  return ({ path }) => {
    const [variable, ...steps] = path ?? []
    let current = variable === undefined ? undefined : variables.get(variable)
    for (const step of steps) {
      if (!current) return undefined
      if (step === '@items' || step === '@values') current = current.element
      else if (step === '@keys') current = current.key
      else current = current.fields?.get(step) ?? ofMapField(current)
    }
    if (!current) return undefined
    return { min: 0n, max: current.maxElements < 0 ? UNLIMITED : BigInt(current.maxElements) }
  }
}
