// Compiled code that another user of the machine has put in place must not run: V8 does not compare it with its source.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
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
import { test } from 'node:test'
import { Script } from 'node:vm'
import { patient, ROOT, run, type Scope, temporaryDirectory } from '../kit.ts'

const NOBODY = 65534
const EVIL = "process.stdout.write('code of another user\\n'), process.reallyExit();"

test('compiled code is kept beside the bundle, and used', patient, async t => {
  const { folder, env, start, version } = installed(t)
  await start()
  const [file] = filesIn(join(folder, 'dist/compiled'))
  assert.ok(file, 'compiled code is kept beside the bundle')
  assert.deepEqual(readdirSync(env['HOME']!), [])
  replaceCode(folder, file)
  assert.equal((await version()).stdout, 'code of another user\n', 'code that only this user can have put there is not examined')
})

test('compiled code in a folder beside the bundle that others can write to is not run', patient, async t => {
  for (const open of opened(0o777)) {
    const { folder, env, start, version } = installed(t)
    await start()
    replaceCode(folder, filesIn(join(folder, 'dist/compiled'))[0]!)
    open(join(folder, 'dist/compiled'))
    assert.match((await version()).stdout, /^keelson \d/)
    await start()
    const cache = join(env['HOME']!, '.cache/keelson/compiled')
    assert.equal(statSync(cache).mode & 0o777, 0o700, 'it is kept in the home of this user instead')
    assert.equal(filesIn(cache).length, 1)
    assert.match((await version()).stdout, /^keelson \d/)
  }
})

test('a file of compiled code that others can write to is not run', patient, async t => {
  for (const open of opened(0o666)) {
    const { folder, start, version } = installed(t)
    await start()
    const [file] = filesIn(join(folder, 'dist/compiled'))
    replaceCode(folder, file!)
    open(file!)
    assert.match((await version()).stdout, /^keelson \d/)
  }
})

test('no compiled code is kept where every folder could be changed by others', patient, async t => {
  const { folder, env, start } = installed(t)
  chmodSync(join(folder, 'dist'), 0o777)
  chmodSync(env['HOME']!, 0o777)
  await start()
  assert.deepEqual([existsSync(join(folder, 'dist/compiled')), readdirSync(env['HOME']!)], [false, []])
})

test('a link to a folder that others can write to is not followed', patient, async t => {
  const { folder, env, start } = installed(t)
  const elsewhere = join(folder, 'elsewhere')
  mkdirSync(elsewhere, { mode: 0o777 })
  chmodSync(elsewhere, 0o777)
  symlinkSync(elsewhere, join(folder, 'dist/compiled'))
  await start()
  assert.deepEqual(readdirSync(elsewhere), [])
  assert.equal(filesIn(join(env['HOME']!, '.cache/keelson/compiled')).length, 1)
})

/** The command in a folder of its own, with a home. */
function installed(t: Scope) {
  const folder = temporaryDirectory(t)
  for (const name of ['home', 'dist']) mkdirSync(join(folder, name), { mode: 0o755 })
  cpSync(join(ROOT, 'bin'), join(folder, 'bin'), { recursive: true })
  for (const file of ['cli.cjs', 'compiled-code.cjs', 'supervisor.cjs']) cpSync(join(ROOT, 'dist', file), join(folder, 'dist', file))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const env: Record<string, string> = { PATH: process.env['PATH']!, HOME: join(folder, 'home') }
  const program = join(folder, 'bin/keelson.js')
  /** Starts a server and stops it, which keeps the code. */
  async function start() {
    const args = ['serve', '--data-dir', join(folder, 'data'), '--secure-port=0', '--controllers=none', '--nodes=0']
    const server = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    server.stdout.once('data', () => server.kill())
    const [code] = (await once(server, 'close')) as [number]
    assert.equal(code, 0)
  }
  return { folder, env, start, version: () => run(process.execPath, [program, 'version'], { env }) }
}

const filesIn = (folder: string) => readdirSync(folder).map(name => join(folder, name))

/** Does as an attacker: puts code there that was compiled from another source of the same length. */
function replaceCode(folder: string, file: string): void {
  const { length } = readFileSync(join(folder, 'dist/cli.cjs'))
  writeFileSync(file, new Script(EVIL.padEnd(length, ' ')).createCachedData())
}

/** Ways in which others can change a file or folder. Only root can give it to another user. */
const opened = (mode: number) => [(path: string) => chmodSync(path, mode), ...(process.getuid?.() === 0 ? [giveAway] : [])]
const giveAway = (path: string) => chownSync(path, NOBODY, NOBODY)
