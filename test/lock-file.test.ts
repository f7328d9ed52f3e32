// The lock files: whole, so that `npm ci` takes them on any machine, and free of the registry that they were made with.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { patient, ROOT, run } from './kit.ts'

const FOLDERS = ['.', ...readdirSync(join(ROOT, 'test/programs')).map(name => `test/programs/${name}`)]
const lockOf = (folder: string) => readFileSync(join(ROOT, folder, 'package-lock.json'), 'utf8')

for (const folder of FOLDERS)
  test(`the lock file of ${folder} names no registry`, () => {
    // Packages of this repository are found by their folders.
    assert.doesNotMatch(lockOf(folder), /"resolved": "(?!packages\/\w+",\n *"link": true)|\.tgz/)
  })

test('every package with one part per platform has all its parts in the lock file', () => {
  const packages: Record<string, { optionalDependencies?: Record<string, string> }> = JSON.parse(lockOf('.')).packages
  const families = Object.entries(packages).filter(([, { optionalDependencies }]) => optionalDependencies !== undefined)
  assert.ok(families.length >= 5, 'Biome, esbuild, lmdb, TypeScript and more')
  const missing = families.flatMap(([path, { optionalDependencies }]) =>
    Object.keys(optionalDependencies ?? {})
      .filter(part => !(`node_modules/${part}` in packages) && !(`${path}/node_modules/${part}` in packages))
      .map(part => `${part} of ${path}`),
  )
  assert.deepEqual(missing, [])
})

test('npm ci takes the lock file', patient, async () => {
  const { code, stdout, stderr } = await run('npm', ['ci', '--dry-run', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: ROOT })
  assert.equal(code, 0, stdout + stderr)
})
