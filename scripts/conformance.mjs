// Writes docs/conformance.md from reports of Kubernetes' e2e suite:
//   node scripts/conformance.mjs REPORT.json... [--local-images REPORT.json...] > docs/conformance.md
//
// The suite (`go test -vet=off -c ./test/e2e` at the version of docs/conformance.md, `--json-report`) runs against a server with
// `--nodes 2`. Several reports are parts of one run, such as that of the specs that must run alone. A spec in several reports counts as
// in the last of them. Reports after --local-images are of runs, one spec after the other, on a server with `--local-image` for the
// suite's own programs; they count for specs that do not pass without. Why a spec does not pass is in scripts/conformance-reasons.json: patterns of names, the first that fits.
import { readFileSync } from 'node:fs'

const given = process.argv.slice(2)
const divider = given.includes('--local-images') ? given.indexOf('--local-images') : given.length
const reports = given.slice(0, divider)
if (reports.length === 0) {
  console.error('usage: node scripts/conformance.mjs REPORT.json... [--local-images REPORT.json...] > docs/conformance.md')
  process.exit(2)
}

/** @type {{ version: string, reasons: { pattern: string, reason: string }[] }} */
const { version, reasons } = JSON.parse(readFileSync(new URL('conformance-reasons.json', import.meta.url), 'utf8'))

/**
 * The state of each spec that was run.
 * @param {readonly string[]} files
 */
function statesIn(files) {
  /** @type {Map<string, string>} */
  const states = new Map()
  for (const file of files)
    for (const { SpecReports } of JSON.parse(readFileSync(file, 'utf8')))
      for (const { LeafNodeType, LeafNodeText, ContainerHierarchyTexts, State } of SpecReports ?? []) {
        const name = [...(ContainerHierarchyTexts ?? []), LeafNodeText].join(' ')
        if (LeafNodeType === 'It' && name.includes('[Conformance]') && State !== 'skipped') states.set(name, State)
      }
  return states
}

const states = statesIn(reports)
const withPrograms = statesIn(given.slice(divider + 1))
const names = [...states.keys()].sort()
const outcomeOf = name =>
  states.get(name) === 'passed' ? 'passed' : withPrograms.get(name) === 'passed' ? 'passed with local images' : 'failed'
const local = names.filter(name => outcomeOf(name) === 'passed with local images')
const failed = names.filter(name => outcomeOf(name) === 'failed')
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
const count = (group, outcome) => names.filter(name => groupOf(name) === group && outcomeOf(name) === outcome).length
const passed = names.length - local.length - failed.length
/** How the programs are run. They read the token of their account at a fixed path, where a mount namespace puts it. */
const LOCAL_IMAGES = [
  `$ IN_CLUSTER="unshare --mount sh -c 'mount -t tmpfs none /run && mkdir -p /run/secrets && mount --rbind \\"\\$KEELSON_ROOT/var/run/secrets\\" /run/secrets && exec \\"\\$@\\"' sh"`,
  '$ keelson serve --nodes 2 --local-image "registry.k8s.io/e2e-test-images/agnhost=$IN_CLUSTER ./agnhost" \\',
  '    --local-image "registry.k8s.io/e2e-test-images/sample-apiserver=$IN_CLUSTER ./sample-apiserver" \\',
  "    --local-image 'registry.k8s.io/etcd=./etcd --data-dir=$(TMPDIR)/etcd'",
]
const lines = [
  '# Conformance',
  '',
  `Kubernetes marks ${names.length} specs of its e2e suite as conformance tests. This page is their outcome at ${version} on a server with two [simulated nodes](simulated-nodes.md); \`scripts/conformance.mjs\` makes it from the suite's own reports. ${passed} pass. ${local.length} more pass where [local images](simulated-nodes.md#containers-that-run-as-local-processes) run the suite's own programs, agnhost, sample-apiserver and etcd, as processes; these specs were run alone, one after the other, as two processes cannot listen on one port. The others need what a simulated node does not have.`,
  '',
  '| | pass | with local images | do not |',
  '|---|--:|--:|--:|',
  ...groups.map(
    group => `| ${group} | ${count(group, 'passed')} | ${count(group, 'passed with local images')} | ${count(group, 'failed')} |`,
  ),
  `| all | ${passed} | ${local.length} | ${failed.length} |`,
  '',
  '## Specs that do not pass',
  '',
  ...[...new Set(failed.map(reasonOf))].flatMap(reason => [
    `**${reason}**`,
    '',
    ...failed.filter(name => reasonOf(name) === reason).map(name => `- ${shown(name)}`),
    '',
  ]),
  '## Specs that pass with local images',
  '',
  '```console',
  ...LOCAL_IMAGES,
  '```',
  '',
  ...local.map(name => `- ${shown(name)}`),
  '',
  '## Specs that pass',
  '',
  ...names.filter(name => states.get(name) === 'passed').map(name => `- ${shown(name)}`),
]
console.log(lines.join('\n'))
