/** Scripts of the tests for processes of their own, each as one file that Node runs as it is: tsx would compile it at every start. */
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { buildSync } from 'esbuild'
import { ROOT, type Scope } from '../kit.ts'

const shared = new Map<string, string>()

/** Builds a script once for all tests of this process, and returns the path of the result, which stays in the cache. */
export function sharedScript(path: string): string {
  const found = shared.get(path)
  if (found !== undefined) return found
  const outfile = join(ROOT, '.cache', basename(path).replace(/ts$/, 'mjs'))
  // Another process may build it as well, or run it.
  const draft = `${outfile}.${process.pid}`
  build(path, draft)
  renameSync(draft, outfile)
  shared.set(path, outfile)
  return outfile
}

/** Builds a script and returns the path of the result, which is removed with the test. */
export function builtScript(t: Scope, path: string): string {
  // Packages are found from here.
  const cache = join(ROOT, '.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'script-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const outfile = join(folder, basename(path).replace(/ts$/, 'mjs'))
  build(path, outfile)
  return outfile
}

function build(path: string, outfile: string): void {
  const options = { bundle: true, platform: 'node', format: 'esm', target: 'node20', packages: 'external' } as const
  buildSync({ ...options, entryPoints: [path], outfile, logLevel: 'warning' })
}
