/**
 * A signal that the result is no longer needed. An AbortSignal is one, but Node takes some 40 µs to create one, to add a listener and to
 * remove it, which is more than most other work done for a request.
 */
export interface Cancellation {
  readonly aborted: boolean
  /** The reason, once it is aborted. */
  readonly reason: any
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** A cancellation that its creator aborts. Listeners are called once. */
export class Cancellable implements Cancellation {
  #reason: Error | undefined
  #listeners: (() => void)[] | undefined

  get aborted(): boolean {
    return this.#reason !== undefined
  }

  get reason(): Error | undefined {
    return this.#reason
  }

  abort(reason: Error): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    const listeners = this.#listeners
    this.#listeners = undefined
    if (listeners) for (const listener of listeners) listener()
  }

  addEventListener(_: 'abort', listener: () => void): void {
    if (this.#reason !== undefined) return
    if (this.#listeners === undefined) this.#listeners = [listener]
    else this.#listeners.push(listener)
  }

  removeEventListener(_: 'abort', listener: () => void): void {
    const at = this.#listeners?.indexOf(listener) ?? -1
    if (at >= 0) this.#listeners!.splice(at, 1)
  }
}

/**
 * A controller that is aborted as soon as one of some signals is. Abort it when it is needed no more: then the signals let go of it.
 * `AbortSignal.any` needs no such end, but Node keeps its signals, with all that listens to them, in a set of the process until they are
 * aborted, also when nobody has the signals any more that could do so.
 */
export function abortedWith(...signals: readonly AbortSignal[]): AbortController {
  const controller = new AbortController()
  const follow = () => controller.abort(signals.find(({ aborted }) => aborted)?.reason)
  if (signals.some(({ aborted }) => aborted)) {
    follow()
    return controller
  }
  const letGo = () => {
    for (const signal of signals) signal.removeEventListener('abort', follow)
  }
  controller.signal.addEventListener('abort', letGo, { once: true })
  for (const signal of signals) signal.addEventListener('abort', follow, { once: true })
  return controller
}

/** The cancellation as an AbortSignal, for Node's own functions. */
export function abortSignalOf(cancellation: Cancellation): AbortSignal {
  if (cancellation instanceof AbortSignal) return cancellation
  const controller = new AbortController()
  if (cancellation.aborted) controller.abort(cancellation.reason)
  else cancellation.addEventListener('abort', () => controller.abort(cancellation.reason))
  return controller.signal
}
