/** Runs a command line in the process of the test: to start a process for it costs ten to a hundred times as much as most commands do. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { main } from '../../src/cli.ts'
import type { Finished } from '../kit.ts'

type Output = { readonly stdout: Buffer[]; readonly stderr: Buffer[] }

const commands = new AsyncLocalStorage<Output>()
let isRunning = false

/**
 * Runs a command line to its end, as `keelson` of `test/kit.ts` does in a process. Not for commands that serve or that start programs: signals
 * and the output of programs belong to the process. One at a time, since all have the same output. Each command is run by some test in a
 * process of its own as well.
 */
export async function keelsonHere(...args: readonly string[]): Promise<Finished> {
  if (isRunning) throw new Error('one command at a time: wait for the last one')
  isRunning = true
  const output: Output = { stdout: [], stderr: [] }
  const undo = [capture('stdout'), capture('stderr')]
  try {
    const code = await commands.run(output, () => main(args))
    const [stdout, stderr] = [output.stdout, output.stderr].map(chunks => Buffer.concat(chunks).toString()) as [string, string]
    return { code, signal: null, stdout, stderr }
  } finally {
    for (const restore of undo.reverse()) restore()
    // Node follows every promise of the process while there is a store: only as long as a command runs.
    commands.disable()
    isRunning = false
  }
}

/** Keeps for a command what it writes, and nothing that the test or a server of this process writes. The result undoes it. */
function capture(name: keyof Output): () => void {
  const stream = process[name]
  const { write } = stream
  stream.write = ((chunk: string | Uint8Array, ...rest: unknown[]) => {
    const output = commands.getStore()
    if (output === undefined) return Reflect.apply(write, stream, [chunk, ...rest])
    output[name].push(Buffer.from(chunk as string))
    const written = rest.findLast(each => typeof each === 'function') as (() => void) | undefined
    if (written) process.nextTick(written)
    return true
  }) as typeof stream.write
  return () => {
    stream.write = write
  }
}

/** The results of command lines, one after the other. */
export async function commandLines(lines: readonly (readonly string[])[]): Promise<Finished[]> {
  const results: Finished[] = []
  for (const args of lines) results.push(await keelsonHere(...args))
  return results
}
