// Writes docs/conformance.md from reports of Kubernetes' e2e suite: node scripts/conformance.mjs REPORT.json... > docs/conformance.md
//
// The suite (`go test -vet=off -c ./test/e2e` at the version of docs/conformance.md, `--json-report`) runs against a server with
// `--nodes 2`. Several reports are parts of one run, such as that of the specs that must run alone. A spec in several reports counts as
// in the last of them. Why a spec does not pass is in scripts/conformance-reasons.json: patterns of names, the first that fits.
import { readFileSync } from 'node:fs'

const reports = process.argv.slice(2)
if (reports.length === 0) {
  console.error('usage: node scripts/conformance.mjs REPORT.json... > docs/conformance.md')
  process.exit(2)
}

/** @type {{ version: string, reasons: { pattern: string, reason: string }[] }} */
const { version, reasons } = JSON.parse(readFileSync(new URL('conformance-reasons.json', import.meta.url), 'utf8'))

/** @type {Map<string, string>} */
const states = new Map()
for (const file of reports)
  for (const { SpecReports } of JSON.parse(readFileSync(file, 'utf8')))
    for (const { LeafNodeType, LeafNodeText, ContainerHierarchyTexts, State } of SpecReports ?? []) {
      const name = [...(ContainerHierarchyTexts ?? []), LeafNodeText].join(' ')
      if (LeafNodeType === 'It' && name.includes('[Conformance]') && State !== 'skipped') states.set(name, State)
    }

const names = [...states.keys()].sort()
const failed = names.filter(name => states.get(name) !== 'passed')
const reasonOf = name => reasons.find(({ pattern }) => new RegExp(pattern).test(name))?.reason
const unexplained = failed.filter(name => reasonOf(name) === undefined)
if (unexplained.length > 0) {
  console.error(`no reason in scripts/conformance-reasons.json for:\n${unexplained.join('\n')}`)
  process.exit(1)
}

const shown = name =>
  name.replace(/ ?\[(Conformance|NodeConformance|LinuxOnly|Serial|MinimumKubeletVersion:[^\]]+)\]/g, '').replaceAll('|', '\\|')
const groupOf = name => /^\[([^\]]+)\]/.exec(name)?.[1] ?? ''
const groups = [...new Set(names.map(groupOf))]
const count = (group, state) => names.filter(name => groupOf(name) === group && (states.get(name) === 'passed') === state).length
const lines = [
  '# Conformance',
  '',
  `Kubernetes marks ${names.length} specs of its e2e suite as conformance tests. This page is their outcome at ${version} on a server with two [simulated nodes](simulated-nodes.md); \`scripts/conformance.mjs\` makes it from the suite's own reports. ${names.length - failed.length} pass. The others need what a simulated node does not have.`,
  '',
  '| | pass | do not |',
  '|---|--:|--:|',
  ...groups.map(group => `| ${group} | ${count(group, true)} | ${count(group, false)} |`),
  `| all | ${names.length - failed.length} | ${failed.length} |`,
  '',
  '## Specs that do not pass',
  '',
  ...[...new Set(failed.map(reasonOf))].flatMap(reason => [
    `**${reason}**`,
    '',
    ...failed.filter(name => reasonOf(name) === reason).map(name => `- ${shown(name)}`),
    '',
  ]),
  '## Specs that pass',
  '',
  ...names.filter(name => states.get(name) === 'passed').map(name => `- ${shown(name)}`),
]
console.log(lines.join('\n'))
