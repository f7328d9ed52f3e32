/**
 * Bodies of recorded requests and of their responses, for administrators who ask for them. They are recorded while somebody looks at bodies,
 * within a limit of bytes, and never those of kinds that keep secrets, of tokens, or of connections to pods.
 */
import type { Clock } from '../../lib/clock.ts'
import { LIMITS } from '../../lib/limits.ts'
import { whenDone } from '../../lib/maybe-promise.ts'
import type { Attributes } from '../../schema/access.ts'
import { type Exchange, isConnect } from '../exchange.ts'
import { header, type Request, type Response } from '../message.ts'
import { WhileLookedAt } from './while-looked-at.ts'

export type RecordedBody = {
  readonly mediaType: string
  readonly bytes: number
  /** Left out if it is too long, or no text. */
  readonly text?: string
}
/** `resource` is the one of the request: who may not read it may not read the bodies. */
export type RecordedBodies = {
  readonly resource: NonNullable<Attributes['resource']>
  readonly verb: string
  readonly request?: RecordedBody
  readonly response?: RecordedBody
}
type Kept = { readonly auditID: string; readonly bodies: RecordedBodies; readonly bytes: number }

/** Takes what a request sends, for `note`. */
export type SentBody = { readonly mediaType: string; bytes?: Uint8Array }

const MAX_BODY = LIMITS.recordedBodies.bodyBytes
const MAX_BYTES = LIMITS.recordedBodies.bytes
/** A guess: the objects around the texts. */
const BYTES_OF_RECORD = 500

export class RequestBodies {
  readonly #lookedAt: WhileLookedAt
  /** Keyed by the number of the request, oldest first. */
  readonly #kept = new Map<number, Kept>()
  #bytes = 0

  constructor(clock: Clock) {
    this.#lookedAt = new WhileLookedAt(clock, () => {
      this.#kept.clear()
      this.#bytes = 0
    })
  }

  /** Read for each request that is recorded. */
  get isRecording(): boolean {
    return this.#lookedAt.isOn
  }
  get since(): number {
    return this.#lookedAt.since
  }

  /** Records all bodies from now on, within the limits. */
  recordAlways(): void {
    this.#lookedAt.keepOn()
  }

  clear(): void {
    this.#lookedAt.restart()
  }

  look(): void {
    this.#lookedAt.look()
  }

  find(number: number, auditID: string): RecordedBodies | undefined {
    const found = this.#kept.get(number)
    return found?.auditID === auditID ? found.bodies : undefined
  }

  note(number: number, { route, id }: Exchange, { sent, response }: { sent: SentBody; response: Response }): void {
    const { resource, verb } = route.attributes
    if (!resource) return
    const request = sent.bytes && sent.bytes.byteLength > 0 ? bodyOf(sent.bytes, sent.mediaType) : undefined
    const answer = response.body instanceof Uint8Array ? bodyOf(response.body, mediaTypeOf(response)) : undefined
    const bytes = BYTES_OF_RECORD + 2 * ((request?.text?.length ?? 0) + (answer?.text?.length ?? 0))
    this.#kept.set(number, {
      auditID: id,
      bodies: { resource, verb, ...(request && { request }), ...(answer && { response: answer }) },
      bytes,
    })
    this.#bytes += bytes
    for (const [oldest, { bytes }] of this.#kept) {
      if (this.#bytes <= MAX_BYTES) break
      this.#kept.delete(oldest)
      this.#bytes -= bytes
    }
  }
}

/** Whether bodies of a request may be recorded: of an object that is stored, of a kind that keeps no secrets. */
export function hasPublicBodies({ route }: Exchange): boolean {
  if (route.type !== 'call' || route.call.verb === 'watch') return false
  const { resource, subresource } = route.call
  if (resource.def.isConfidential || resource.def.virtual || isConnect(route.call)) return false
  // Subresources that are created, such as tokens, are messages and not parts of the object.
  return !Object.hasOwn(resource.def.subresources?.creates ?? {}, subresource)
}

/** Remembers the body of a request when it is read. */
export function rememberBody(request: Request): SentBody {
  const sent: SentBody = { mediaType: (header(request.headers, 'content-type') ?? '').slice(0, LIMITS.recordedRequests.textLength) }
  const read = request.readBody.bind(request)
  request.readBody = limit =>
    whenDone(read(limit), bytes => {
      if (bytes) sent.bytes = bytes
      return bytes
    })
  return sent
}

const mediaTypeOf = ({ headers }: Response): string => {
  const { 'content-type': type = '', 'content-encoding': encoding } = headers as Readonly<Record<string, string | undefined>>
  return encoding === undefined ? type : encoding
}

function bodyOf(body: Uint8Array, mediaType: string): RecordedBody {
  const bytes = body.byteLength
  const isText = /json|yaml|text/.test(mediaType)
  return { mediaType, bytes, ...(isText && bytes <= MAX_BODY && { text: Buffer.from(body).toString() }) }
}
