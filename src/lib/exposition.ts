/** Metrics, and the formats in which Prometheus reads them. */

export type Labels = Readonly<Record<string, string>>

export type Family = { readonly name: string; readonly help: string } & (
  | {
      readonly type: 'counter' | 'gauge'
      /** How the values of several processes of one server become one; by default they are added. */
      readonly across?: 'sum' | 'max' | 'min' | 'mean'
      readonly samples: readonly (readonly [labels: Labels, value: number])[]
    }
  | {
      readonly type: 'histogram'
      readonly across?: undefined
      readonly samples: readonly (readonly [labels: Labels, histogram: Observations])[]
    }
)

/** The counts of a histogram; with native buckets where it has them. */
export type Observations = Pick<Histogram, 'bounds' | 'counts' | 'sum' | 'count'> & Partial<Pick<Histogram, 'native' | 'zeros'>>

/** The resolution of native buckets: each is 2^(1/8) times as wide as the one before. */
export const NATIVE_SCHEMA = 3

/** Observations are counted in batches: one by one, they would cost a request more than all its other metrics. */
const MAX_UNCOUNTED = 64

/** Counts of observations up to each bound, and in native buckets, which need no bounds. */
export class Histogram {
  readonly bounds: readonly number[]
  readonly #counts: Float64Array
  readonly #native = new Map<number, number>()
  readonly #values = new Float64Array(MAX_UNCOUNTED)
  #uncounted = 0
  #zeros = 0
  #sum = 0
  #count = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.#counts = new Float64Array(bounds.length)
  }

  observe(value: number): void {
    this.#values[this.#uncounted++] = value
    if (this.#uncounted === MAX_UNCOUNTED) this.#countAll()
  }

  /** Counts zero `times` times. */
  observeZeros(times: number): void {
    this.#zeros += times
    this.#count += times
    if (this.#counts.length > 0) this.#counts[0]! += times
  }

  get counts(): Float64Array {
    this.#countAll()
    return this.#counts
  }

  get native(): ReadonlyMap<number, number> {
    this.#countAll()
    return this.#native
  }

  get zeros(): number {
    this.#countAll()
    return this.#zeros
  }

  get sum(): number {
    this.#countAll()
    return this.#sum
  }

  get count(): number {
    return this.#count + this.#uncounted
  }

  #countAll(): void {
    for (let i = 0; i < this.#uncounted; i++) this.#countOne(this.#values[i]!)
    this.#count += this.#uncounted
    this.#uncounted = 0
  }

  #countOne(value: number): void {
    this.#sum += value
    if (value > 0) {
      const bucket = Math.ceil(Math.log2(value) * 2 ** NATIVE_SCHEMA)
      this.#native.set(bucket, (this.#native.get(bucket) ?? 0) + 1)
    } else this.#zeros++
    for (let i = 0; i < this.bounds.length; i++) {
      if (value <= this.bounds[i]!) {
        this.#counts[i]!++
        return
      }
    }
  }
}

/** Families of metrics as OpenMetrics text: counters are named without `_total`, and the end is marked. */
export function openMetricsExposition(families: readonly Family[]): string {
  let text = ''
  for (const family of families) {
    const isTotal = family.name.endsWith('_total')
    const type = family.type === 'counter' && !isTotal ? 'unknown' : family.type
    text +=
      headOf(type === 'counter' ? family.name.slice(0, -'_total'.length) : family.name, family.help, type) + samplesOf(family, floatText)
  }
  return `${text}# EOF\n`
}

/** Families of metrics in Prometheus text format. */
export function exposition(families: readonly Family[]): string {
  return families.map(family => headOf(family.name, family.help, family.type) + samplesOf(family, numberText)).join('')
}

const headOf = (name: string, help: string, type: string) => `# HELP ${name} ${help.replace(/[\\\n]/g, ' ')}\n# TYPE ${name} ${type}\n`

function samplesOf(family: Family, boundText: (bound: number) => string): string {
  let text = ''
  if (family.type === 'histogram')
    for (const [labels, histogram] of family.samples) text += histogramLines(family.name, labels, { histogram, boundText })
  else for (const [labels, value] of family.samples) text += `${family.name}${labelText(labels)} ${numberText(value)}\n`
  return text
}

type Lines = { readonly histogram: Observations; readonly boundText: (bound: number) => string }

function histogramLines(name: string, labels: Labels, { histogram: { bounds, counts, sum, count }, boundText }: Lines): string {
  let text = ''
  let seen = 0
  bounds.forEach((bound, i) => {
    seen += counts[i]!
    text += `${name}_bucket${labelText({ ...labels, le: boundText(bound) })} ${seen}\n`
  })
  text += `${name}_bucket${labelText({ ...labels, le: '+Inf' })} ${count}\n`
  return `${text}${name}_sum${labelText(labels)} ${numberText(sum)}\n${name}_count${labelText(labels)} ${count}\n`
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

const escapeLabel = (value: string) => value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')

const numberText = (value: number) =>
  value === Number.POSITIVE_INFINITY ? '+Inf' : value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)

/** A bound as OpenMetrics requires: always with a decimal point. */
const floatText = (value: number) => (Number.isInteger(value) && Math.abs(value) < 1e21 ? `${value}.0` : numberText(value))
