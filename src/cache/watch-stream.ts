/** The life of one watch, as the cache offers it and a connection consumes it. */
import type { Resource } from '../schema/resource.ts'
import type { StatusError } from '../schema/status-error.ts'

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'

/** One change, shared by all its watchers. Encodings are made once and kept with it. */
export class WatchEvent {
  readonly type: EventType
  readonly resource: Resource
  /** The whole object as JSON. */
  readonly json: Uint8Array
  #encoded: Map<string, Uint8Array> | undefined

  constructor(type: EventType, resource: Resource, json: Uint8Array) {
    this.type = type
    this.resource = resource
    this.json = json
  }

  /** The bytes of this event in an encoding; `encode` runs for the first watcher only. */
  encoded(encoding: string, encode: (event: WatchEvent) => Uint8Array): Uint8Array {
    this.#encoded ??= new Map()
    let bytes = this.#encoded.get(encoding)
    if (bytes === undefined) this.#encoded.set(encoding, (bytes = encode(this)))
    return bytes
  }

  /** Bytes of an encoding, compressed; `compress` runs for the first watcher only. */
  compressed(bytes: Uint8Array, compress: (bytes: Uint8Array) => Uint8Array): Uint8Array {
    for (const [encoding, encoded] of this.#encoded ?? [])
      if (encoded === bytes) return this.encoded(`${encoding} compressed`, () => compress(bytes))
    return compress(bytes)
  }
}

/** Where the events of a watch go. Calls come in order and synchronously; `end` comes last and once. */
export interface WatchSink {
  event(event: WatchEvent): void
  /** The stream is over: cleanly, or with an error that the client should see as an ERROR event. */
  end(error?: StatusError): void
  /** Bytes accepted but not yet read by the client. Above a limit no more is sent until the client has caught up. */
  readonly backlog: number
  /** Calls back once, when the client has read what it was sent. */
  onDrain(resume: () => void): void
}

export interface WatchStream {
  /** Starts delivery. Called once. */
  open(sink: WatchSink): void
  /** Ends the watch from the client's side; `end` is not called. */
  close(): void
}
