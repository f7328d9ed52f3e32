/**
 * `npm run robustness -- --minutes N [--seed S] [--processes | --store etcd] [--cli FILE]`: the robustness test for that long, of this
 * build or another; of one server, of one with three processes, or of three servers on an etcd cluster.
 */
import { parseArgs } from 'node:util'
import { programsNamed } from '../programs.ts'
import { robustness } from './robustness.ts'

const USAGE = 'usage: npm run robustness -- --minutes N [--seed S] [--processes | --store etcd] [--cli FILE]\n'

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', short: 'h', default: false },
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string' },
    cli: { type: 'string' },
    store: { type: 'string', default: 'embedded' },
    processes: { type: 'boolean', default: false },
  },
})
if (values.help) {
  process.stdout.write(USAGE)
  process.exit(0)
}
const minutes = Number(values.minutes)
const seed = values.seed === undefined ? Date.now() % 2 ** 32 : Number(values.seed)
const [etcd] = values.store === 'etcd' ? programsNamed('etcd') : []
if (!(minutes > 0) || !Number.isSafeInteger(seed) || (values.store !== 'embedded' && etcd === undefined)) {
  process.stderr.write(USAGE)
  process.exit(2)
}
const undo: (() => unknown)[] = []
try {
  const log = (text: string) => process.stdout.write(`${text}\n`)
  const command = values.cli === undefined ? {} : { command: [process.execPath, values.cli] as [string, string] }
  const problem = await robustness(
    { after: f => undo.push(f) },
    { ms: minutes * 60_000, seed, log, isSeveral: values.processes, ...command, ...(etcd !== undefined && { etcd }) },
  )
  process.stdout.write(problem ?? 'clean\n')
  process.exitCode = problem === undefined ? 0 : 1
} finally {
  for (const f of undo.reverse()) await f()
}
