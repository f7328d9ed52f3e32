/** Types as plain data: declarations hold functions, which cannot be sent to a worker. */
import type { AnyType, Shape } from '../schema/types.ts'

/** As much of a type as reading protobuf needs, as plain data that can be sent to a worker. */
export function portableType(type: AnyType): AnyType {
  const copies = new Map<Shape, object>()
  const copyShape = (shape: Shape): object => {
    const known = copies.get(shape)
    if (known) return known
    // Known before it is complete: types may refer to themselves.
    const made = { kind: shape.kind }
    copies.set(shape, made)
    return Object.assign(made, contentOf(shape, copy))
  }
  const copy = ({ shape, flags: { optional, always, orEmpty } }: AnyType) => ({
    shape: copyShape(shape),
    flags: { ...(optional && { optional }), ...(always && { always }), ...(orEmpty && { orEmpty }) },
  })
  return copy(type) as AnyType
}

function contentOf(shape: Shape, copy: (type: AnyType) => object): object {
  switch (shape.kind) {
    case 'scalar':
      return { name: shape.name }
    case 'list':
      return { item: copy(shape.item) }
    case 'map':
      return { value: copy(shape.value) }
    case 'message':
      return {
        name: shape.name,
        fields: Object.fromEntries(Object.entries(shape.fields).map(([name, [wire, type]]) => [name, [wire, copy(type)]])),
      }
    case 'either': {
      const { name, object, list, bool } = shape
      const alternatives = Object.entries({ object, list, bool }).filter(([, alternative]) => alternative !== undefined)
      return { name, ...Object.fromEntries(alternatives.map(([field, alternative]) => [field, [alternative![0], copy(alternative![1])]])) }
    }
  }
}
