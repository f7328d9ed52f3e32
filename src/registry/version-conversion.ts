/**
 * Conversion between served versions and the stored version. Objects are stored and cached in the stored version; requests and
 * responses use the served version. For kinds with one version the two are the same, and nothing here costs anything. Built-in
 * kinds are converted synchronously; custom kinds may need a conversion webhook, and then the result is a promise.
 */
import { WatchEvent, type WatchSink, type WatchStream } from '../cache/watch-stream.ts'
import { itemBytes, type ListItem } from '../codec/list-item.ts'
import { encodeObject, parseObject } from '../codec/stored-bytes.ts'
import { copyJson, copyObject, type JsonObject } from '../lib/json-value.ts'
import { type MaybePromise, whenDone } from '../lib/maybe-promise.ts'
import type { Conversion, Converting } from '../patch/ownership.ts'
import { conform } from '../schema/conform.ts'
import { conformObject } from '../schema/custom-schema.ts'
import { type AnyObject, ObjectMeta } from '../schema/object-meta.ts'
import type { DefaultingContext } from '../schema/request-context.ts'
import type { Resource } from '../schema/resource.ts'
import { internalError, StatusError } from '../schema/status-error.ts'
import type { AnyType, MessageShape } from '../schema/types.ts'
import { setDefaults } from './strategy.ts'
import type { Write } from './write-value.ts'
import { yieldIfDue } from './yielding.ts'

/** A stored object in the served version. */
export function toServed(resource: Resource, stored: AnyObject): AnyObject | Promise<AnyObject> {
  const { conversion } = resource
  if (!conversion) return stored
  if (conversion.convert) return allServed(resource, [stored]).then(([served]) => served!)
  return shaped(resource, conversion.fromStored(unshared(resource, stored)), stored)
}

/** An object in the stored version, with the defaults of that version. */
export function toStored(resource: Resource, served: AnyObject, ctx: DefaultingContext): AnyObject | Promise<AnyObject> {
  const { conversion } = resource
  if (!conversion) return served
  const settle = (converted: AnyObject) => {
    const object = shaped(conversion.storedVersion, converted, served)
    setDefaults(conversion.storedVersion, object, ctx)
    return object
  }
  return conversion.convert
    ? conversion.convert([served], conversion.storedVersion).then(([made]) => settle(made!))
    : settle(conversion.toStored(unshared(resource, served)))
}

/** An object to be converted. What built-in kinds are converted to is made anew when it is shaped, what custom kinds are need not be. */
const unshared = ({ def }: Resource, object: AnyObject): AnyObject => (def.custom ? copyJson(object) : object)

/** An object of one served version in another one. */
export function convertVersion(object: AnyObject, from: Resource, to: Resource): MaybePromise<AnyObject> {
  if (from === to) return object
  const converted = convertAll(from.conversion ? from : to, [{ object: object as unknown as JsonObject, apiVersion: to.apiVersion }])
  return whenDone(converted, ([made]) => shaped(to, made as unknown as AnyObject, object))
}

/** The bytes of a stored object in the served version. */
export function servedJson(resource: Resource, json: Uint8Array): Uint8Array | Promise<Uint8Array> {
  if (!resource.conversion) return json
  const served = toServed(resource, parseObject(json))
  return served instanceof Promise ? served.then(object => encodeObject(object)) : encodeObject(served)
}

/** The bytes of many stored objects in the served version. */
export function servedList(resource: Resource, items: readonly ListItem[]): MaybePromise<readonly ListItem[]> {
  if (!resource.conversion) return items
  if (!resource.conversion.convert) return items.map(item => servedJson(resource, itemBytes(item)) as Uint8Array)
  const served = allServed(
    resource,
    items.map(item => parseObject(itemBytes(item))),
  )
  return served.then(objects => objects.map(object => encodeObject(object)))
}

async function allServed(resource: Resource, stored: readonly AnyObject[]): Promise<AnyObject[]> {
  const converted = await resource.conversion!.convert!(stored, resource)
  return converted.map((object, i) => (object === stored[i] ? object : shaped(resource, object, stored[i]!)))
}

/** A watch of stored objects whose events are in the served version. */
export function servedStream(resource: Resource, stream: WatchStream): WatchStream {
  if (!resource.conversion) return stream
  const convert = resource.conversion.convert ? convertingInOrder : converting
  return {
    open: sink => stream.open(convert(resource, sink, () => stream.close())),
    close: () => stream.close(),
  }
}

/** The types of all versions of a kind, by apiVersion; undefined for kinds of one version. */
export function typesOfVersions({ versions }: Resource): ((apiVersion: string) => AnyType | undefined) | undefined {
  return versions.length < 2 ? undefined : apiVersion => versions.find(version => version.apiVersion === apiVersion)?.type
}

/** Runs work that needs objects in other versions. A promise where a webhook converts them, or the write is large enough to yield. */
export function withConversions<R>(write: Write, work: Converting<R>): MaybePromise<R> {
  const first = work.next(NO_OBJECTS)
  return first.done ? first.value : convertFor(write, work, first)
}

const NO_OBJECTS: readonly JsonObject[] = []

function convertFor<R>(write: Write, work: Converting<R>, asked: ReturnType<Converting<R>['next']>): MaybePromise<R> {
  let step = asked
  while (!step.done) {
    const converted = step.value ? convertAll(write.kind, step.value) : (yieldIfDue(write)?.then(() => NO_OBJECTS) ?? NO_OBJECTS)
    if (converted instanceof Promise) return converted.then(objects => convertFor(write, work, work.next(objects)))
    step = work.next(converted)
  }
  return step.value
}

/** Objects in the wanted versions; a webhook is called once for each version. */
function convertAll(resource: Resource, wanted: readonly Conversion[]): MaybePromise<readonly JsonObject[]> {
  const { versions: resources, conversion } = resource
  // An object without a version is one before anything was set.
  const resourceOf = (version: unknown) => resources.find(each => each.apiVersion === version) ?? resource
  if (!conversion?.convert)
    return wanted.map(({ object, apiVersion, isDecoded }) =>
      between(resourceOf(object['apiVersion']), resourceOf(apiVersion), object, isDecoded),
    )
  const versions = [...new Set(wanted.map(({ apiVersion }) => apiVersion))]
  const asked = versions.map(async version => {
    const objects = wanted.filter(({ apiVersion }) => apiVersion === version).map(({ object }) => object as unknown as AnyObject)
    return [version, (await conversion.convert!(objects, resourceOf(version))) as unknown as JsonObject[]] as const
  })
  return Promise.all(asked).then(answers => {
    const left = new Map(answers)
    return wanted.map(({ apiVersion }) => left.get(apiVersion)!.shift()!)
  })
}

function between(from: Resource, to: Resource, object: JsonObject, isDecoded = false): JsonObject {
  if (from === to) return object
  // Without a webhook, custom kinds only change their apiVersion; unknown fields are not pruned here.
  if (to.def.custom) return { ...object, apiVersion: to.apiVersion }
  // Parts may be missing: the fields of one manager need not be a complete object.
  const whole = (isDecoded ? object : conform(from.type, object).value) as AnyObject
  const stored = from.conversion ? shaped(from.conversion.storedVersion, from.conversion.toStored(whole), whole) : whole
  return (to.conversion ? shaped(to, to.conversion.fromStored(stored), stored) : stored) as unknown as JsonObject
}

/**
 * What a source was converted to, as it would be after decoding: no undefined values, fields in their declared order. Metadata of
 * built-in kinds is the same in every version, and most of a large object can be in it: it is taken over as it is.
 */
function shaped(resource: Resource, object: AnyObject, source: AnyObject): AnyObject {
  if (resource.def.custom) return conformObject(resource, object as unknown as JsonObject).value
  const { metadata, ...rest } = object
  const made = conform(resource.type, withoutUndefined({ ...rest, metadata: {} })).value as AnyObject
  made.metadata = metadata === source.metadata ? { ...metadata } : inOrder(metadata)
  return made
}

/** What conversions keep in annotations may have been the last of them. */
function inOrder(metadata: ObjectMeta): ObjectMeta {
  const ordered: Record<string, unknown> = {}
  for (const name of METADATA_FIELDS) {
    const value: unknown = metadata[name]
    if (value !== undefined && !(name === 'annotations' && isEmpty(value as object))) ordered[name] = value
  }
  return ordered
}
const METADATA_FIELDS = Object.keys((ObjectMeta.shape as MessageShape).fields) as (keyof ObjectMeta)[]

function isEmpty(object: object): boolean {
  for (const _ in object) return false
  return true
}

/** The same value where nothing in it is undefined. */
function withoutUndefined(value: any): any {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map(withoutUndefined)
    return items.every((item, i) => item === value[i]) ? value : items
  }
  let copy: Record<string, unknown> | undefined
  for (const name of Object.keys(value)) {
    const part = value[name]
    const kept = withoutUndefined(part)
    if (part !== undefined && kept === part) continue
    copy ??= copyObject(value)
    if (kept === undefined) delete copy[name]
    else copy[name] = kept
  }
  return copy ?? value
}

/** Events are converted once for all watchers of a served version. */
const converted = new WeakMap<WatchEvent, Map<Resource, WatchEvent>>()

function converting(resource: Resource, sink: WatchSink): WatchSink {
  return {
    event: event => sink.event(convertedEvent(resource, event, json => servedJson(resource, json) as Uint8Array)),
    end: error => sink.end(error),
    get backlog() {
      return sink.backlog
    },
    onDrain: resume => sink.onDrain(resume),
  }
}

/** Events that wait for their conversion are sent in order; until then they count as backlog of the client. */
function convertingInOrder(resource: Resource, sink: WatchSink, close: () => void): WatchSink {
  let last: Promise<void> = Promise.resolve()
  let waiting = 0
  let over = false
  const then = (work: () => Promise<void> | void) => {
    last = last.then(work)
  }
  const fail = (error: unknown) => {
    if (over) return
    over = true
    close()
    sink.end(error instanceof StatusError ? error : internalError(String(error)))
  }
  return {
    event(event) {
      waiting += event.json.length
      // All watchers of a served version share one conversion of the event.
      const bytes = eventBytes(resource, event)
      // A failure is handled when the event is sent, in order.
      bytes.catch(() => {})
      then(async () => {
        try {
          const json = await bytes
          if (!over) sink.event(convertedEvent(resource, event, () => json))
        } catch (error) {
          fail(error)
        }
        waiting -= event.json.length
      })
    },
    end: error => then(() => (over ? undefined : sink.end(error))),
    get backlog() {
      return waiting + sink.backlog
    },
    onDrain: resume => then(() => (over ? undefined : sink.onDrain(resume))),
  }
}

const asked = new WeakMap<WatchEvent, Map<Resource, Promise<Uint8Array>>>()

/** The bytes of an event in the served version, converted once for all its watchers. */
function eventBytes(resource: Resource, event: WatchEvent): Promise<Uint8Array> {
  if (event.resource === resource) return Promise.resolve(event.json)
  // A bookmark has nothing to convert.
  if (event.type === 'BOOKMARK') return Promise.resolve(encodeObject({ ...parseObject(event.json), ...named(resource) }))
  let byResource = asked.get(event)
  if (!byResource) asked.set(event, (byResource = new Map()))
  let bytes = byResource.get(resource)
  if (!bytes) byResource.set(resource, (bytes = Promise.resolve(servedJson(resource, event.json))))
  return bytes
}

const named = ({ kind, apiVersion }: Resource) => ({ kind, apiVersion })

function convertedEvent(resource: Resource, event: WatchEvent, bytesOf: (json: Uint8Array) => Uint8Array): WatchEvent {
  if (event.resource === resource) return event
  let byResource = converted.get(event)
  if (!byResource) converted.set(event, (byResource = new Map()))
  let known = byResource.get(resource)
  if (!known) byResource.set(resource, (known = new WatchEvent(event.type, resource, bytesOf(event.json))))
  return known
}
