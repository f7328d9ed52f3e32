/**
 * Conversion between served versions and the stored version. Objects are stored and cached in the stored version; requests and
 * responses use the served version. For kinds with one version the two are the same, and nothing here costs anything. Custom kinds may
 * need a conversion webhook, which has to be waited for.
 */
import { WatchEvent, type WatchSink, type WatchStream } from '../cache/watch-stream.ts'
import { itemBytes, type ListItem } from '../codec/list-item.ts'
import { encodeObject, parseObject } from '../codec/stored-bytes.ts'
import { copyJson, copyObject, type JsonObject } from '../lib/json-value.ts'
import { Pace } from '../lib/pace.ts'
import { run, type Step, waitFor } from '../lib/step.ts'
import type { Conversion, Versions } from '../patch/ownership.ts'
import { conform } from '../schema/conform.ts'
import { conformObject } from '../schema/custom-schema.ts'
import { type AnyObject, ObjectMeta } from '../schema/object-meta.ts'
import type { DefaultingContext } from '../schema/request-context.ts'
import type { Resource } from '../schema/resource.ts'
import { internalError, StatusError } from '../schema/status-error.ts'
import type { MessageShape } from '../schema/types.ts'
import { setDefaults } from './strategy.ts'

/** A stored object in the served version. */
export function* toServed(resource: Resource, stored: AnyObject): Step<AnyObject> {
  const { conversion } = resource
  if (!conversion) return stored
  if (conversion.convert) return (yield* allServed(resource, [stored]))[0]!
  return servedBuiltIn(resource, stored)
}

/** The same where no webhook converts. */
const servedBuiltIn = (resource: Resource, stored: AnyObject): AnyObject =>
  shaped(resource, resource.conversion!.fromStored(unshared(resource, stored)), stored)

/** An object in the stored version, with the defaults of that version. */
export function* toStored(resource: Resource, served: AnyObject, ctx: DefaultingContext): Step<AnyObject> {
  const { conversion } = resource
  if (!conversion) return served
  const converted = conversion.convert
    ? (yield* waitFor(conversion.convert([served], conversion.storedVersion)))[0]!
    : conversion.toStored(unshared(resource, served))
  const object = shaped(conversion.storedVersion, converted, served)
  setDefaults(conversion.storedVersion, object, ctx)
  return object
}

/** An object to be converted. Objects of built-in kinds are made anew when they are shaped, those of custom kinds may share parts. */
const unshared = ({ def }: Resource, object: AnyObject): AnyObject => (def.custom ? copyJson(object) : object)

/** An object of one served version in another one. Fields of custom objects that the other version does not know are kept. */
export function* convertUnpruned(object: AnyObject, from: Resource, to: Resource): Step<AnyObject> {
  if (from === to) return object
  const wanted = [{ object: object as unknown as JsonObject, apiVersion: to.apiVersion }]
  const [converted] = yield* convertAll(from.conversion ? from : to, wanted)
  return to.def.custom ? (converted as unknown as AnyObject) : shaped(to, converted as unknown as AnyObject, object)
}

/** The bytes of a stored object in the served version. */
export function* servedJson(resource: Resource, json: Uint8Array): Step<Uint8Array> {
  return resource.conversion ? encodeObject(yield* toServed(resource, parseObject(json))) : json
}

/** The bytes of many stored objects in the served version. */
export function* servedList(resource: Resource, items: readonly ListItem[]): Step<readonly ListItem[]> {
  if (!resource.conversion) return items
  if (!resource.conversion.convert) return items.map(item => builtInJson(resource, itemBytes(item)))
  const served = yield* allServed(
    resource,
    items.map(item => parseObject(itemBytes(item))),
  )
  return served.map(object => encodeObject(object))
}

const builtInJson = (resource: Resource, json: Uint8Array): Uint8Array => encodeObject(servedBuiltIn(resource, parseObject(json)))

function* allServed(resource: Resource, stored: readonly AnyObject[]): Step<AnyObject[]> {
  const converted = yield* waitFor(resource.conversion!.convert!(stored, resource))
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

/** The types of all versions of a kind and the conversion between them; undefined for kinds of one version. */
export function versionsOf(resource: Resource): Versions | undefined {
  const { versions } = resource
  if (versions.length < 2) return undefined
  return {
    typeIn: apiVersion => versions.find(version => version.apiVersion === apiVersion)?.type,
    convert: wanted => convertAll(resource, wanted),
  }
}

/** Objects in the wanted versions; a webhook is called once for each version. */
function* convertAll(resource: Resource, wanted: readonly Conversion[]): Step<readonly JsonObject[]> {
  const { versions: resources, conversion } = resource
  // An object without a version is one before anything was set.
  const resourceOf = (version: unknown) => resources.find(each => each.apiVersion === version) ?? resource
  const webhook = conversion?.convert
  if (!webhook)
    return wanted.map(({ object, apiVersion, isDecoded }) =>
      between(resourceOf(object['apiVersion']), resourceOf(apiVersion), object, isDecoded),
    )
  const versions = [...new Set(wanted.map(({ apiVersion }) => apiVersion))]
  const answers = yield* waitFor(
    Promise.all(
      versions.map(version => {
        const objects = wanted.filter(({ apiVersion }) => apiVersion === version).map(({ object }) => object as unknown as AnyObject)
        return webhook(objects, resourceOf(version))
      }),
    ),
  )
  const left = new Map(versions.map((version, i) => [version, [...answers[i]!] as unknown as JsonObject[]]))
  return wanted.map(({ apiVersion }) => left.get(apiVersion)!.shift()!)
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
 * A converted object as it would be after decoding: no undefined values, fields in their declared order. Metadata of
 * built-in kinds is the same in every version, and most of a large object can be in it: it is taken over as it is.
 */
function shaped(resource: Resource, object: AnyObject, source: AnyObject): AnyObject {
  if (resource.def.custom) return conformObject(resource, object as unknown as JsonObject).value
  const { metadata, ...rest } = object
  const made = conform(resource.type, withoutUndefined({ ...rest, metadata: {} })).value as AnyObject
  made.metadata = metadata === source.metadata ? { ...metadata } : inOrder(metadata)
  return made
}

/** Metadata in the declared order. Conversions may have removed the last annotation. */
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
    event: event => sink.event(convertedEvent(resource, event, json => builtInJson(resource, json))),
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

const requested = new WeakMap<WatchEvent, Map<Resource, Promise<Uint8Array>>>()

/** The bytes of an event in the served version, converted once for all its watchers. */
function eventBytes(resource: Resource, event: WatchEvent): Promise<Uint8Array> {
  if (event.resource === resource) return Promise.resolve(event.json)
  // A bookmark has nothing to convert.
  if (event.type === 'BOOKMARK') return Promise.resolve(encodeObject({ ...parseObject(event.json), ...named(resource) }))
  let byResource = requested.get(event)
  if (!byResource) requested.set(event, (byResource = new Map()))
  let bytes = byResource.get(resource)
  if (!bytes) byResource.set(resource, (bytes = Promise.resolve(run(servedJson(resource, event.json), new Pace()))))
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
