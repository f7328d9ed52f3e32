/** Work in parts: it stops after each, so that others may run before the next. */
export type InParts<R> = Generator<undefined, R>

/** Does all parts at once. */
export function doAtOnce<R>(work: InParts<R>): R {
  let part = work.next()
  while (!part.done) part = work.next()
  return part.value
}

const AT_ONCE = 1024

/** Sorts a list whose items take long to compare. */
export function* sortingInParts<T>(list: readonly T[], compare: (a: T, b: T) => number): InParts<T[]> {
  let runs: T[][] = []
  for (let from = 0; from < list.length || from === 0; from += AT_ONCE) {
    runs.push(list.slice(from, from + AT_ONCE).sort(compare))
    yield
  }
  while (runs.length > 1) {
    const merged: T[][] = []
    for (let i = 0; i < runs.length; i += 2) merged.push(yield* merging(runs[i]!, runs[i + 1] ?? [], compare))
    runs = merged
  }
  return runs[0]!
}

function* merging<T>(a: readonly T[], b: readonly T[], compare: (a: T, b: T) => number): InParts<T[]> {
  const merged: T[] = []
  for (let [i, j] = [0, 0]; i < a.length || j < b.length; ) {
    merged.push(j === b.length || (i < a.length && compare(a[i]!, b[j]!) <= 0) ? a[i++]! : b[j++]!)
    if (merged.length % AT_ONCE === 0) yield
  }
  return merged
}
