/** A request for a path below another one, as the server behind that path sees it. */
import type { Peer, Request } from '../http/message.ts'
import { type MaybePromise, whenDone } from '../lib/maybe-promise.ts'

/**
 * The target is the rest of the path, exactly as it was sent: nothing is decoded or resolved before it. Client certificates are those of
 * the server that has the port, and say nothing here. `resume` is asked before the request goes on with a body that it had to wait for.
 */
export class RequestBelow implements Request {
  readonly target: string
  readonly peer: Peer
  readonly #outer: Request
  readonly #resume: () => MaybePromise<void>
  #body: Promise<Uint8Array | undefined> | undefined

  constructor(outer: Request, target: string, resume: () => MaybePromise<void>) {
    this.#outer = outer
    this.#resume = resume
    this.target = target
    this.peer = { address: outer.peer.address, certificate: undefined }
  }

  get method() {
    return this.#outer.method
  }
  get headers() {
    return this.#outer.headers
  }
  get headerLines() {
    return this.#outer.headerLines
  }
  get protocol() {
    return this.#outer.protocol
  }
  get unsentResponses() {
    return this.#outer.unsentResponses!
  }
  get upgrade() {
    return this.#outer.upgrade
  }
  get signal() {
    return this.#outer.signal
  }
  get isGone() {
    return this.#outer.isGone
  }
  get stream() {
    return this.#outer.stream
  }
  passed(): void {
    this.#outer.passed?.()
  }
  cancel(reason: Error): void {
    this.#outer.cancel(reason)
  }
  readBody(limit: number): MaybePromise<Uint8Array | undefined> {
    if (this.#body) return this.#body
    const reading = this.#outer.readBody(limit)
    if (!(reading instanceof Promise)) return reading
    this.#body = reading.then(bytes => whenDone(this.#resume(), () => bytes))
    return this.#body
  }
}

export type Below = { readonly name: string; readonly target: string }

const NAME = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/
/** Whether a workspace may have a name: a DNS label. */
export const isWorkspaceName = (name: string): boolean => NAME.test(name)

const BELOW = /^\/workspaces\/([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)(\/[^?]*)?(\?.*)?$/s

/** The workspace that a target names, and the rest of the target; undefined for all others. Encoded names are none. */
export function workspaceIn(target: string): Below | undefined {
  if (!target.startsWith('/workspaces/')) return undefined
  const [, name, path = '/', query = ''] = BELOW.exec(target) ?? []
  return name === undefined ? undefined : { name, target: path + query }
}
