/**
 * `npm run bench`: each figure beside its ceiling, measured alternately in the same run.
 *
 *   npm run bench -- --all                  everything; writes bench/figures.json and the pages that show it
 *   npm run bench -- --only start,requests  some parts: start, requests, plain, store, growth, tests, workloads, admission, devices, etcd,
 *                                           processes, fairness, scale; prints only, unless --write is added
 *   npm run bench -- --only dartboard       the parts at scale, which take long and are measured only when they are named: scheduler,
 *                                           dartboard, nodes, million, churn. --size N says how many objects, nodes or writes;
 *                                           --workload TEXT which workloads of the scheduler; --kube-apiserver PATH --etcd PATH
 *                                           have dartboard measure these as well
 *   npm run bench -- --quick                everything in short rounds; prints only
 *   npm run bench -- --pages                measures nothing, writes the pages again
 */
import { keepFigures, readFigures } from './figures.ts'
import { programsOf } from './kube-apiserver.ts'
import { rounded } from './numbers.ts'
import { sectionText, writePages } from './pages.ts'
import { AT_SCALE, type Choices, type Measurements, SECTIONS } from './sections.ts'
import { removeFolders } from './servers.ts'

const args = process.argv.slice(2)
const quick = args.includes('--quick')
const isKept = !quick && (args.includes('--all') || args.includes('--write'))
const flag = (name: string) => (args.includes(`--${name}`) ? args[args.indexOf(`--${name}`) + 1] : undefined)
const only = flag('only')?.split(',')
const [size, workload] = [flag('size'), flag('workload')]
const choices: Choices = {
  ...(size !== undefined && { size: Number(size) }),
  ...(workload !== undefined && { workload }),
  ...(flag('kube-apiserver') !== undefined && { programs: programsOf(flag) }),
}
const names = Object.keys(SECTIONS) as (keyof Measurements)[]
const unknown = only?.filter(name => !names.some(known => known === name)) ?? []
if (unknown.length > 0) throw new Error(`no such part: ${unknown.join(', ')}; there are ${names.join(', ')}`)

if (args.includes('--pages')) writePages(readFigures())
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
