/** The fields of a message by their protobuf numbers, embedded messages as the groups of fields they are on the wire. */
import type { AnyType, MessageShape, Wire } from '../schema/types.ts'

/** The content of a field number: one field, or an embedded message whose fields JSON writes beside the others. */
export type WireField =
  | { readonly number: number; readonly name: string; readonly type: AnyType }
  | { readonly number: number; readonly embedded: readonly WireField[] }

/** In ascending order. Fields that are not on the wire are left out: kind and version travel in the envelope. */
export function wireFieldsOf({ fields }: MessageShape): WireField[] {
  return grouped(Object.entries(fields).map(([name, [wire, type]]) => ({ wire, name, type })))
}

/** Whether objects of the type can be protobuf: those of kinds that clients defined have no numbers. */
export function hasProtobuf({ shape }: AnyType): boolean {
  if (shape.kind !== 'message') return false
  for (const name in shape.fields) if (shape.fields[name]![0] === 0 && !ENVELOPE.has(name)) return false
  return true
}
const ENVELOPE: ReadonlySet<string> = new Set(['kind', 'apiVersion'])

type Declared = { readonly wire: Wire; readonly name: string; readonly type: AnyType }

function grouped(declared: readonly Declared[]): WireField[] {
  const fields: WireField[] = []
  const embedded = new Map<number, Declared[]>()
  for (const { wire, name, type } of declared) {
    if (typeof wire === 'number') {
      if (wire !== 0) fields.push({ number: wire, name, type })
      continue
    }
    const [outer, inner] = wire
    const group = embedded.get(outer)
    if (group) group.push({ wire: inner, name, type })
    else embedded.set(outer, [{ wire: inner, name, type }])
  }
  for (const [number, group] of embedded) fields.push({ number, embedded: grouped(group) })
  return fields.sort((a, b) => a.number - b.number)
}
