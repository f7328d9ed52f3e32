/** Test support: a process without special privileges that tries to open stores and reports the result. */
import { openEmbeddedStore } from '../../../src/storage/embedded/embedded.ts'

const NOBODY = 65_534

/** The error of each directory; empty if it was opened. */
export type Refusals = string[]

async function tryToOpen(dir: string): Promise<string> {
  try {
    await (await openEmbeddedStore({ dir })).close()
    return ''
  } catch (error) {
    return `${(error as Error).constructor.name}: ${(error as Error).message}`
  }
}

// Loaded while this process may still read every file.
await import('lmdb')
if (process.getuid?.() === 0) {
  process.setgid!(NOBODY)
  process.setuid!(NOBODY)
}
const refusals: Refusals = []
for (const dir of process.argv.slice(2)) refusals.push(await tryToOpen(dir))
process.send!(refusals)
