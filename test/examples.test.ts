// The examples of docs/testing.md that can be run here, as they stand there.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { test } from 'node:test'
import { KEELSON, patient, ROOT, run, type Scope, temporaryDirectory } from './kit.ts'
import { noteNotRun, testWith } from './programs.ts'
import { WIDGETS } from './samples.ts'

const PAGES = ['docs/testing.md', 'docs/testing-controllers.md'].map(page => readFileSync(join(ROOT, page), 'utf8')).join('\n')
const BLOCKS = [...PAGES.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].map(([, language, text]) => ({ language, text: text! }))

/** The example that is a file of this name. */
function fileNamed(name: string): string {
  const found = BLOCKS.find(({ text }) => new RegExp(`^(?://|#) ${name}\\n`).test(text))
  assert.ok(found, `no example is called ${name}`)
  return found.text
}

/** A folder in which the package is installed, and the environment in which the command is found. */
function project(t: Scope): { readonly folder: string; readonly env: NodeJS.ProcessEnv } {
  const folder = temporaryDirectory(t)
  mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true })
  symlinkSync(ROOT, join(folder, 'node_modules/keelson'))
  symlinkSync(KEELSON, join(folder, 'node_modules/.bin/keelson'))
  const path = [join(folder, 'node_modules/.bin'), dirname(process.execPath), process.env['PATH']].join(delimiter)
  return { folder, env: { ...process.env, PATH: path } }
}

test('JavaScript: a test with a fixture', patient, async t => {
  const { folder, env } = project(t)
  mkdirSync(join(folder, 'config/crd'), { recursive: true })
  writeFileSync(join(folder, 'config/crd/widgets.yaml'), JSON.stringify(WIDGETS))
  writeFileSync(join(folder, 'settings.test.mjs'), fileNamed('settings.test.mjs'))
  // A test inside of a test must not think that it is part of it.
  const { NODE_TEST_CONTEXT: _, ...outside } = env
  const { code, stdout, stderr } = await run(process.execPath, ['--test', 'settings.test.mjs'], { cwd: folder, env: outside })
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /pass 1\b/)
})

/** Where Debian has what Python packages of the system need. */
const PYTHON_PACKAGES = '/usr/lib/python3/dist-packages'

testWith('pytest', 'Python: tests with a server, a namespace each, and faults', patient, async (t, pytest) => {
  const { folder, env } = project(t)
  const environment = {
    ...env,
    PYTHONPATH: [env['PYTHONPATH'], PYTHON_PACKAGES].filter(Boolean).join(delimiter),
    PYTHONDONTWRITEBYTECODE: '1',
  }
  for (const name of ['conftest.py', 'test_settings.py']) writeFileSync(join(folder, name), fileNamed(name))
  const { code, stdout, stderr } = await run(pytest, ['-q', '-p', 'no:cacheprovider'], { cwd: folder, env: environment })
  if (/No module named 'kubernetes'/.test(stdout + stderr)) return t.skip(noteNotRun('pytest', t.name))
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /^2 passed/m)
})

testWith('kubectl', 'a shell: run, and faults from kubectl', patient, async (t, kubectl) => {
  const { folder, env } = project(t)
  const path = `${dirname(kubectl)}${delimiter}${env['PATH']}`
  const shell = (script: string) => run('sh', ['-c', script], { cwd: folder, env: { ...env, PATH: path } })
  const [inLine] = PAGES.match(/^keelson run -- sh -c .*$/m)!
  const made = await shell(inLine)
  assert.match(made.stdout, /^namespace\/team created\n[\s\S]*^team +Active/m)
  const withFaults = BLOCKS.find(({ text }) => text.includes('kubectl create --raw'))!
  const { code, stdout, stderr } = await shell(withFaults.text)
  assert.equal(code, 0, stderr)
  // Versions of kubectl word it differently.
  assert.match(stderr, /Error from server \(ServiceUnavailable\)|the server is currently unable to handle the request/)
  assert.match(stdout, /^secret\/a created\n.*"seen":2,"hits":1/m)
})
