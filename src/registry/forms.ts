/**
 * Kinds that are forms of another. What is stored and cached has the form of the hub; requests and answers have the form
 * that was asked for. For all other kinds the two are the same, and nothing here costs anything.
 */
import { WatchEvent, type WatchSink, type WatchStream } from '../cache/watch-stream.ts'
import type { JsonObject } from '../lib/json-value.ts'
import type { Convert } from '../patch/ownership.ts'
import { conform } from '../schema/conform.ts'
import type { Moment } from '../schema/kind.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { readStored, sentForm } from './stored-form.ts'
import { setDefaults } from './strategy.ts'

/** The resource as it is stored. */
export const storedResource = (resource: Resource): Resource => resource.hub?.resource ?? resource

/** A stored object in the form of a resource. */
export const toServed = (resource: Resource, stored: AnyObject): AnyObject =>
  resource.hub ? shaped(resource, resource.hub.fromHub(structuredClone(stored))) : stored

/** An object in the form in which it is stored, with the defaults of that form. */
export function toStored(resource: Resource, served: AnyObject, moment: Moment): AnyObject {
  const { hub } = resource
  if (!hub) return served
  const object = shaped(hub.resource, hub.toHub(structuredClone(served)))
  setDefaults(hub.resource, object, moment)
  return object
}

/** The bytes of a stored object in the form of a resource. */
export const servedJson = (resource: Resource, json: Uint8Array): Uint8Array =>
  resource.hub ? sentForm(toServed(resource, readStored(json).value as unknown as AnyObject)) : json

/** A watch of stored objects that tells of them in the form of a resource. */
export function servedStream(resource: Resource, stream: WatchStream): WatchStream {
  if (!resource.hub) return stream
  return {
    open: sink => stream.open(converting(resource, sink)),
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
  // Parts may be missing: an owner's fields alone need not make an object.
  const whole = conform(from.type, object).value as AnyObject
  const stored = from.hub ? shaped(from.hub.resource, from.hub.toHub(whole)) : whole
  return (to.hub ? shaped(to, to.hub.fromHub(stored)) : stored) as unknown as JsonObject
}

/** A converted object as it would be after decoding: nothing undefined, everything in its place. */
const shaped = ({ type }: Resource, object: AnyObject): AnyObject => conform(type, withoutUndefined(object)).value

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
    event: event => sink.event(convertedEvent(resource, event)),
    end: error => sink.end(error),
    get backlog() {
      return sink.backlog
    },
    onDrain: resume => sink.onDrain(resume),
  }
}

function convertedEvent(resource: Resource, event: WatchEvent): WatchEvent {
  if (event.resource === resource) return event
  let forms = converted.get(event)
  if (!forms) converted.set(event, (forms = new Map()))
  let made = forms.get(resource)
  if (!made) forms.set(resource, (made = new WatchEvent(event.type, resource, servedJson(resource, event.json))))
  return made
}
