/**
 * What the rules of an object cost, told beforehand in units of about 15 microseconds, so that expensive objects are validated in a
 * worker (`KindSpec.ruleWork`). Far from exact: it decides where rules run, never what they find.
 */

/** The work of compiling an expression: parsing, checking its types, planning and estimating its cost. */
export const expressionWork = (text: string | undefined): number => (text ? 10 + text.length / 7 : 0)

/** The work of all expressions together. */
export function expressionsWork(texts: Iterable<string | undefined>): number {
  let work = 0
  for (const text of texts) work += expressionWork(text)
  return work
}
