/** Finds the name that was most likely meant: equal but for case and punctuation, or one typing error away. */

const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, '')

/** Longer strings are no names, and comparing them would cost their length squared. */
const MAX_LENGTH = 64

/** The nearest of the known names; undefined where none is close. */
export function nearestName(given: string, known: Iterable<string>): string | undefined {
  if (given.length > MAX_LENGTH) return undefined
  const wanted = plain(given)
  let [best, least]: [string | undefined, number] = [undefined, Math.min(3, Math.ceil(wanted.length / 3) + 1)]
  for (const name of known) {
    const steps = distance(wanted, plain(name), least)
    if (steps < least) [best, least] = [name, steps]
  }
  return best
}

/** `; did you mean NAME?`, or `otherwise` where no name is close. */
export function didYouMean(given: string, known: Iterable<string>, otherwise = ''): string {
  const near = nearestName(given, known)
  return near === undefined ? otherwise : `; did you mean ${near}?`
}

/** The number of characters to add, remove, replace or swap with the next one; at most `limit`. */
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit
  let [beforeLast, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, i) => i)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      let steps = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (isSame ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) steps = Math.min(steps, beforeLast[j - 2]! + 1)
      row.push(steps)
    }
    ;[beforeLast, last] = [last, row]
  }
  return Math.min(last[b.length]!, limit)
}
