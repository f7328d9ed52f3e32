/** Work in parts: it stops after each, so that others may run before the next. */
export type InParts<R> = Generator<undefined, R>

/** Does all parts at once. */
export function doAtOnce<R>(work: InParts<R>): R {
  let part = work.next()
  while (!part.done) part = work.next()
  return part.value
}
