/** The difference between two texts, line by line. */

export type DiffLine = { readonly sign: ' ' | '+' | '-'; readonly text: string }

/** Longer texts are treated as different from the first differing line to the last. */
const MAX_LINES = 2000

/** A minimal set of lines to remove and to add that turns one text into the other. */
export function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end)) end++
  const [a, b] = [before.slice(start, before.length - end), after.slice(start, after.length - end)]
  const same = (lines: readonly string[]): DiffLine[] => lines.map(text => ({ sign: ' ', text }))
  return [...same(before.slice(0, start)), ...changed(a, b), ...same(before.slice(before.length - end))]
}

function changed(a: readonly string[], b: readonly string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ sign: '-', text })
  const added = (text: string): DiffLine => ({ sign: '+', text })
  if (a.length > MAX_LINES || b.length > MAX_LINES) return [...a.map(removed), ...b.map(added)]
  // common[i][j]: the number of lines from i and j on that both texts share.
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1))
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i]![j] = a[i] === b[j] ? common[i + 1]![j + 1]! + 1 : Math.max(common[i + 1]![j]!, common[i]![j + 1]!)
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length)
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ sign: ' ', text: a[i++]! })
      j++
    } else if (j >= b.length || (i < a.length && common[i + 1]![j]! >= common[i]![j + 1]!)) lines.push(removed(a[i++]!))
    else lines.push(added(b[j++]!))
  return lines
}
