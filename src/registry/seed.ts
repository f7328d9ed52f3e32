/** Objects of the server itself, stored as creates would store them, but many at once and without checks that are known to hold. */
import type { Caches } from '../cache/caches.ts'
import { encodeStored } from '../codec/stored-bytes.ts'
import { isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import { timestampOf } from '../lib/time.ts'
import { emptyValueOf } from '../patch/structure.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { keyOf, type Resource } from '../schema/resource.ts'
import type { AnyType } from '../schema/types.ts'

export type Seeding = {
  readonly caches: Caches
  readonly newUid: () => string
  readonly now: Date
  /** The manager of their fields. */
  readonly manager: string
}

/** An object with all that its kind's defaults would fill in, fields in the order of its type; it is not looked at again. */
export type Seed = {
  readonly resource: Resource
  readonly object: Omit<AnyObject, 'kind' | 'apiVersion'>
  /** The manager that has applied the conditions in the status, if there is one. */
  readonly statusManager?: string
}

/** Stores those whose names are free, in one commit. */
export async function seed(seeds: Iterable<Seed>, { caches, newUid, now, manager }: Seeding): Promise<void> {
  const time = timestampOf(now)
  const written: ReturnType<Caches['create']>[] = []
  for (const { resource, object, statusManager } of seeds) {
    const { kind, apiVersion } = resource
    const { name = '', namespace = '', ...others } = object.metadata
    const fieldsV1 = fieldsOf(resource.type, object as unknown as JsonObject)
    const entry = { apiVersion, time, fieldsType: 'FieldsV1' }
    const ofStatus = statusManager && statusFields(object['status'])
    const managedFields = [
      { manager, operation: 'Update', ...entry, fieldsV1 },
      ...(ofStatus ? [{ manager: statusManager, operation: 'Apply', ...entry, fieldsV1: ofStatus, subresource: 'status' }] : []),
    ].sort((a, b) => (a.operation < b.operation ? -1 : 0))
    const metadata = { name, ...(namespace && { namespace }), uid: newUid(), ...others, creationTimestamp: time, managedFields }
    const stored = { kind, apiVersion, ...object, metadata } as AnyObject
    const value = encodeStored(stored)
    written.push(caches.create(keyOf(resource, namespace, name), value, stored))
  }
  await Promise.all(written)
}

/** The fields that an object sets, as managedFields. Lists are owned as a whole; the status has no manager. */
function fieldsOf(type: AnyType, object: JsonObject): JsonObject {
  const { metadata, status: _, ...own } = object
  const { name: __, namespace: ___, generation: ____, ...shown } = metadata as JsonObject
  const fields = { ...below(type, own, emptyValueOf(type)), 'f:metadata': below(undefined, shown, {}) }
  return Object.fromEntries(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The ownership of conditions, which are listed by their type. */
function statusFields(status: { conditions?: readonly JsonObject[] } | undefined): JsonObject | undefined {
  if (!status?.conditions?.length) return undefined
  const items = status.conditions.map(condition => [
    `k:${JSON.stringify({ type: condition['type']! })}`,
    { '.': {}, ...below(undefined, condition, {}) },
  ])
  return { 'f:status': { 'f:conditions': Object.fromEntries(items) } }
}

/** `empty` is the same part of an object in which nothing is set. */
function below(type: AnyType | undefined, value: JsonObject, empty: JsonObject): JsonObject {
  const fields: JsonObject = {}
  for (const key of Object.keys(value).sort())
    if (value[key] !== null) fields[`f:${key}`] = fieldsAt(memberOf(type, key), value[key]!, empty[key])
  return fields
}

/** A field that is there even when nothing is set has no entry of its own. */
function fieldsAt(type: AnyType | undefined, value: Json, empty: Json | undefined): JsonObject {
  if (type?.flags.atomic || typeof value !== 'object' || value === null || Array.isArray(value)) return {}
  return isObject(empty) ? below(type, value, empty) : { '.': {}, ...below(type, value, {}) }
}

function memberOf(type: AnyType | undefined, key: string): AnyType | undefined {
  return type?.shape.kind === 'message' ? type.shape.fields[key]?.[1] : undefined
}
