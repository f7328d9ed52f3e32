/** The server's metrics, as text of Prometheus: read, summed, and turned into rates. */
import { getText } from './api.ts'

export type Sample = { readonly labels: Readonly<Record<string, string>>; readonly value: number }
export type Metrics = ReadonlyMap<string, readonly Sample[]>

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/

/** Only the named metrics: the text has thousands of lines. */
export function readMetrics(text: string, names: ReadonlySet<string>): Metrics {
  const found = new Map<string, Sample[]>()
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const end = line.search(/[{ ]/)
    const name = line.slice(0, end)
    if (!names.has(name)) continue
    const [, , labels = '', value = ''] = LINE.exec(line) ?? []
    const samples = found.get(name) ?? []
    samples.push({ labels: labelsOf(labels), value: Number(value) })
    found.set(name, samples)
  }
  return found
}

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = {}
  for (const [, name, value] of text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g))
    labels[name!] = value!.replace(/\\(.)/g, (_, char) => (char === 'n' ? '\n' : char))
  return labels
}

export async function loadMetrics(names: ReadonlySet<string>, signal?: AbortSignal): Promise<Metrics> {
  return readMetrics(await getText('/metrics', signal ? { signal } : {}), names)
}

export const sum = (samples: readonly Sample[] | undefined, fits: (labels: Sample['labels']) => boolean = () => true): number =>
  (samples ?? []).reduce((total, { labels, value }) => (fits(labels) ? total + value : total), 0)

/** A quantile of the requests between two readings of a histogram, in seconds. */
export function quantile(
  share: number,
  now: readonly Sample[] = [],
  before: readonly Sample[] = [],
  fits: (labels: Sample['labels']) => boolean = () => true,
): number | undefined {
  const counts = new Map<number, number>()
  const add = (samples: readonly Sample[], sign: number) => {
    for (const { labels, value } of samples)
      if (fits(labels)) {
        const bound = labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le'])
        counts.set(bound, (counts.get(bound) ?? 0) + sign * value)
      }
  }
  add(now, 1)
  add(before, -1)
  const bounds = [...counts.keys()].sort((a, b) => a - b)
  const total = counts.get(Number.POSITIVE_INFINITY) ?? 0
  if (total <= 0) return undefined
  let [lower, below] = [0, 0]
  for (const bound of bounds) {
    const count = counts.get(bound)!
    if (count >= share * total) {
      if (bound === Number.POSITIVE_INFINITY) return lower
      return lower + ((bound - lower) * (share * total - below)) / Math.max(1, count - below)
    }
    ;[lower, below] = [bound, count]
  }
  return lower
}
