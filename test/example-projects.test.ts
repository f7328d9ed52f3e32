// The projects below examples/ are run as their readers would run them.
import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { test } from 'node:test'
import { KEELSON, patient, ROOT, run, type Scope, temporaryDirectory } from './kit.ts'
import { testWith } from './programs.ts'

/** A copy of an example outside of this repository, with the package installed and the command named. */
function projectOf(t: Scope, ...files: string[]): { readonly cwd: string; readonly env: NodeJS.ProcessEnv } {
  const cwd = temporaryDirectory(t)
  for (const file of files) copyFileSync(join(ROOT, 'examples', file), join(cwd, file.split('/').pop()!))
  writeFileSync(join(cwd, 'package.json'), '{ "type": "module" }')
  mkdirSync(join(cwd, 'node_modules'))
  for (const name of ['keelson', 'tsx'])
    symlinkSync(name === 'keelson' ? ROOT : join(ROOT, 'node_modules', name), join(cwd, 'node_modules', name))
  // A test inside of a test must not think that it is part of it.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const path = [dirname(process.execPath), process.env['PATH']].join(delimiter)
  return { cwd, env: { ...env, PATH: path, KEELSON: `${process.execPath} ${KEELSON}` } }
}

test('TypeScript', patient, async t => {
  const { code, stdout, stderr } = await run(
    process.execPath,
    ['--import', 'tsx', '--test', 'settings.test.ts'],
    projectOf(t, 'typescript/settings.test.ts'),
  )
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /pass 3\b/)
})

test('a fleet of devices with a controller', patient, async t => {
  const files = ['fleet/fleet.yaml', 'fleet/controller.ts', 'fleet/fleet.test.ts']
  const { code, stdout, stderr } = await run(process.execPath, ['--import', 'tsx', '--test', 'fleet.test.ts'], projectOf(t, ...files))
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /pass 3\b/)
})

testWith('python3', 'Python', patient, async (t, python) => {
  const { code, stdout, stderr } = await run(python, ['test_settings.py'], projectOf(t, 'python/test_settings.py'))
  assert.equal(code, 0, stdout + stderr)
  assert.match(stderr, /^Ran 2 tests/m)
})

testWith('go', 'Go', patient, async (t, go) => {
  const project = projectOf(t, 'go/go.mod', 'go/settings_test.go')
  const env = { ...project.env, GOFLAGS: '-mod=mod', GOPROXY: 'off', GOTOOLCHAIN: 'local' }
  const { code, stdout, stderr } = await run(go, ['test', '-count=1', './...'], { ...project, env })
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /^ok\s+example\.com\/settings/m)
})
