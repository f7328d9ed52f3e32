/** Formats the result of a replay. */
import type { Difference } from './differences.ts'
import type { StepResult } from './replay.ts'

const MAX_DIFFERENCES = 12
const MAX_CHARACTERS = 200

/** Steps with differences of one class, with these differences. */
export function describeDifferences(results: readonly StepResult[], sort: 'content' | 'wording' | 'allowed'): string[] {
  return results
    .filter(result => result[sort].length > 0)
    .map(({ file, name, step, request, [sort]: differences }) =>
      [`${file} · ${name} · step ${step}: ${request}`, ...differences.slice(0, MAX_DIFFERENCES).map(describe)].join('\n    '),
    )
}

const describe = ({ path, recorded, got }: Difference): string => `${path}: recorded ${shown(recorded)}, got ${shown(got)}`
const shown = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value).slice(0, MAX_CHARACTERS))

/** The number of equal steps, and of those that differ only in wording. */
export function summary(results: readonly StepResult[]): string {
  const count = (fits: (result: StepResult) => boolean) => results.filter(fits).length
  const same = count(({ content }) => content.length === 0)
  const other = count(({ content, wording }) => content.length === 0 && wording.length > 0)
  const known = count(({ content, wording, allowed }) => content.length + wording.length === 0 && allowed.length > 0)
  return `${same} of ${results.length} steps are the same: ${other} of them in other words, ${known} in words that are known to differ`
}
