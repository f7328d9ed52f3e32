/** The declared types of the parts of a value, for codecs that go through value and type side by side; undefined where none is declared. */
import type { AnyType, ScalarName } from '../schema/types.ts'

type MaybeType = AnyType | undefined

export const isScalarOf = (type: MaybeType, name: ScalarName): boolean => type?.shape.kind === 'scalar' && type.shape.name === name

/** The type of the elements of a list. */
export function elementOf(type: MaybeType): MaybeType {
  const list = type?.shape.kind === 'either' ? type.shape.list?.[1] : type
  return list?.shape.kind === 'list' ? list.shape.item : undefined
}

/** The type of an object, where a field may also be something else. */
export const objectOf = (type: MaybeType): MaybeType => (type?.shape.kind === 'either' ? type.shape.object[1] : type)

/** The type of a member of an object. */
export function memberOf(type: MaybeType, key: string): MaybeType {
  if (type === undefined) return undefined
  const { shape } = type
  if (shape.kind === 'map') return shape.value
  if (shape.kind !== 'message') return undefined
  return Object.hasOwn(shape.fields, key) ? shape.fields[key]![1] : shape.others
}
