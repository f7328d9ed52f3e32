/** Results that are mostly available synchronously. Each promise that a request passes through costs more than most of the work done for it. */

export type MaybePromise<T> = T | Promise<T>

/** Continues with a result: synchronously when it is available, otherwise when its promise resolves. */
export const whenDone = <T, R>(result: MaybePromise<T>, next: (result: T) => MaybePromise<R>): MaybePromise<R> =>
  result instanceof Promise ? result.then(next) : next(result)
