// Compiled code that another user of the machine has put in place must not run: V8 does not compare it with its source.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { crc32 } from '../../src/lib/crc32.ts'
import { patient, ROOT, run, type Scope, temporaryDirectory } from '../kit.ts'
import { testWith } from '../programs.ts'

const NOBODY = 65534
const EVIL = "process.stdout.write('code of another user\\n'), process.reallyExit();"
/** Before the compiled code in an entry: magic, size of the source, size of the compiled code, sum of the source, sum of the compiled code. */
const SUM_OF_SOURCE_AT = 12

testWith('node-26', 'compiled code in the folder for temporary files is not run', patient, async (t, node) => {
  const { folder, env, version } = installed(t, node)
  const planted = join(folder, 'tmp', 'node-compile-cache')
  plant(folder, node, planted)
  // At 6256f0f1 this printed "code of another user".
  assert.match((await version()).stdout, /^keelson \d/)
  assert.ok(existsSync(join(folder, 'dist/compiled')), 'compiled code is kept beside the bundle')
  assert.match((await version()).stdout, /^keelson \d/)
  assert.deepEqual(readdirSync(join(env['HOME']!)), [])
})

testWith('node-26', 'compiled code in a folder beside the bundle that others can write to is not run', patient, async (t, node) => {
  for (const open of [(path: string) => chmodSync(path, 0o777), giveAway]) {
    const { folder, env, version } = installed(t, node)
    plant(folder, node, join(folder, 'dist/compiled'))
    open(join(folder, 'dist/compiled'))
    assert.match((await version()).stdout, /^keelson \d/)
    const cache = join(env['HOME']!, '.cache/keelson/compiled')
    assert.equal(statSync(cache).mode & 0o777, 0o700, 'it is kept in the home of this user instead')
    assert.notEqual(readdirSync(cache).length, 0)
  }
})

testWith('node-26', 'no compiled code is kept where every folder could be changed by others', patient, async (t, node) => {
  const { folder, env, version } = installed(t, node)
  chmodSync(join(folder, 'dist'), 0o777)
  chmodSync(env['HOME']!, 0o777)
  assert.match((await version()).stdout, /^keelson \d/)
  assert.deepEqual([existsSync(join(folder, 'dist/compiled')), readdirSync(env['HOME']!)], [false, []])
})

testWith('node-26', 'a link to a folder that others can write to is not followed', patient, async (t, node) => {
  const { folder, env, version } = installed(t, node)
  const elsewhere = join(folder, 'elsewhere')
  mkdirSync(elsewhere, { mode: 0o777 })
  chmodSync(elsewhere, 0o777)
  symlinkSync(elsewhere, join(folder, 'dist/compiled'))
  assert.match((await version()).stdout, /^keelson \d/)
  assert.deepEqual(readdirSync(elsewhere), [])
  assert.ok(existsSync(join(env['HOME']!, '.cache/keelson/compiled')))
})

/** The command in a folder of its own, with a home and a folder for temporary files. */
function installed(t: Scope, node: string) {
  const folder = temporaryDirectory(t)
  for (const name of ['home', 'tmp', 'dist']) mkdirSync(join(folder, name), { mode: 0o755 })
  chmodSync(join(folder, 'tmp'), 0o1777)
  cpSync(join(ROOT, 'bin'), join(folder, 'bin'), { recursive: true })
  for (const file of ['cli.cjs', 'compiled-code.cjs', 'supervisor.cjs'])
    if (existsSync(join(ROOT, 'dist', file))) cpSync(join(ROOT, 'dist', file), join(folder, 'dist', file))
  const env: Record<string, string> = { PATH: process.env['PATH']!, HOME: join(folder, 'home'), TMPDIR: join(folder, 'tmp') }
  const version = () => run(node, [join(folder, 'bin/keelson.js'), 'version'], { env })
  return { folder, env, version }
}

/** Fills a folder as an attacker does: with code compiled from another source of the same length, under the sum of the true one. */
function plant(folder: string, node: string, cache: string): void {
  const bundle = join(folder, 'dist/cli.cjs')
  const source = readFileSync(bundle)
  // An attacker does this in a root folder of their own, where the path is the same.
  writeFileSync(bundle, EVIL.padEnd(source.length, ' '))
  execFileSync(node, ['-e', `require('node:module').enableCompileCache(${JSON.stringify(cache)}); require(${JSON.stringify(bundle)})`])
  writeFileSync(bundle, source)
  const [inner = ''] = readdirSync(cache)
  const [entry = ''] = readdirSync(join(cache, inner))
  const content = readFileSync(join(cache, inner, entry))
  content.writeUInt32LE(crc32(source, 0), SUM_OF_SOURCE_AT)
  writeFileSync(join(cache, inner, entry), content)
  giveAway(cache)
}

/** Only root can make files of another user; for all others the attack is the same with their own. */
function giveAway(path: string): void {
  if (process.getuid?.() !== 0) return
  for (const entry of ['', ...readdirSync(path, { recursive: true, encoding: 'utf8' })]) chownSync(join(path, entry), NOBODY, NOBODY)
}
