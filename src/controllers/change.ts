/** What controllers are told of every change of every resource, before they read anything. */
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'

export interface Change {
  readonly resource: Resource
  /** Where the object is stored: no two objects have the same. */
  readonly key: string
  readonly namespace: string
  readonly name: string
  /** Empty when the object cannot be read. */
  readonly uid: string
  readonly deleted: boolean
  /** The kind's selectable fields. */
  readonly fields: Readonly<Record<string, string>>
  /** Whether it may say one of these words somewhere: reading it can be spared when it does not. */
  mayMention(words: readonly Buffer[]): boolean
  /** What it says, without the resourceVersion; of a deletion the last state. Undefined when it cannot be read. Not to be changed. */
  object(): AnyObject | undefined
}

/** Somebody who is told, at once: it must be quick there, and must not fail. */
export interface Observing {
  changed(change: Change): void
  /** Objects of a resource can be read from now on, or in another form than before. */
  joined(resource: Resource): void
}

export interface Feed {
  /** Tells of every change until the signal ends it. */
  observe(observing: Observing, signal: AbortSignal): void
  /** What is there of a resource, as if each object had just been written. */
  noticed(resource: Resource): Iterable<Change>
}

/** Words that stand in the text of every object that has such a field, but not in texts that merely speak of it. */
export const wordOf = (field: string): Buffer => Buffer.from(JSON.stringify(field))
