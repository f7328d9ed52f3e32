/** `npm run robustness -- --minutes N [--seed S] [--cli FILE]`: the robustness test for as long as asked, of this build or another. */
import { parseArgs } from 'node:util'
import { robustness } from './robustness.ts'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' }, seed: { type: 'string' }, cli: { type: 'string' } } })
const minutes = Number(values.minutes)
const seed = values.seed === undefined ? Date.now() % 2 ** 32 : Number(values.seed)
if (!(minutes > 0) || !Number.isSafeInteger(seed)) {
  process.stderr.write('usage: npm run robustness -- --minutes N [--seed S] [--cli FILE]\n')
  process.exit(2)
}
const undo: (() => unknown)[] = []
try {
  const log = (text: string) => process.stdout.write(`${text}\n`)
  const command = values.cli === undefined ? {} : { command: [process.execPath, values.cli] as [string, string] }
  const problem = await robustness({ after: f => undo.push(f) }, { ms: minutes * 60_000, seed, log, ...command })
  process.stdout.write(problem ?? 'clean\n')
  process.exitCode = problem === undefined ? 0 : 1
} finally {
  for (const f of undo.reverse()) await f()
}
