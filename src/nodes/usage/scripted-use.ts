/** Scripted usage of a resource: amounts or percentages of the request, each from a time on. */
import { DurationError, parseDuration } from '../../lib/duration.ts'
import { milliValue, parseQuantity, QuantityError, quantitySign } from '../../lib/quantity.ts'

/** In thousandths, or in percent of the request. */
export type Use = { readonly afterMs: number } & (
  | { readonly milli: bigint; readonly percent?: undefined }
  | { readonly percent: number; readonly milli?: undefined }
)

const STEP = /^(\S+)(?:\s+after\s+(\S+))?$/

/** Reads `100m`, `80%` or `20%, 900m after 30s`, sorted by time; undefined when the text is invalid. */
export function readUses(text: string): readonly Use[] | undefined {
  const uses: Use[] = []
  for (const part of text.split(',')) {
    const [, amount = '', after] = STEP.exec(part.trim()) ?? []
    const use = amount === '' ? undefined : readUse(amount, after)
    if (!use) return undefined
    uses.push(use)
  }
  return uses.sort((a, b) => a.afterMs - b.afterMs)
}

function readUse(amount: string, after: string | undefined): Use | undefined {
  try {
    const afterMs = after === undefined ? 0 : Number(parseDuration(after)) / 1e6
    if (afterMs < 0) return undefined
    const [, percent] = /^(\d{1,6})%$/.exec(amount) ?? []
    if (percent !== undefined) return { afterMs, percent: Number(percent) }
    const quantity = parseQuantity(amount)
    return quantitySign(quantity) < 0 ? undefined : { afterMs, milli: milliValue(quantity) }
  } catch (error) {
    if (error instanceof DurationError || error instanceof QuantityError) return undefined
    throw error
  }
}
