/** Metrics of several processes that are one server, as if they were of one process; and their form between processes. */
import type { Family, Labels, Observations } from './exposition.ts'

/** The samples of all families of the same name with the same labels become one, as the family says. */
export function combinedFamilies(all: readonly (readonly Family[])[]): Family[] {
  const byName = new Map<string, Family[]>()
  for (const family of all.flat()) {
    const same = byName.get(family.name)
    if (same) same.push(family)
    else byName.set(family.name, [family])
  }
  return [...byName.values()].map(combined)
}

/** Those that only grow, and so must not shrink when the process ends that has counted them. */
export const countersOf = (families: readonly Family[]): Family[] => families.filter(({ type }) => type !== 'gauge')

function combined(families: readonly Family[]): Family {
  const [first] = families as [Family]
  if (families.length === 1) return first
  if (first.type === 'histogram') {
    const grouped = grouping(families as readonly Extract<Family, { type: 'histogram' }>[])
    return { ...first, samples: grouped.map(([labels, values]) => [labels, values.reduce(addedUp)] as const) }
  }
  const combine = COMBINE[first.across ?? 'sum']
  const grouped = grouping(families as readonly Exclude<Family, { type: 'histogram' }>[])
  return { ...first, samples: grouped.map(([labels, values]) => [labels, combine(values)] as const) }
}

function grouping<V>(families: readonly { readonly samples: readonly (readonly [Labels, V])[] }[]): (readonly [Labels, V[]])[] {
  const byLabels = new Map<string, readonly [Labels, V[]]>()
  for (const [labels, value] of families.flatMap(({ samples }) => samples)) {
    const key = JSON.stringify(Object.entries(labels).sort())
    const known = byLabels.get(key)
    if (known) known[1].push(value)
    else byLabels.set(key, [labels, [value]])
  }
  return [...byLabels.values()]
}

const COMBINE: Readonly<Record<NonNullable<Family['across']>, (values: readonly number[]) => number>> = {
  sum: values => values.reduce((sum, value) => sum + value, 0),
  max: values => Math.max(...values),
  min: values => Math.min(...values),
  mean: values => values.reduce((sum, value) => sum + value, 0) / values.length,
}

/** The sum of two histograms with the same bounds. */
export function addedUp(a: Observations, b: Observations): Observations {
  const native = a.native && b.native && new Map(a.native)
  for (const [bucket, count] of native ? b.native! : []) native!.set(bucket, (native!.get(bucket) ?? 0) + count)
  return {
    bounds: a.bounds,
    counts: a.counts.map((count, i) => count + b.counts[i]!),
    sum: a.sum + b.sum,
    count: a.count + b.count,
    ...(native && { native, zeros: (a.zeros ?? 0) + (b.zeros ?? 0) }),
  }
}

/** Families as text, and back. */
export function familiesText(families: readonly Family[]): string {
  return JSON.stringify(families.map(family => (family.type === 'histogram' ? { ...family, samples: family.samples.map(plain) } : family)))
}

export function parseFamilies(text: string): Family[] {
  const families = JSON.parse(text) as (Exclude<Family, { type: 'histogram' }> | PlainHistograms)[]
  return families.map(family =>
    family.type === 'histogram' ? { ...family, samples: family.samples.map(([labels, of]) => [labels, observations(of)]) } : family,
  )
}

type PlainHistogram = {
  readonly bounds: readonly number[]
  readonly counts: readonly number[]
  readonly sum: number
  readonly count: number
  readonly native?: readonly (readonly [number, number])[]
  readonly zeros?: number
}
type PlainHistograms = { readonly name: string; readonly help: string } & {
  readonly type: 'histogram'
  readonly samples: readonly (readonly [Labels, PlainHistogram])[]
}

const plain = ([labels, { bounds, counts, sum, count, native, zeros }]: readonly [Labels, Observations]) =>
  [labels, { bounds, counts: [...counts], sum, count, ...(native && { native: [...native], zeros }) }] as const

const observations = ({ counts, native, ...rest }: PlainHistogram): Observations => ({
  ...rest,
  counts: Float64Array.from(counts),
  ...(native && { native: new Map(native) }),
})
