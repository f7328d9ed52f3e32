/**
 * `npm run parity -- [--kubeconfig FILE [--token TOKEN]] [--only TEXT] [--verbose]`: the recorded cases against any server, or this one.
 */
import { parseArgs } from 'node:util'
import { type Case, readAllowedWording, readCases } from './case.ts'
import { connect, replay, type StepResult } from './replay.ts'
import { describeDifferences, summary } from './report.ts'
import { startRecordedServer } from './server.ts'

const { values } = parseArgs({
  options: {
    kubeconfig: { type: 'string' },
    token: { type: 'string' },
    only: { type: 'string', default: '' },
    verbose: { type: 'boolean', default: false },
  },
})
const undo: (() => unknown)[] = []
try {
  const scope = { after: (f: () => unknown) => undo.push(f) }
  const server = values.kubeconfig === undefined ? await startRecordedServer(scope) : connect(values.kubeconfig, values.token)
  scope.after(() => server.close())
  const allowed = readAllowedWording()
  const results: StepResult[] = []
  for (const [file, cases] of byFile(readCases(values.only))) {
    const before = results.length
    for (const one of cases) results.push(...(await replay(server, one, allowed)))
    const same = results.slice(before).filter(({ content }) => content.length === 0).length
    print(`${String(same).padStart(4)}/${String(results.length - before).padEnd(4)} ${file}`)
  }
  print('', ...describeDifferences(results, 'content'), ...describeDifferences(results, 'wording'))
  if (values.verbose) print(...describeDifferences(results, 'allowed'))
  print('', summary(results))
  process.exitCode = results.length > 0 && results.every(({ content }) => content.length === 0) ? 0 : 1
} finally {
  for (const f of undo.reverse()) await f()
}

function byFile(cases: readonly Case[]): Map<string, Case[]> {
  const files = new Map<string, Case[]>()
  for (const one of cases) files.set(one.file, [...(files.get(one.file) ?? []), one])
  return files
}

function print(...lines: string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`)
}
