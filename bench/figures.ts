/** The one file of all figures, `figures.json`. Benchmarks write it, pages are written from it, and nothing else has figures of its own. */
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import type { Comparison } from './compare-servers.ts'
import { rounded } from './numbers.ts'
import type { Measurements } from './sections.ts'

/** `load` is that of the last minutes, with the benchmarks' own. */
export type Machine = {
  readonly node: string
  readonly arch: string
  readonly processor: string
  readonly cores: number
  readonly load: number
}

/** Each part says on which machine it was measured. */
export type Figures = { readonly [Name in keyof AllParts]?: AllParts[Name] & { readonly machine: Machine } }
type AllParts = Measurements & { readonly compare: Comparison }

export const FIGURES_FILE = new URL('figures.json', import.meta.url)

export const readFigures = (): Figures => JSON.parse(readFileSync(FIGURES_FILE, 'utf8')) as Figures

/** Replaces what has been measured again; the rest stays. */
export function keepFigures(measured: Partial<AllParts>): Figures {
  const machine = thisMachine()
  const parts = Object.entries(measured).map(([name, part]) => [name, { machine, ...rounded(part) }])
  const figures = { ...readFigures(), ...Object.fromEntries(parts) } as Figures
  writeFileSync(FIGURES_FILE, fileText(figures))
  return figures
}

/** In the form of the formatter, which puts lists of numbers on one line. */
const fileText = (figures: Figures): string =>
  `${JSON.stringify(figures, undefined, 2).replaceAll(/\[([\d.,\s-]+)\]/g, (_, numbers: string) => `[${numbers.trim().split(/,\s+/).join(', ')}]`)}\n`

function thisMachine(): Machine {
  const [first, ...more] = cpus()
  return {
    node: process.versions.node,
    arch: process.arch,
    processor: first!.model.trim(),
    cores: more.length + 1,
    load: Math.round(loadavg()[1]!),
  }
}
