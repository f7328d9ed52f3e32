/**
 * Estimates the work of an object's rules in units of about 15 microseconds, so that expensive objects are validated in a worker
 * (`KindSpec.ruleWork`). The estimate is rough: it decides where rules run, never their result.
 */

/** The work of compiling an expression: parsing, type checking, planning and cost estimation. */
export const expressionWork = (text: string | undefined): number => (text ? 10 + text.length / 7 : 0)

/** The work of all expressions together. */
export function expressionsWork(texts: Iterable<string | undefined>): number {
  let work = 0
  for (const text of texts) work += expressionWork(text)
  return work
}
