/** A checkout with the test runner of this one and a few tests of its own, to see what the runner makes of them. */
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Finished, ROOT, run, type Scope, temporaryDirectory } from '../kit.ts'

export type SmallCheckout = {
  readonly folder: string
  write(file: string, text: string): void
  /** Runs the tests as from another shell: what this test runs in must not be seen. */
  test(args: readonly string[], env?: NodeJS.ProcessEnv): Promise<Finished>
}

export function smallCheckout(t: Scope, files: Readonly<Record<string, string>>): SmallCheckout {
  const folder = temporaryDirectory(t)
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  // All scripts, so that the runner finds whatever it imports. Those that know the tests of this checkout are replaced below.
  for (const path of ['scripts', 'test/programs.ts']) cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  write('package.json', '{ "type": "module" }')
  write('scripts/build.mjs', '')
  write('scripts/build-workers.mjs', 'export const workerDefinitions = async () => ({})')
  write('scripts/test-sets.mjs', 'export const LEFT_OUT = {}, ALONE = {}, MEASURING = [], HEAVY = [], LONG = []')
  for (const [file, text] of Object.entries(files)) write(file, text)
  const env = { PATH: dirname(process.execPath), HOME: folder, KEELSON_TEST_PROCESSES: '1' }
  return {
    folder,
    write,
    test: (args, more = {}) => run(process.execPath, ['scripts/test.mjs', ...args], { cwd: folder, env: { ...env, ...more } }),
  }
}
