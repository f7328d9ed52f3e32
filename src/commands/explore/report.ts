/** The report of an exploration, as text and as JSON, with the command that repeats each finding. */
import type { ExploreFinding, ExploreReport } from '../../public.d.ts'

/** The command that tries the perturbation of a finding alone. */
export type Repeat = (finding: ExploreFinding) => string

export function textOf({ seed, planned, tried, unreached, findings, notes }: ExploreReport, repeat: Repeat): string {
  const parts = findings.map((finding, i) => findingText(finding, { number: i + 1, repeat }))
  const counts = `${tried} of ${planned} perturbations tried${unreached > 0 ? `, ${unreached} of them did not come to pass` : ''}, seed ${seed}`
  const summary = findings.length === 0 ? 'no findings' : findings.length === 1 ? '1 finding' : `${findings.length} findings`
  return `${parts.map(part => `${part}\n`).join('')}${notes.map(note => `note: ${note}\n`).join('')}${summary}; ${counts}\n`
}

function findingText(finding: ExploreFinding, { number, repeat }: { readonly number: number; readonly repeat: Repeat }): string {
  const { kind, perturbation, problems, trace, others } = finding
  return [
    `${number}. ${kind}: ${perturbation}`,
    ...problems.map(problem => `   ${indented(problem)}`),
    '   trace:',
    ...trace.map(line => `     ${line}`),
    ...(others.length > 0 ? [`   the same with: ${others.join(', ')}`] : []),
    `   repeat: ${repeat(finding)}`,
    '',
  ].join('\n')
}

const indented = (text: string): string => text.replaceAll('\n', '\n   ')

export const jsonOf = ({ findings, ...report }: ExploreReport, repeat: Repeat): string =>
  `${JSON.stringify({ ...report, findings: findings.map(finding => ({ ...finding, repeat: repeat(finding) })) }, undefined, 2)}\n`

/** An argument as a shell reads it. */
export const quoted = (argument: string): string =>
  /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`
