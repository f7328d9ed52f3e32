// The managers of an object: managedFields read into field sets, and written back in the order the API keeps.

import { compareText, goJson, goQuote, isPrintable } from '../lib/go-text.ts'
import { deepEqual, isObject, type Json, type JsonObject, setOwn } from '../lib/json-value.ts'
import type { Step } from '../lib/step.ts'
import { MAX_MANAGER_BYTES } from '../schema/meta-rules.ts'
import type { ManagedFieldsEntry } from '../schema/object-meta.ts'
import type { FieldSet } from './field-set.ts'
import { readFieldsV1, writeFieldsV1 } from './fields-v1.ts'

export type Operation = 'Apply' | 'Update'

/** A field manager. Appliers are identified by name and subresource, updaters also by the version they wrote in. */
export type Manager = {
  readonly name: string
  readonly operation: Operation
  readonly apiVersion: string
  readonly subresource: string
  /** When ownership last changed, RFC 3339 in seconds; absent when unknown. */
  readonly time?: string | undefined
  readonly fields: FieldSet
}

/** The manager with other fields. Written out, as V8 makes a hidden class for each object whose fields follow a spread. */
export const withFields = ({ name, operation, apiVersion, subresource, time }: Omit<Manager, 'fields'>, fields: FieldSet): Manager => ({
  name,
  operation,
  apiVersion,
  subresource,
  time,
  fields,
})

/** Managers by their identifiers. */
export type Managers = ReadonlyMap<string, Manager>

/** The name of a writer: the `fieldManager` parameter, else the part of the user agent before its first slash. */
export function managerOf(fieldManager: string | null | undefined, userAgent: string): string {
  if (fieldManager) return fieldManager
  const slash = userAgent.indexOf('/')
  const text = slash === -1 ? userAgent : userAgent.slice(0, slash)
  if (text.length <= MAX_MANAGER_BYTES && PRINTABLE_ASCII.test(text)) return text
  let name = ''
  let bytes = 0
  for (const char of text) {
    if (!isPrintable(char)) continue
    bytes += Buffer.byteLength(char)
    if (bytes > MAX_MANAGER_BYTES) break
    name += char
  }
  return name
}

const PRINTABLE_ASCII = /^[ -~]*$/

/** The identity of a manager: the entry without its time and fields, and for appliers without its version. */
export function identifierOf({ name, operation, apiVersion, subresource }: Omit<Manager, 'time' | 'fields'>): string {
  const version = operation === 'Apply' || apiVersion === '' ? '' : `,"apiVersion":${goJson(apiVersion)}`
  const below = subresource === '' ? '' : `,"subresource":${goJson(subresource)}`
  return `{${name === '' ? '' : `"manager":${goJson(name)},`}"operation":"${operation}"${version}${below}}`
}

/** The manager as conflicts name it: `"kubectl" using apps/v1`, `"controller" with subresource "status"`. */
export function managerText({ name, operation, apiVersion, subresource }: Manager): string {
  const who = goQuote(name) + (subresource === '' ? '' : ` with subresource ${goQuote(subresource)}`)
  return operation === 'Update' ? `${who} using ${apiVersion}` : who
}

export type ReadManagers = { readonly ok: true; readonly managers: Managers } | { readonly ok: false; readonly message: string }

/** Reads the entries of an object, or tells why the first that cannot be read is wrong. */
export function* readManagers(entries: readonly ManagedFieldsEntry[] | null | undefined): Step<ReadManagers> {
  const managers = new Map<string, Manager>()
  const rewritten = { count: 0 }
  for (const [i, entry] of (entries ?? []).entries()) {
    const operation = entry.operation
    if (operation !== 'Apply' && operation !== 'Update') return { ok: false, message: 'operation must be `Apply` or `Update`' }
    const { manager: name = '', apiVersion = '', subresource = '', time, fieldsType = '' } = entry
    if (apiVersion === '') return { ok: false, message: 'apiVersion must not be empty' }
    if (fieldsType === '') return { ok: false, message: `missing fieldsType in managed fields entry ${i}` }
    if (fieldsType !== 'FieldsV1') {
      return { ok: false, message: `invalid fieldsType ${goQuote(fieldsType)} in managed fields entry ${i}` }
    }
    const parsed = yield* readFieldsV1(entry.fieldsV1, rewritten)
    if (!parsed.ok)
      return { ok: false, message: `error decoding versioned set from managed fields entry ${i}: error decoding set: ${parsed.message}` }
    const manager = { name, operation, apiVersion, subresource, time: time || undefined, fields: parsed.set } as const
    managers.set(identifierOf(manager), manager)
  }
  return { ok: true, managers }
}

/** Entries in the order the API keeps: appliers first, then by time, name, version and subresource. */
export function* writeManagers(managers: Managers): Step<ManagedFieldsEntry[]> {
  const entries: ManagedFieldsEntry[] = []
  for (const manager of [...managers.values()].sort(compareManagers)) entries.push(yield* writeManager(manager))
  return entries
}

/** One entry. */
export function* writeManager({ name, operation, apiVersion, subresource, time, fields }: Manager): Step<ManagedFieldsEntry> {
  const entry: { -readonly [K in keyof ManagedFieldsEntry]: ManagedFieldsEntry[K] } = {}
  if (name !== '') entry.manager = name
  entry.operation = operation
  entry.apiVersion = apiVersion
  if (time !== undefined) entry.time = time
  entry.fieldsType = 'FieldsV1'
  entry.fieldsV1 = yield* writeFieldsV1(fields)
  if (subresource !== '') entry.subresource = subresource
  return entry
}

function compareManagers(a: Manager, b: Manager): number {
  return (
    compareText(a.operation, b.operation) ||
    secondsOf(a) - secondsOf(b) ||
    compareText(a.name, b.name) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  )
}

/** The time of a manager in whole seconds; none sorts as 1970. */
export function secondsOf({ time }: Manager): number {
  const milliseconds = time === undefined ? 0 : Date.parse(time)
  return Number.isNaN(milliseconds) ? 0 : Math.floor(milliseconds / 1000)
}

/**
 * A manager that has two entries; undefined where each has one. Entries without a time do not count: as in kube-apiserver, a write of the
 * scale gives its manager one for the size alone, beside the one that the manager has already (`scale-ownership.ts`).
 */
export function managerWithTwo(entries: readonly ManagedFieldsEntry[] | null | undefined): string | undefined {
  if (!entries || entries.length < 2) return undefined
  if (entries.length > MANY_ENTRIES) return managerWithTwoOfMany(entries)
  for (let i = 1; i < entries.length; i++)
    for (let j = 0; j < i; j++) if (isSameManager(entries[i]!, entries[j]!)) return entries[i]!.manager ?? ''
  return undefined
}
const MANY_ENTRIES = 8

function isSameManager(a: ManagedFieldsEntry, b: ManagedFieldsEntry): boolean {
  if (!a.time || !b.time) return false
  if ((a.manager ?? '') !== (b.manager ?? '') || a.operation !== b.operation || (a.subresource ?? '') !== (b.subresource ?? ''))
    return false
  return a.operation === 'Apply' || a.apiVersion === b.apiVersion
}

function managerWithTwoOfMany(entries: readonly ManagedFieldsEntry[]): string | undefined {
  const known = new Set<string>()
  for (const { manager: name = '', operation, apiVersion = '', subresource = '', time } of entries) {
    if (!time) continue
    const identifier = identifierOf({ name, operation: operation as Operation, apiVersion, subresource })
    if (known.has(identifier)) return name
    known.add(identifier)
  }
  return undefined
}

/** Whether a client asks to forget all managers: an empty list, or one entry with nothing in it. */
export function asksForReset(entries: readonly ManagedFieldsEntry[] | null | undefined): boolean {
  if (entries === null || entries === undefined) return false
  if (entries.length > 1) return false
  return Object.values(entries[0] ?? {}).every(value => value === '' || value === null || value === undefined)
}

/** The entries an object carries. */
export function managedFieldsOf(object: JsonObject): readonly ManagedFieldsEntry[] | undefined {
  const metadata = object['metadata']
  const entries = isObject(metadata) ? metadata['managedFields'] : undefined
  return Array.isArray(entries) ? (entries as unknown as ManagedFieldsEntry[]) : undefined
}

/** The object without its managers; itself when it has none. */
export function withoutManagedFields(object: JsonObject): JsonObject {
  const metadata = object['metadata']
  if (!isObject(metadata) || !Object.hasOwn(metadata, 'managedFields')) return object
  // A loop, as V8 takes long to make an object from the other fields of another one.
  const rest: JsonObject = {}
  for (const key of Object.keys(metadata)) if (key !== 'managedFields') setOwn(rest, key, metadata[key]!)
  return { ...object, metadata: rest }
}

/** The object with these managers, or without any when there are none. */
export function withManagedFields(object: JsonObject, entries: readonly ManagedFieldsEntry[]): JsonObject {
  const bare = withoutManagedFields(object)
  if (entries.length === 0) return bare
  const metadata = bare['metadata']
  return { ...bare, metadata: { ...(isObject(metadata) ? metadata : {}), managedFields: entries as unknown as Json } }
}

/**
 * The object to store in place of `before`: when the two differ in nothing but the times of their managers, the earlier
 * times are put back, so that a write which changes nothing is the same to the byte.
 */
export function keepTimesIfUnchanged(before: JsonObject, after: JsonObject): JsonObject {
  const [old, next] = [managedFieldsOf(before) ?? [], managedFieldsOf(after) ?? []]
  if (old.length !== next.length || next.length === 0) return after
  if (next.every((entry, i) => entry.time === old[i]!.time)) return after
  // A change is found sooner in the object than in its managers.
  if (!deepEqual(withoutManagedFields(before), withoutManagedFields(after))) return after
  if (!next.every((entry, i) => deepEqual(timeless(entry), timeless(old[i]!)))) return after
  return withManagedFields(after, old)
}

const timeless = ({ time: _, ...entry }: ManagedFieldsEntry) => entry as Json
