// Builds dist/keelson-linux-ARCH: Node, the command and its files in one executable (Node's single executable applications), for the system
// and the architecture on which it is built. Needs Node 20.12 or newer, whose program becomes part of it.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { build } from 'esbuild'
import { SHARED, workerDefinitions } from './build-workers.mjs'
import { bundleLmdb } from './bundle-lmdb.mjs'
import { withNote } from './elf-note.mjs'
import { inAscii } from './in-ascii.mjs'
import { lazyBuiltins } from './lazy-builtins.mjs'
import { withoutControllers } from './without-controllers.mjs'

/** Node looks for a note of this name if the digit behind this text is 1. */
const NOTE = 'NODE_SEA_BLOB'
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:'

const { platform, arch, execPath, versions } = process
const [major, minor] = versions.node.split('.').map(Number)
if (platform !== 'linux') fail(`single executables are built on Linux alone, not on ${platform}`)
if (major < 20 || (major === 20 && minor < 12)) fail(`Node 20.12 or newer is needed; this is ${process.version}`)
// The console is taken from the build.
run(execPath, 'scripts/build.mjs', '--if-stale')

const target = process.argv[2] ?? `dist/keelson-linux-${arch}`
const aside = mkdtempSync(join(tmpdir(), 'keelson-executable-'))
try {
  const assets = await bundles()
  // First without compiled code: a run of it leaves the code that a start needs.
  const compiled = join(aside, 'cli.cache')
  const where = join(aside, 'where')
  writeFileSync(where, compiled)
  await runOnce(await executable(join(aside, 'first'), { ...assets, 'keep-compiled-code-in': where }))
  const made = await executable(join(aside, 'keelson'), { ...assets, 'cli.cache': compiled })
  mkdirSync(dirname(resolve(target)), { recursive: true })
  // Beside its place first: a running one is not changed.
  const draft = `${target}.${process.pid}`
  writeFileSync(draft, readFileSync(made), { mode: 0o755 })
  renameSync(draft, target)
  process.stdout.write(`${target}\n`)
} finally {
  rmSync(aside, { recursive: true, force: true })
}

/** The files to put inside, by name. */
async function bundles() {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  const addon = addonOfLmdb()
  const digest = createHash('sha256').update(readFileSync(addon)).digest('hex')
  const define = { KEELSON_VERSION: JSON.stringify(version), KEELSON_EXECUTABLE: 'true' }
  Object.assign(define, await workerDefinitions(define), { 'import.meta.url': '""' })
  // Packages are inside; those that speed up ws are looked for and may be missing.
  const options = {
    ...SHARED,
    define,
    external: ['bufferutil', 'utf-8-validate'],
    format: 'cjs',
    supported: { 'dynamic-import': false },
    minify: true,
  }
  const loader = `
    const { getRawAsset } = require('node:sea')
    const { loadAddon } = require('./src/lib/packed-addon.ts')
    module.exports = () => loadAddon({ name: 'lmdb.node', bytes: () => Buffer.from(getRawAsset('lmdb.node')), digest: '${digest}' })`
  await Promise.all([
    bundle('cli', { ...options, entryPoints: ['src/cli.ts'], plugins: [bundleLmdb(loader), lazyBuiltins()] }),
    bundle('supervisor', {
      ...options,
      entryPoints: ['src/commands/supervisor/main.ts'],
      plugins: [lazyBuiltins('tls'), withoutControllers],
    }),
    bundle('entry', { ...options, entryPoints: ['scripts/executable-entry.cjs'] }),
  ])
  const pages = readdirSync('dist/console', { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath ?? entry.path, entry.name).slice('dist/console/'.length))
  const list = join(aside, 'console.json')
  writeFileSync(list, JSON.stringify(pages))
  const inside = Object.fromEntries(pages.map(name => [`console/${name}`, join('dist/console', name)]))
  return {
    'cli.cjs': join(aside, 'cli.cjs'),
    'supervisor.cjs': join(aside, 'supervisor.cjs'),
    'lmdb.node': addon,
    'console.json': list,
    ...inside,
  }
}

async function bundle(name, options) {
  const { outputFiles } = await build({ ...options, write: false })
  const text = inAscii(outputFiles[0].text)
  // To wrap it at each start copies it.
  writeFileSync(join(aside, `${name}.cjs`), name === 'entry' ? text : module.wrap(text))
}

/** The native code that npm has installed for this machine. */
function addonOfLmdb() {
  const folder = dirname(createRequire(createRequire(import.meta.url).resolve('lmdb')).resolve(`@lmdb/lmdb-linux-${arch}`))
  return join(folder, 'node.napi.glibc.node')
}

/** Node's program with the entry and these assets inside. */
async function executable(file, assets) {
  const config = join(aside, 'sea.json')
  const output = join(aside, 'sea.blob')
  const main = join(aside, 'entry.cjs')
  writeFileSync(config, JSON.stringify({ main, output, disableExperimentalSEAWarning: true, useCodeCache: true, assets }))
  run(execPath, '--experimental-sea-config', config)
  const node = readFileSync(execPath)
  const fuse = node.indexOf(`${FUSE}0`)
  if (fuse < 0 || node.indexOf(FUSE, fuse + 1) >= 0) fail(`${execPath} cannot become a single executable`)
  node.write('1', fuse + FUSE.length)
  writeFileSync(file, withNote(node, NOTE, readFileSync(output)))
  chmodSync(file, 0o755)
  return file
}

/** Starts and stops a server, as the build of the package does. */
async function runOnce(program) {
  // Code that runs after the start is compiled when needed: reading it with every start would take longer.
  const first = '--controllers=serviceaccount-controller,root-ca-certificate-publisher-controller,serviceaccount-token-controller'
  const args = ['serve', '--data-dir', join(aside, 'data'), '--secure-port', '0', '--nodes=0', first]
  const env = { ...process.env, XDG_CACHE_HOME: join(aside, 'caches') }
  const server = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'], env })
  server.stdout.once('data', () => server.kill())
  const code = await new Promise(resolve => server.once('close', resolve))
  if (code !== 0) fail(`the executable ended with ${code}`)
}

function run(program, ...args) {
  const { status, stdout, stderr } = spawnSync(program, args)
  if (status !== 0) fail(`${program} ${args.join(' ')}: ${stderr}${stdout}`)
}

function fail(message) {
  throw new Error(message)
}
