/** The text form in which Prometheus reads metrics. */

export type Labels = Readonly<Record<string, string>>

export type Family = { readonly name: string; readonly help: string } & (
  | { readonly type: 'counter' | 'gauge'; readonly samples: readonly (readonly [labels: Labels, value: number])[] }
  | { readonly type: 'histogram'; readonly samples: readonly (readonly [labels: Labels, histogram: Histogram])[] }
)

/** Counts of observations up to each bound. */
export class Histogram {
  readonly bounds: readonly number[]
  readonly counts: Float64Array
  sum = 0
  count = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length)
  }

  observe(value: number): void {
    this.sum += value
    this.count++
    for (let i = 0; i < this.bounds.length; i++) {
      if (value <= this.bounds[i]!) {
        this.counts[i]!++
        return
      }
    }
  }
}

/** Families of metrics as one text. */
export function exposition(families: readonly Family[]): string {
  let text = ''
  for (const family of families) {
    text += `# HELP ${family.name} ${family.help.replace(/[\\\n]/g, ' ')}\n# TYPE ${family.name} ${family.type}\n`
    if (family.type === 'histogram')
      for (const [labels, histogram] of family.samples) text += histogramLines(family.name, labels, histogram)
    else for (const [labels, value] of family.samples) text += `${family.name}${labelText(labels)} ${numberText(value)}\n`
  }
  return text
}

function histogramLines(name: string, labels: Labels, { bounds, counts, sum, count }: Histogram): string {
  let text = ''
  let seen = 0
  bounds.forEach((bound, i) => {
    seen += counts[i]!
    text += `${name}_bucket${labelText({ ...labels, le: numberText(bound) })} ${seen}\n`
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
