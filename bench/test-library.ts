/** The waiting times of tests: servers in their own process that start, go back to a state and end. The built library, in a new process. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** How long something took, and how much of a processor: on a busy machine only the latter tells something. */
export type Took = { readonly ms: number; readonly cpuMs: number }

export type TestLibrary = {
  /** The first start of a process, the import of the library included, and later ones. */
  readonly firstStart: readonly Took[]
  readonly start: readonly Took[]
  readonly close: readonly Took[]
  /** Resets, by the work of the test before. */
  readonly reset: Readonly<Record<'little' | 'typical' | 'much', readonly Took[]>>
  readonly snapshot: readonly Took[]
  readonly restore: readonly Took[]
  /** Ten servers at once: until all are ready, until all are closed, and the memory of each. */
  readonly tenReady: readonly Took[]
  readonly tenClosed: readonly Took[]
  readonly mbEach: number
}

export async function testLibrary(quick: boolean): Promise<TestLibrary> {
  const script = fileURLToPath(new URL('test-library-process.mjs', import.meta.url))
  const args = ['--expose-gc', script, quick ? '5' : '15']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  for await (const chunk of child.stdout) text += chunk
  return JSON.parse(text)
}
