/**
 * The difference between two texts in the format of `diff -u`, with the same blocks as Go's difflib finds: the longest run of common lines,
 * then those before and after it. Frequent lines of a long text begin no run.
 */

const CONTEXT = 3
/** The number of lines of a long text; lines that make up more than a hundredth of it are too frequent to begin a run. */
const LONG_TEXT = 200
/** Steps after which the rest counts as different: hostile texts would take very long. */
const MAX_STEPS = 2_000_000

/** `before` and `after` are lines without their line breaks. */
export function unifiedDiff(before: readonly string[], after: readonly string[]): string {
  return groupsOf(changesBetween(before, after))
    .map(group => {
      const [first, last] = [group[0]!, group.at(-1)!]
      const lines = group.flatMap(({ isSame, from, to }) => [
        ...before.slice(from[0], from[1]).map(line => `${isSame ? ' ' : '-'}${line}\n`),
        ...(isSame ? [] : after.slice(to[0], to[1]).map(line => `+${line}\n`)),
      ])
      return `@@ -${rangeOf(first.from[0], last.from[1])} +${rangeOf(first.to[0], last.to[1])} @@\n${lines.join('')}`
    })
    .join('')
}

const rangeOf = (start: number, end: number): string => {
  const length = end - start
  return length === 1 ? String(start + 1) : `${length === 0 ? start : start + 1},${length}`
}

type Range = readonly [start: number, end: number]
/** Lines of the first text, and the lines of the second in their place. */
type Change = { readonly isSame: boolean; readonly from: Range; readonly to: Range }

function changesBetween(before: readonly string[], after: readonly string[]): Change[] {
  const changes: Change[] = []
  let [i, j] = [0, 0]
  for (const { at, in: to, size } of [...new Matching(before, after).runs(), { at: before.length, in: after.length, size: 0 }]) {
    if (i < at || j < to) changes.push({ isSame: false, from: [i, at], to: [j, to] })
    ;[i, j] = [at + size, to + size]
    if (size > 0) changes.push({ isSame: true, from: [at, i], to: [to, j] })
  }
  return changes
}

/** Changes with their context lines; changes close to each other form one group. */
function groupsOf(changes: readonly Change[]): Change[][] {
  const groups: Change[][] = []
  let group: Change[] = []
  for (const [index, change] of changes.entries()) {
    const { isSame, from, to } = change
    const length = from[1] - from[0]
    const [isFirst, isLast] = [index === 0, index === changes.length - 1]
    const lead: Change = { isSame, from: [Math.max(from[0], from[1] - CONTEXT), from[1]], to: [Math.max(to[0], to[1] - CONTEXT), to[1]] }
    const tail: Change = { isSame, from: [from[0], Math.min(from[1], from[0] + CONTEXT)], to: [to[0], Math.min(to[1], to[0] + CONTEXT)] }
    if (!isSame) group.push(change)
    else if (isFirst) group.push(lead)
    else if (isLast) group.push(tail)
    else if (length <= 2 * CONTEXT) group.push(change)
    else {
      groups.push([...group, tail])
      group = [lead]
    }
  }
  if (group.some(({ isSame }) => !isSame)) groups.push(group)
  return groups
}

/** Common lines: where they begin in each text, and their number. */
type Run = { readonly at: number; readonly in: number; readonly size: number }

class Matching {
  readonly #before: readonly string[]
  readonly #after: readonly string[]
  /** The indexes of each line of the second text. */
  readonly #places = new Map<string, number[]>()
  #steps = 0

  constructor(before: readonly string[], after: readonly string[]) {
    this.#before = before
    this.#after = after
    for (const [j, line] of after.entries()) {
      const places = this.#places.get(line)
      if (places) places.push(j)
      else this.#places.set(line, [j])
    }
    const most = Math.floor(after.length / 100) + 1
    if (after.length >= LONG_TEXT) for (const [line, places] of this.#places) if (places.length > most) this.#places.delete(line)
  }

  /** All runs in order; adjacent runs are joined. */
  runs(): Run[] {
    const found: Run[] = []
    const waiting: (Run | readonly [Range, Range])[] = [
      [
        [0, this.#before.length],
        [0, this.#after.length],
      ],
    ]
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      if (!isPair(next)) {
        const last = found.at(-1)
        const isNext = last && last.at + last.size === next.at && last.in + last.size === next.in
        if (isNext) found[found.length - 1] = { ...last, size: last.size + next.size }
        else found.push(next)
        continue
      }
      const [from, to] = next
      const run = this.#longest(from, to)
      if (run.size === 0) continue
      const [endAt, endIn] = [run.at + run.size, run.in + run.size]
      if (endAt < from[1] && endIn < to[1])
        waiting.push([
          [endAt, from[1]],
          [endIn, to[1]],
        ])
      waiting.push(run)
      if (from[0] < run.at && to[0] < run.in)
        waiting.push([
          [from[0], run.at],
          [to[0], run.in],
        ])
    }
    return found
  }

  /** The longest run, the first of several. */
  #longest(from: Range, to: Range): Run {
    let [at, place, size] = [from[0], to[0], 0]
    let lengths = new Map<number, number>()
    for (let i = from[0]; i < from[1] && this.#steps < MAX_STEPS; i++) {
      const next = new Map<number, number>()
      for (const j of this.#places.get(this.#before[i]!) ?? []) {
        this.#steps++
        if (j < to[0]) continue
        if (j >= to[1]) break
        const length = (lengths.get(j - 1) ?? 0) + 1
        next.set(j, length)
        if (length > size) [at, place, size] = [i - length + 1, j - length + 1, length]
      }
      lengths = next
      this.#steps++
    }
    while (at > from[0] && place > to[0] && this.#before[at - 1] === this.#after[place - 1])
      [at, place, size] = [at - 1, place - 1, size + 1]
    while (at + size < from[1] && place + size < to[1] && this.#before[at + size] === this.#after[place + size]) size++
    return { at, in: place, size }
  }
}

const isPair = (next: Run | readonly [Range, Range]): next is readonly [Range, Range] => Array.isArray(next)
