/**
 * Kinds that are forms of another. What is stored and cached has the form of the hub; requests and answers have the form
 * that was asked for. For all other kinds the two are the same, and nothing here costs anything. Most forms are converted by
 * the server itself, at once; some by somebody it has to ask, and then the answer is a promise.
 */
import { WatchEvent, type WatchSink, type WatchStream } from '../cache/watch-stream.ts'
import { stringifyJson } from '../codec/json.ts'
import { encodeObject, parseObject } from '../codec/stored-bytes.ts'
import type { JsonObject } from '../lib/json-value.ts'
import type { Convert } from '../patch/ownership.ts'
import { conform } from '../schema/conform.ts'
import { conformObject } from '../schema/custom-schema.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { DefaultingContext } from '../schema/request-context.ts'
import type { Resource } from '../schema/resource.ts'
import { internalError, StatusError } from '../schema/status-error.ts'
import { setDefaults } from './strategy.ts'

/** The resource as it is stored. */
export const storedResource = (resource: Resource): Resource => resource.hub?.resource ?? resource

/** The resource whose rules and hooks hold for writes through this one; they see objects in its form. */
export const ruledBy = (resource: Resource): Resource => (resource.hub?.keepsRules ? resource : storedResource(resource))

/** A stored object in the form of a resource. */
export function toServed(resource: Resource, stored: AnyObject): AnyObject | Promise<AnyObject> {
  const { hub } = resource
  if (!hub) return stored
  if (hub.convert) return allServed(resource, [stored]).then(([served]) => served!)
  return shaped(resource, hub.fromHub(structuredClone(stored)))
}

/** An object in the form in which it is stored, with the defaults of that form. */
export function toStored(resource: Resource, served: AnyObject, ctx: DefaultingContext): AnyObject | Promise<AnyObject> {
  const { hub } = resource
  if (!hub) return served
  const settle = (converted: AnyObject) => {
    const object = shaped(hub.resource, converted)
    setDefaults(hub.resource, object, ctx)
    return object
  }
  return hub.convert ? hub.convert([served], hub.resource).then(([made]) => settle(made!)) : settle(hub.toHub(structuredClone(served)))
}

/** The bytes of a stored object in the form of a resource. */
export function servedJson(resource: Resource, json: Uint8Array): Uint8Array | Promise<Uint8Array> {
  if (!resource.hub) return json
  const served = toServed(resource, parseObject(json))
  return served instanceof Promise ? served.then(object => encodeObject(object)) : encodeObject(served)
}

/** The bytes of many stored objects in the form of a resource. */
export async function servedList(resource: Resource, items: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
  if (!resource.hub) return items
  if (!resource.hub.convert) return items.map(json => servedJson(resource, json) as Uint8Array)
  const served = await allServed(
    resource,
    items.map(json => parseObject(json)),
  )
  return served.map(object => encodeObject(object))
}

async function allServed(resource: Resource, stored: readonly AnyObject[]): Promise<AnyObject[]> {
  const converted = await resource.hub!.convert!(stored, resource)
  return converted.map((object, i) => (object === stored[i] ? object : shaped(resource, object)))
}

/** A watch of stored objects that tells of them in the form of a resource. */
export function servedStream(resource: Resource, stream: WatchStream): WatchStream {
  if (!resource.hub) return stream
  const convert = resource.hub.convert ? inTurn : converting
  return {
    open: sink => stream.open(convert(resource, sink, () => stream.close())),
    close: () => stream.close(),
  }
}

/** How the owners of fields in other forms of an object are found; undefined for kinds of one form. */
export function conversions({ forms }: Resource): Convert | undefined {
  if (forms.length < 2) return undefined
  return (object, apiVersion) => {
    const [from, to] = [object['apiVersion'], apiVersion].map(version => forms.find(form => form.apiVersion === version))
    return from && to && { type: to.type, object: between(from, to, object) }
  }
}

function between(from: Resource, to: Resource, object: JsonObject): JsonObject {
  if (from === to) return object
  if (to.hub?.convert) return atHand(to, object)
  // Custom kinds say the same in all forms; what a form has no field for is not left out here.
  if (to.def.custom) return { ...object, apiVersion: to.apiVersion }
  // Parts may be missing: an owner's fields alone need not make an object.
  const whole = conform(from.type, object).value as AnyObject
  const stored = from.hub ? shaped(from.hub.resource, from.hub.toHub(whole)) : whole
  return (to.hub ? shaped(to, to.hub.fromHub(stored)) : stored) as unknown as JsonObject
}

/** Thrown where a conversion is needed that is not at hand. */
class Missing extends Error {
  readonly key: string
  readonly object: AnyObject
  readonly to: Resource

  constructor(key: string, object: AnyObject, to: Resource) {
    super('a conversion is not at hand')
    this.key = key
    this.object = object
    this.to = to
  }
}

const MOST_CONVERSIONS = 200
/** The conversions that the function being run may need and that have been made; it runs to its end at once. */
let made: Map<string, JsonObject> | undefined

function atHand(to: Resource, object: JsonObject): JsonObject {
  const key = `${to.apiVersion} ${stringifyJson(object)}`
  const found = made?.get(key)
  if (found === undefined) throw new Missing(key, object as unknown as AnyObject, to)
  return found
}

/**
 * Runs a function that works out owners of fields and may need conversions for it. Where somebody has to be asked for them,
 * it is run again with each answer; what it does besides must not matter until it has run to its end.
 */
export async function withConversions<R>({ hub }: Resource, run: () => R): Promise<R> {
  if (!hub?.convert) return run()
  const answers = new Map<string, JsonObject>()
  while (answers.size < MOST_CONVERSIONS) {
    made = answers
    let missing: Missing
    try {
      return run()
    } catch (error) {
      if (!(error instanceof Missing)) throw error
      missing = error
    } finally {
      made = undefined
    }
    const [object] = await hub.convert([missing.object], missing.to)
    answers.set(missing.key, object as unknown as JsonObject)
  }
  throw internalError('an object has owners in too many versions')
}

/** A converted object as it would be after decoding: nothing undefined, everything in its place. */
const shaped = (resource: Resource, object: AnyObject): AnyObject =>
  conformObject(resource, (resource.def.custom ? object : withoutUndefined(object)) as unknown as JsonObject).value

function withoutUndefined(value: any): any {
  if (Array.isArray(value)) return value.map(withoutUndefined)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, part]) => part !== undefined)
  return Object.fromEntries(entries.map(([name, part]) => [name, withoutUndefined(part)]))
}

/** Events are converted once for all watchers of a form. */
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

/** Events whose conversion has to be waited for go out in their order; those that wait count as not yet taken by the client. */
function inTurn(resource: Resource, sink: WatchSink, close: () => void): WatchSink {
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
      // All watchers of a form ask at once, and the first asks for them all.
      const bytes = eventBytes(resource, event)
      // Whoever comes to it in its turn deals with a failure.
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

/** The bytes of an event in the form of a resource, asked for once for all its watchers. */
function eventBytes(resource: Resource, event: WatchEvent): Promise<Uint8Array> {
  if (event.resource === resource) return Promise.resolve(event.json)
  // A bookmark has nothing in it that anybody could convert.
  if (event.type === 'BOOKMARK') return Promise.resolve(encodeObject({ ...parseObject(event.json), ...named(resource) }))
  let forms = asked.get(event)
  if (!forms) asked.set(event, (forms = new Map()))
  let bytes = forms.get(resource)
  if (!bytes) forms.set(resource, (bytes = Promise.resolve(servedJson(resource, event.json))))
  return bytes
}

const named = ({ kind, apiVersion }: Resource) => ({ kind, apiVersion })

function convertedEvent(resource: Resource, event: WatchEvent, bytesOf: (json: Uint8Array) => Uint8Array): WatchEvent {
  if (event.resource === resource) return event
  let forms = converted.get(event)
  if (!forms) converted.set(event, (forms = new Map()))
  let known = forms.get(resource)
  if (!known) forms.set(resource, (known = new WatchEvent(event.type, resource, bytesOf(event.json))))
  return known
}
