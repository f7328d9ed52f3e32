/** Long work in slices: between them the event loop serves others, so that one large request does not hold up the rest. */

/** How long a slice may take, in milliseconds. */
const SLICE_MS = 20
/** Looking at the clock costs more than most steps do. */
const STEPS_PER_LOOK = 32

let end = Number.POSITIVE_INFINITY
let steps = 0

/** Lets whatever else is waiting have its turn. */
export const nextTurn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** Whether the work under way has taken its slice and should stop where it can; never true outside of `inSlices`. */
export function isSliceOver(): boolean {
  if (end === Number.POSITIVE_INFINITY || (++steps % STEPS_PER_LOOK !== 0 && end !== Number.NEGATIVE_INFINITY)) return false
  return performance.now() >= end
}

/**
 * Runs work that yields where it may stop, slice by slice, and answers what it returns. A promise only when one slice was not
 * enough. What the work reads may have changed whenever it goes on.
 */
export function inSlices<R>(work: Iterator<unknown, R>): R | Promise<R> {
  const first = slice(work)
  return first.done ? first.value : theRest(work)
}

async function theRest<R>(work: Iterator<unknown, R>): Promise<R> {
  for (;;) {
    await nextTurn()
    const next = slice(work)
    if (next.done) return next.value
  }
}

function slice<R>(work: Iterator<unknown, R>, until = performance.now() + SLICE_MS): IteratorResult<unknown, R> {
  const outer = end
  end = until
  try {
    return work.next()
  } finally {
    end = outer
  }
}

/** Runs work that must be done at once, even in the middle of a slice. */
export function atOnce<R>(work: () => R): R {
  const outer = end
  end = Number.POSITIVE_INFINITY
  try {
    return work()
  } finally {
    end = outer
  }
}

/** For tests: runs work to its end in slices so short that it stops wherever it can. */
export function inShortestSlices<R>(work: Iterator<unknown, R>): R {
  for (;;) {
    const next = slice(work, Number.NEGATIVE_INFINITY)
    if (next.done) return next.value
  }
}
