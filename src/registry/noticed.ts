/** One change as the server's own parts are told of it: what is known without decoding anything, and the rest on demand. */
import type { ObjectRevision } from '../cache/object-revision.ts'
import { parseObject } from '../codec/stored-bytes.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'

export class Noticed {
  readonly resource: Resource
  readonly #version: ObjectRevision
  #object: AnyObject | undefined

  /** `object` is what the version says, when the writer is at hand. */
  constructor(resource: Resource, version: ObjectRevision, object: AnyObject | undefined) {
    this.resource = resource
    this.#version = version
    this.#object = object
  }

  /** Where it is stored: no two objects have the same. */
  get key(): string {
    return this.#version.key
  }
  get namespace(): string {
    return this.#version.namespace
  }
  get name(): string {
    return this.#version.name
  }
  /** Empty when the object cannot be read. */
  get uid(): string {
    return this.#version.uid
  }
  get deleted(): boolean {
    return this.#version.deleted
  }
  /** The kind's selectable fields. */
  get fields(): Readonly<Record<string, string>> {
    return this.#version.fields
  }

  /** Whether it may say one of these words somewhere: reading it can be spared when it does not. Always so of what is at hand already. */
  mayMention(words: readonly Buffer[]): boolean {
    return this.#object !== undefined || words.some(word => this.#version.json.includes(word))
  }

  /** What it says, without the resourceVersion; of a deletion the last state. Undefined when it cannot be read. Not to be changed. */
  object(): AnyObject | undefined {
    if (this.#version.fault !== undefined) return undefined
    this.#object ??= parseObject(this.#version.json)
    return this.#object
  }
}
