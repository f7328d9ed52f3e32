/**
 * Sets of completion indexes as intervals in order that neither overlap nor touch:
 *
 *     parseIndexSet('0,2-4,6', 6)                       [[0, 0], [2, 4]]       indexes from 6 on are left out
 *     withIndexes([[0, 0], [2, 4]], [1, 7])             [[0, 4], [7, 7]]
 *     formatIndexSet([[0, 4], [7, 8]])                  '0-4,7,8'
 */
export type Interval = readonly [first: number, last: number]
export type IndexSet = readonly Interval[]

/** Reads a text of the status or of a success policy. Parts that cannot be read are left out. */
export function parseIndexSet(text: string, completions: number): IndexSet {
  const read: Interval[] = []
  for (const part of text === '' ? [] : text.split(',')) {
    const [firstText = '', lastText = firstText] = part.split('-')
    const [first, last] = [readIndex(firstText), readIndex(lastText)]
    if (first === undefined) continue
    if (first >= completions) break
    if (last !== undefined && last >= first) read.push([first, Math.min(last, completions - 1)])
  }
  return union(read, [])
}

const readIndex = (text: string): number | undefined => (/^\+?[0-9]{1,10}$/.test(text) ? Number(text) : undefined)

/** Two indexes in a row are written with a comma, longer runs with a hyphen. */
export const formatIndexSet = (set: IndexSet): string =>
  set.map(([first, last]) => (last === first ? `${first}` : `${first}${last === first + 1 ? ',' : '-'}${last}`)).join(',')

export function union(a: IndexSet, b: IndexSet): IndexSet {
  const merged: [number, number][] = []
  for (const [first, last] of [...a, ...b].sort((x, y) => x[0] - y[0])) {
    const previous = merged.at(-1)
    if (previous && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last)
    else merged.push([first, last])
  }
  return merged
}

/** The set and further indexes, in any order. */
export const withIndexes = (set: IndexSet, indexes: Iterable<number>): IndexSet =>
  union(
    set,
    Array.from(indexes, index => [index, index] as const),
  )

export const sizeOf = (set: IndexSet): number => set.reduce((size, [first, last]) => size + last - first + 1, 0)

export function hasIndex(set: IndexSet, index: number): boolean {
  let [low, high] = [0, set.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (set[middle]![1] >= index) high = middle
    else low = middle + 1
  }
  return low < set.length && set[low]![0] <= index
}

/** How many indexes two sets share. */
export function sharedSize(a: IndexSet, b: IndexSet): number {
  let shared = 0
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const [[first, last], [otherFirst, otherLast]] = [a[i]!, b[j]!]
    shared += Math.max(0, Math.min(last, otherLast) - Math.max(first, otherFirst) + 1)
    if (last <= otherLast) i++
    if (otherLast <= last) j++
  }
  return shared
}

/** The first indexes below `completions` that are not in a set, `count` of them at most. */
export function firstMissing(set: IndexSet, completions: number, count: number): number[] {
  const missing: number[] = []
  let candidate = 0
  for (const [first, last] of [...set, [completions, completions] as const]) {
    while (missing.length < count && candidate < Math.min(first, completions)) missing.push(candidate++)
    candidate = Math.max(candidate, last + 1)
  }
  return missing
}
