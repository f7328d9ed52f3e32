// Programs that tests need are found; missing ones are reported at the end of `npm test`, and fail in CI.
import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import { patient, ROOT, run, type Scope, temporaryDirectory } from './kit.ts'

const PLATFORM = `${process.platform}-${process.arch}`

/** A checkout with `npm test` as it is here and one test, which needs kubectl. */
function smallCheckout(t: Scope): string {
  const folder = temporaryDirectory(t)
  const scripts = ['test.mjs', 'test-bundle.mjs', 'test-events.mjs', 'test-pool.mjs', 'test-worker.cjs'].map(file => `scripts/${file}`)
  for (const file of [...scripts, 'test/programs.ts']) cpSync(join(ROOT, file), join(folder, file))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'scripts/build.mjs'), '')
  writeFileSync(join(folder, 'scripts/build-workers.mjs'), 'export const workerDefinitions = async () => ({})')
  writeFileSync(join(folder, 'scripts/test-sets.mjs'), 'export const LEFT_OUT = {}, ALONE = {}')
  writeFileSync(
    join(folder, 'test/one.test.ts'),
    `import { writeFileSync } from 'node:fs'
     import { testWith } from './programs.ts'
     testWith('kubectl', 'kubectl runs', {}, async (_, program) => writeFileSync('found', program))`,
  )
  return folder
}

/** Runs `npm test one` there, as from another shell: the environment of this test must not be visible. */
const runTests = (cwd: string, more: NodeJS.ProcessEnv = {}) =>
  run(process.execPath, ['scripts/test.mjs', 'one'], { cwd, env: { PATH: dirname(process.execPath), HOME: cwd, ...more } })

/** A folder with an executable of a name. */
function withProgram(folder: string, name: string): string {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, name), '#!/bin/sh\n', { mode: 0o755 })
  return join(folder, name)
}

/** A folder for PATH that has node alone, wherever this machine has it. */
function onlyNode(t: Scope): string {
  const folder = temporaryDirectory(t)
  symlinkSync(process.execPath, join(folder, 'node'))
  return folder
}

test('a missing program is named in the last line, and is a failure in CI', patient, async t => {
  const folder = smallCheckout(t)
  const PATH = onlyNode(t)
  const here = await runTests(folder, { PATH })
  assert.equal(here.code, 0, here.stdout + here.stderr)
  assert.match(here.stderr, /\n1 TEST WAS NOT RUN, because this machine lacks kubectl \(Debian: apt-get install kubernetes-client\)\n$/)
  const inCi = await runTests(folder, { PATH, CI: 'true' })
  assert.equal(inCi.code, 1)
  assert.equal(inCi.stderr, here.stderr)
})

test('a program that CI can do without is named as well, and is no failure', patient, async t => {
  const folder = smallCheckout(t)
  const PATH = onlyNode(t)
  const text = readFileSync(join(folder, 'test/one.test.ts'), 'utf8')
  writeFileSync(join(folder, 'test/one.test.ts'), text.replace("'kubectl', 'kubectl runs'", "'ansible-playbook', 'Ansible runs'"))
  const inCi = await runTests(folder, { PATH, CI: 'true' })
  assert.equal(inCi.code, 0, inCi.stdout + inCi.stderr)
  assert.match(inCi.stderr, /\n1 TEST WAS NOT RUN, because this machine lacks ansible-playbook /)
})

test('a program is taken from its variable, else from PATH, else from what npm installed', patient, async t => {
  const folder = smallCheckout(t)
  const PATH = onlyNode(t)
  const found = async (env: NodeJS.ProcessEnv) => {
    const { code, stdout, stderr } = await runTests(folder, env)
    assert.deepEqual([code, stderr], [0, ''], stdout)
    return readFileSync(join(folder, 'found'), 'utf8')
  }
  const installed = withProgram(join(folder, 'test/programs', PLATFORM, 'bin'), 'kubectl')
  assert.equal(await found({ PATH }), installed)
  const onPath = withProgram(join(folder, 'on-path'), 'kubectl')
  assert.equal(await found({ PATH: `${PATH}:${dirname(onPath)}` }), onPath)
  const named = withProgram(join(folder, 'elsewhere'), 'my-kubectl')
  assert.equal(await found({ PATH: `${PATH}:${dirname(onPath)}`, KUBECTL: named }), named)
})

test('files of a zip archive are unpacked, stored or deflated', async () => {
  const { unzip } = await import(join(ROOT, 'scripts/unzip.mjs'))
  const archive = zipOf([
    ['bin/', ''],
    ['bin/small', 'as it is'],
    ['bin/large', 'again and '.repeat(1000)],
  ])
  assert.deepEqual(
    [...unzip(archive)].map(({ name, bytes }) => [name, bytes.toString()]),
    [
      ['bin/small', 'as it is'],
      ['bin/large', 'again and '.repeat(1000)],
    ],
  )
  assert.throws(() => [...unzip(Buffer.from('something else'))], /no zip archive/)
})

function zipOf(files: readonly (readonly [name: string, text: string])[]): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [name, text] of files) {
    const isDeflated = text.length > 100
    const bytes = isDeflated ? deflateRawSync(text) : Buffer.from(text)
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(isDeflated ? 8 : 0, 4)
    fields.writeUInt32LE(bytes.length, 14)
    fields.writeUInt32LE(text.length, 18)
    fields.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), fields, Buffer.from(name), bytes])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(offset, 10)
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00'), fields, tail, Buffer.from(name)]))
    parts.push(local)
    offset += local.length
  }
  const size = directory.reduce((sum, entry) => sum + entry.length, 0)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06')
  end.writeUInt16LE(files.length, 8)
  end.writeUInt16LE(files.length, 10)
  end.writeUInt32LE(size, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, ...directory, end])
}
