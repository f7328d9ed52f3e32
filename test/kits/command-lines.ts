/** Runs many command lines of the built command in one process: to start one costs a hundred times as much as to refuse an argument. */
import { join } from 'node:path'
import { type Finished, ROOT, run } from '../kit.ts'

/** Runs each in turn with its own output. Reads `[[arg, …], …]` from standard input and writes `[{ code, stdout, stderr }, …]`. */
const SCRIPT = `
  const { main } = require(process.argv[1])
  const lines = JSON.parse(require('node:fs').readFileSync(0, 'utf8'))
  const streams = ['stdout', 'stderr'].map(name => ({ name, write: process[name].write.bind(process[name]) }))
  ;(async () => {
    const results = []
    for (const args of lines) {
      const output = { stdout: '', stderr: '' }
      for (const { name } of streams) process[name].write = text => ((output[name] += text), true)
      const code = await main(args)
      results.push({ code, signal: null, ...output })
    }
    streams[0].write(JSON.stringify(results), () => process.exit(0))
  })()
`

/** The results of command lines that end by themselves and leave nothing open: errors in arguments, help. */
export async function commandLines(lines: readonly (readonly string[])[]): Promise<Finished[]> {
  const { code, stdout, stderr } = await run(process.execPath, ['-e', SCRIPT, join(ROOT, 'dist/cli.cjs')], { input: JSON.stringify(lines) })
  if (code !== 0) throw new Error(`command lines ended with ${code}: ${stderr}`)
  return JSON.parse(stdout)
}
