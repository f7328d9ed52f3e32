// Objects that kubectl applied from the client's side carry their last configuration in an annotation; a server-side apply takes over from it.
import { parseJson } from '../codec/json.ts'
import { goJson } from '../lib/go-text.ts'
import { getOwn, isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import type { AnyType } from '../schema/types.ts'
import { compare } from './compare.ts'
import { difference, type FieldSet } from './field-set.ts'
import { typedErrors } from './typed-errors.ts'
import { fieldSetOf } from './typed-sets.ts'

/** Only this manager takes over; others must settle conflicts themselves. */
export const KUBECTL = 'kubectl'
const ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration'
const MAX_ANNOTATIONS_BYTES = 256 * 1024

/** The fields that the object holds as its last configuration set them, so that kubectl may take them without a conflict. */
export function lastAppliedFields(type: AnyType, live: JsonObject, apiVersion: string): FieldSet | undefined {
  const text = lastAppliedOf(live)
  if (text === undefined) return undefined
  let last: Json
  try {
    last = parseJson(text).value
  } catch {
    return undefined
  }
  if (!isObject(last) || last['apiVersion'] !== apiVersion || typedErrors(type, last).length > 0) return undefined
  const { added, modified, removed } = compare(type, last, live)
  return difference(difference(difference(fieldSetOf(type, last), modified), added), removed)
}

/** The object with its annotation set to the configuration that was applied just now, if it has one at all. */
export function withLastApplied(object: JsonObject, applied: JsonObject): JsonObject {
  if (lastAppliedOf(object) === undefined) return object
  const metadata = object['metadata'] as JsonObject
  const annotations: JsonObject = { ...(metadata['annotations'] as JsonObject), [ANNOTATION]: configurationText(applied) }
  if (sizeOf(annotations) > MAX_ANNOTATIONS_BYTES) delete annotations[ANNOTATION]
  return { ...object, metadata: { ...metadata, annotations } }
}

function lastAppliedOf(object: JsonObject): string | undefined {
  const text = getOwn(annotationsOf(object) ?? {}, ANNOTATION)
  return typeof text === 'string' && text !== '' ? text : undefined
}

function annotationsOf(object: JsonObject): JsonObject | undefined {
  const metadata = object['metadata']
  const annotations = isObject(metadata) ? metadata['annotations'] : undefined
  return isObject(annotations) ? annotations : undefined
}

function configurationText(applied: JsonObject): string {
  const annotations = annotationsOf(applied)
  if (annotations === undefined) return `${goJson(applied)}\n`
  const { [ANNOTATION]: _, ...rest } = annotations
  return `${goJson({ ...applied, metadata: { ...(applied['metadata'] as JsonObject), annotations: rest } })}\n`
}

function sizeOf(annotations: JsonObject): number {
  let bytes = 0
  for (const key of Object.keys(annotations)) bytes += Buffer.byteLength(key) + Buffer.byteLength(String(annotations[key]))
  return bytes
}
