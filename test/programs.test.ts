// Programs that tests need are found; missing ones are reported at the end of `npm test`, and fail in CI.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import { patient, ROOT, type Scope, temporaryDirectory } from './kit.ts'
import { smallCheckout } from './kits/small-checkout.ts'

const PLATFORM = `${process.platform}-${process.arch}`

/** A checkout with one test, which needs a program. */
const checkoutWith = (t: Scope, program: string) =>
  smallCheckout(t, {
    'test/one.test.ts': `import { writeFileSync } from 'node:fs'
      import { testWith } from './programs.ts'
      testWith('${program}', '${program} runs', {}, async (_, program) => writeFileSync('found', program))`,
  })

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
  const checkout = checkoutWith(t, 'kubectl')
  const PATH = onlyNode(t)
  const here = await checkout.test(['one'], { PATH })
  assert.equal(here.code, 0, here.stdout + here.stderr)
  assert.match(here.stderr, /\n1 TEST WAS NOT RUN, because this machine lacks kubectl \(Debian: apt-get install kubernetes-client\)\n$/)
  const inCi = await checkout.test(['one'], { PATH, CI: 'true' })
  assert.equal(inCi.code, 1)
  assert.equal(inCi.stderr, here.stderr)
})

test('a program that CI can do without is named as well, and is no failure', patient, async t => {
  const inCi = await checkoutWith(t, 'ansible-playbook').test(['one'], { PATH: onlyNode(t), CI: 'true' })
  assert.equal(inCi.code, 0, inCi.stdout + inCi.stderr)
  assert.match(inCi.stderr, /\n1 TEST WAS NOT RUN, because this machine lacks ansible-playbook /)
})

test('a program is taken from its variable, else from PATH, else from what npm installed', patient, async t => {
  const { folder, test } = checkoutWith(t, 'kubectl')
  const PATH = onlyNode(t)
  const found = async (env: NodeJS.ProcessEnv) => {
    const { code, stdout, stderr } = await test(['one'], env)
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
