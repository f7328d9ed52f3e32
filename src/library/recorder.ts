/** What clients have asked for, and what has changed: for tests to look at. */
import type { Client } from '../client/client.ts'
import type { Exchange, Handler } from '../http/exchange.ts'
import { header } from '../http/message.ts'
import { whenDone } from '../lib/maybe-promise.ts'
import type { RecordedChange, RecordedRequest } from '../public.d.ts'

/** The oldest are forgotten: a server that runs for long must not grow. */
const MOST = 10_000
const LARGEST_BODY = 64 << 10

type Draft = { -readonly [K in keyof RecordedRequest]: RecordedRequest[K] }

export class Recorder {
  #requests: Draft[] = []
  #changes: RecordedChange[] = []
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  get requests(): readonly RecordedRequest[] {
    return this.#requests
  }

  get changes(): readonly RecordedChange[] {
    return this.#changes
  }

  clear(): void {
    this.#requests = []
    this.#changes = []
  }

  /** Around the handling of every request. */
  readonly record = (next: Handler): Handler => {
    return exchange => {
      const draft = this.#begin(exchange)
      return whenDone(next(exchange), response => {
        draft.status = response.status
        draft.user = exchange.user?.name ?? ''
        return response
      })
    }
  }

  #begin({ request, route: { attributes } }: Exchange): Draft {
    const { group = '', version = '', plural = '', subresource = '', namespace = '', name = '' } = attributes.resource ?? {}
    const draft: Draft = {
      at: new Date(this.#now()),
      method: request.method,
      path: request.target,
      verb: attributes.verb,
      group,
      version,
      resource: plural,
      subresource,
      namespace,
      name,
      user: '',
      userAgent: header(request.headers, 'user-agent') ?? '',
      status: 0,
      body: undefined,
    }
    const readBody = request.readBody.bind(request)
    request.readBody = async limit => {
      const bytes = await readBody(limit)
      if (bytes && bytes.byteLength > 0 && bytes.byteLength <= LARGEST_BODY) draft.body = Buffer.from(bytes).toString('utf8')
      return bytes
    }
    keep(this.#requests, draft)
    return draft
  }

  /** Follows what is stored. */
  follow(client: Client, signal: AbortSignal): void {
    client.watchAll(
      {
        changed: (resource, { type, current, previous }) => {
          const at = new Date(this.#now())
          const { namespace, name, revision } = current
          const { apiVersion, kind } = resource
          const seen = { at, type, apiVersion, kind, namespace, name, revision: String(revision) }
          // Decoded when they are looked at.
          const objects = {
            object: { get: () => current.object, enumerable: true },
            previous: { get: () => previous?.object, enumerable: true },
          }
          keep(this.#changes, Object.defineProperties(seen, objects) as unknown as RecordedChange)
        },
        joined: () => {},
      },
      signal,
    )
  }
}

function keep<T>(list: T[], item: T): void {
  list.push(item)
  if (list.length > 2 * MOST) list.splice(0, MOST)
}
