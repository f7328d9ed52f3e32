/** The difference between two texts, line by line. */

export type DiffLine = { readonly sign: ' ' | '+' | '-'; readonly text: string }

/** Texts of more lines are taken to be different from where they begin to differ to where they end to. */
const MOST_LINES = 2000

/** The fewest lines to take away and to add that make one text of the other. */
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
  if (a.length > MOST_LINES || b.length > MOST_LINES) return [...a.map(removed), ...b.map(added)]
  // common[i][j]: how many lines from i and j on can stay.
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
