/** Results that are mostly there at once. Each promise that a request passes through costs it more than most of what is done for it. */

export type Soon<T> = T | Promise<T>

/** Goes on with a result, at once when it is there. */
export const soon = <T, R>(result: Soon<T>, next: (result: T) => Soon<R>): Soon<R> =>
  result instanceof Promise ? result.then(next) : next(result)
