/** A request of the API that a page sends through its session: the path without the console's prefix, with the session's credential. */
import type { Readable } from 'node:stream'
import type { Cancellation } from '../../lib/cancellation.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { UnsentResponses } from '../flow-control/unsent-responses.ts'
import type { Outlet, Peer, Request, RequestHeaders, Response, ResponseBody } from '../message.ts'
import type { Credential } from './credential.ts'
import type { Session } from './sessions.ts'

/** Headers that concern the console alone, and the credential, which is the session's. */
const OWN: ReadonlySet<string> = new Set(['cookie', 'authorization', 'keelson-console'])

export class SessionRequest implements Request {
  readonly target: string
  readonly headers: RequestHeaders
  readonly headerLines: readonly string[] | undefined
  readonly peer: Peer
  readonly #sent: Request

  constructor(sent: Request, target: string, { authorization, certificate }: Credential) {
    this.#sent = sent
    this.target = target
    const kept = Object.entries(sent.headers).filter(([name]) => !OWN.has(name.toLowerCase()))
    this.headers = { ...Object.fromEntries(kept), ...(authorization !== undefined && { authorization }) }
    this.headerLines = sent.headerLines && linesWith(sent.headerLines, authorization)
    this.peer = { address: sent.peer.address, certificate }
  }

  get method(): string {
    return this.#sent.method
  }
  get protocol(): Request['protocol'] {
    return this.#sent.protocol
  }
  get unsentResponses(): UnsentResponses {
    return this.#sent.unsentResponses!
  }
  get passed(): () => void {
    return () => this.#sent.passed?.()
  }
  get signal(): Cancellation {
    return this.#sent.signal
  }
  get isGone(): boolean {
    return this.#sent.isGone
  }
  get stream(): Readable | undefined {
    return this.#sent.stream
  }

  cancel(reason: Error): void {
    this.#sent.cancel(reason)
  }

  readBody(limit: number): MaybePromise<Uint8Array | undefined> {
    return this.#sent.readBody(limit)
  }
}

function linesWith(lines: readonly string[], authorization: string | undefined): readonly string[] {
  const kept: string[] = []
  for (let at = 0; at + 1 < lines.length; at += 2) if (!OWN.has(lines[at]!.toLowerCase())) kept.push(lines[at]!, lines[at + 1]!)
  return authorization === undefined ? kept : [...kept, 'Authorization', authorization]
}

/** The response, which ends when the session does. Pods and other servers behind the API set no cookies for the console. */
export function withinSession(response: Response, session: Session): Response {
  const { 'set-cookie': _, ...headers } = response.headers
  return { ...response, headers, body: bodyWithin(response.body, session) }
}

function bodyWithin(body: ResponseBody, session: Session): ResponseBody {
  if (body instanceof Uint8Array) return body
  if (body.type === 'pieces') return { ...body, pieces: piecesWithin(body.pieces, session) }
  const start: typeof body.start = (outlet: Outlet, observer) => {
    const cut = () => outlet.destroy()
    if (session.isOver) return cut()
    session.open.add(cut)
    outlet.once('close', () => session.open.delete(cut))
    body.start(outlet, observer)
  }
  return { ...body, start }
}

async function* piecesWithin(pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, session: Session): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    if (session.isOver) throw new Error('the session is over')
    yield piece
  }
}
