/** `npm run bench`: each figure beside its ceiling, measured alternately in the same run. */
import { ownArguments, positive } from './arguments.ts'
import { keepFigures, readFigures } from './figures.ts'
import { programsOf } from './kube-apiserver.ts'
import { rounded } from './numbers.ts'
import { sectionText, writePages } from './pages.ts'
import { AT_SCALE, type Choices, type Measurements, SECTIONS } from './sections.ts'
import { removeFolders } from './servers.ts'

const USAGE = `npm run bench -- [options]

  --all                every part; writes bench/figures.json and the pages that show it
  --only PART,...      some parts: start, requests, plain, store, growth, tests, workspaces, apis, workloads, admission, audit,
                       devices, etcd, processes, fairness, scale; prints only, unless --write is added
  --write              keeps the figures of --only, as --all does
  --quick              short rounds; prints only
  --pages              measures nothing, writes the pages again
  --help               prints this

Parts at scale take long, so they are measured only if --only names them: scheduler, dartboard, nodes, million, churn, executable. Their options:

  --size N             how many objects, nodes or writes
  --workload TEXT      which workloads of the scheduler
  --kube-apiserver PATH --etcd PATH
                       measures these programs in dartboard as well`

const options = ownArguments(USAGE, {
  all: { type: 'boolean' },
  only: { type: 'string' },
  write: { type: 'boolean' },
  quick: { type: 'boolean' },
  pages: { type: 'boolean' },
  size: { type: 'string' },
  workload: { type: 'string' },
  'kube-apiserver': { type: 'string' },
  etcd: { type: 'string' },
})
const quick = options.quick === true
const isKept = !quick && (options.all === true || options.write === true)
const only = options.only?.split(',')
const { workload } = options
const size = positive('size', options.size)
const choices: Choices = {
  ...(size !== undefined && { size }),
  ...(workload !== undefined && { workload }),
  ...(options['kube-apiserver'] !== undefined && { programs: programsOf(options) }),
}
const names = Object.keys(SECTIONS) as (keyof Measurements)[]
const unknown = only?.filter(name => !names.some(known => known === name)) ?? []
if (unknown.length > 0) throw new Error(`no such part: ${unknown.join(', ')}; there are ${names.join(', ')}`)

if (options.pages) writePages(readFigures())
else
  try {
    for (const name of names.filter(name => (only === undefined ? !AT_SCALE.includes(name) : only.includes(name)))) await measure(name)
  } finally {
    removeFolders()
  }

/** Results are saved at once: a part that fails does not lose the others. */
async function measure<Name extends keyof Measurements>(name: Name): Promise<void> {
  const began = performance.now()
  const figures: Measurements[Name] | undefined = await SECTIONS[name](quick, choices)
  process.stderr.write(`${name}: ${((performance.now() - began) / 1000).toFixed(0)} s\n`)
  if (figures === undefined) return void process.stderr.write(`${name}: cannot be measured on this machine\n`)
  process.stdout.write(`${sectionText(name, rounded(figures))}\n\n`)
  if (isKept) writePages(keepFigures({ [name]: figures }))
}
