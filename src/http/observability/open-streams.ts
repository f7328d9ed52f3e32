/** The watches and other connections that are open now: whose they are, since when, and how much was sent. */
import { LIMITS } from '../../lib/limits.ts'
import { truncate } from '../../lib/truncate.ts'
import type { Exchange } from '../exchange.ts'
import { type EventObserver, header, type Outlet } from '../message.ts'

export type OpenStreamReport = {
  readonly auditID: string
  readonly user: string
  readonly userAgent: string
  readonly source: string
  readonly verb: string
  readonly path: string
  readonly resource?: { readonly group: string; readonly version: string; readonly resource: string; readonly subresource: string }
  readonly namespace: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly since: string
  /** Events that were sent, bookmarks included, and their bytes. */
  readonly events: number
  readonly bytes: number
  /** Bytes that the client has not taken yet: how far it is behind. */
  readonly unsentBytes: number
}

export class OpenStreams {
  readonly #open = new Set<OpenStream>()

  /** The observer of an open stream, until its outlet closes. */
  open(exchange: Exchange, outlet: Outlet, { observer, at }: { readonly observer: EventObserver; readonly at: number }): EventObserver {
    const stream = new OpenStream(exchange, outlet, { observer, at })
    this.#open.add(stream)
    outlet.once('close', () => {
      this.#open.delete(stream)
      stream.forget()
    })
    return stream
  }

  /** The oldest first. */
  report(): OpenStreamReport[] {
    return [...this.#open].flatMap(stream => stream.report() ?? [])
  }
}

class OpenStream implements EventObserver {
  /** Undefined once it is closed: a Set may keep entries that were removed, see CONTRIBUTING.md on garbage. */
  #of: { readonly exchange: Exchange; readonly outlet: Outlet; readonly observer: EventObserver; readonly at: number } | undefined
  #events = 0
  #bytes = 0

  constructor(exchange: Exchange, outlet: Outlet, { observer, at }: { readonly observer: EventObserver; readonly at: number }) {
    this.#of = { exchange, outlet, observer, at }
  }

  sent(bytes: number): void {
    this.#events++
    this.#bytes += bytes
    this.#of?.observer.sent(bytes)
  }

  forget(): void {
    this.#of = undefined
  }

  report(): OpenStreamReport | undefined {
    if (!this.#of) return undefined
    const { exchange, outlet, at } = this.#of
    const { verb, path, resource } = exchange.route.attributes
    const { group = '', version = '', plural = '', subresource = '', namespace = '', labelSelector, fieldSelector } = resource ?? {}
    return {
      auditID: exchange.id,
      user: exchange.user?.name ?? '',
      userAgent: short(header(exchange.request.headers, 'user-agent') ?? ''),
      source: exchange.request.peer.address,
      verb,
      path: short(path),
      ...(resource && { resource: { group, version, resource: plural, subresource } }),
      namespace,
      ...(typeof labelSelector === 'string' && { labelSelector: short(labelSelector) }),
      ...(typeof fieldSelector === 'string' && { fieldSelector: short(fieldSelector) }),
      since: new Date(at).toISOString(),
      events: this.#events,
      bytes: this.#bytes,
      unsentBytes: outlet.writableLength,
    }
  }
}

const short = (text: string): string => truncate(text, LIMITS.recordedRequests.textLength)
