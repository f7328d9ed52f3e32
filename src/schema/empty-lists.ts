/**
 * Empty lists and maps that are always written. Records of kube-apiserver do not distinguish them from absent ones, so that every object it
 * has stored has null there: `rules: []` is returned as `rules: null`. Before that, the sender owns the field.
 */
import type { AnyType, MessageShape } from './types.ts'

/** Replaces them by null in an object. */
export function nullEmptyLists(type: AnyType, object: object): void {
  visit(type, object)
}

function visit({ shape }: AnyType, value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  if (shape.kind === 'list' && Array.isArray(value)) for (const item of value) visit(shape.item, item)
  else if (shape.kind === 'map') for (const key of Object.keys(value)) visit(shape.value, (value as Record<string, unknown>)[key])
  else if (shape.kind === 'message') visitMessage(shape, value as Record<string, unknown>)
}

function visitMessage(shape: MessageShape, value: Record<string, unknown>): void {
  for (const { name, type, isNulled, leads } of fieldsOf(shape)) {
    const field = value[name]
    if (typeof field !== 'object' || field === null) continue
    if (isNulled && isEmpty(field)) value[name] = null
    else if (leads) visit(type, field)
  }
}

const isEmpty = (field: object): boolean => (Array.isArray(field) ? field.length === 0 : Object.keys(field).length === 0)

type Field = {
  readonly name: string
  readonly type: AnyType
  readonly isNulled: boolean
  /** Whether there are such fields below. */
  readonly leads: boolean
}

const known = new WeakMap<MessageShape, readonly Field[]>()

/** The fields of a message that have to be visited. */
function fieldsOf(shape: MessageShape): readonly Field[] {
  let fields = known.get(shape)
  if (!fields) known.set(shape, (fields = findFields(shape)))
  return fields
}

function findFields({ fields }: MessageShape): readonly Field[] {
  return Object.entries(fields)
    .map(([name, [, type]]) => ({ name, type, isNulled: isNulled(type), leads: leadsTo(insideOf(type), new Set()) }))
    .filter(({ isNulled, leads }) => isNulled || leads)
}

const isNulled = ({ shape, flags }: AnyType): boolean =>
  (shape.kind === 'list' || shape.kind === 'map') && flags.always === true && flags.optional !== true

/** The message type of a field, or of its elements. */
function insideOf({ shape }: AnyType): MessageShape | undefined {
  if (shape.kind === 'message') return shape
  if (shape.kind === 'list') return insideOf(shape.item)
  return shape.kind === 'map' ? insideOf(shape.value) : undefined
}

function leadsTo(shape: MessageShape | undefined, seen: Set<MessageShape>): boolean {
  if (!shape || seen.has(shape)) return false
  seen.add(shape)
  return Object.values(shape.fields).some(([, type]) => isNulled(type) || leadsTo(insideOf(type), seen))
}
