// Bundles the command and the library, with the library's types. With --if-stale, only when a source is newer.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import module from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { build } from 'esbuild'
import { bundleLmdb } from './bundle-lmdb.mjs'
import { lazyBuiltins } from './lazy-builtins.mjs'

const newestSource = () =>
  Math.max(
    statSync('package.json').mtimeMs,
    ...readdirSync('scripts').map(file => statSync(join('scripts', file)).mtimeMs),
    ...readdirSync('src', { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .map(file => statSync(join('src', file)).mtimeMs),
  )
if (process.argv.includes('--if-stale') && existsSync('dist/cli.cjs') && statSync('dist/cli.cjs').mtimeMs >= newestSource()) process.exit(0)

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const shared = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  // Native code cannot be bundled; what is used seldom is loaded from its own package.
  external: ['lmdb', 'pino', 'ws'],
  define: { KEELSON_VERSION: JSON.stringify(version) },
  legalComments: 'none',
  logLevel: 'warning',
  // The bundle's comments name its parts by path: with packages behind a link they would name a place on this machine.
  preserveSymlinks: true,
}
// Sources that change from here on are not in what is built.
const begun = new Date()
// Everything is made aside and then put in place file by file: whoever runs the last build meanwhile never finds a part of one.
const aside = mkdtempSync('.build-')
try {
  await bundle(join(aside, 'dist'))
  await keepCompiled(aside)
  utimesSync(join(aside, 'dist/cli.cjs'), begun, begun)
  putInPlace(join(aside, 'dist'), 'dist')
} finally {
  rmSync(aside, { recursive: true, force: true })
}

/** The program of a worker, as text: one file is simpler to ship, and to bundle again, than one that has to find another. */
async function workerText(entry) {
  const { outputFiles } = await build({
    ...shared,
    entryPoints: [entry],
    format: 'cjs',
    minify: true,
    write: false,
  })
  return outputFiles[0].text
}

/** Compressed, as every start would read what few servers need. */
function packed(text) {
  return deflateRawSync(text, { level: 9 }).toString('base64')
}

async function bundle(folder) {
  shared.define.KEELSON_TRANSCODE_WORKER = JSON.stringify(await workerText('src/codec/transcode-worker.ts'))
  shared.define.KEELSON_VALIDATION_WORKER = JSON.stringify(packed(await workerText('src/server/validation/validation-worker.ts')))
  shared.define.KEELSON_COMMAND_WORKER = JSON.stringify(packed(await workerText('src/nodes/script/command-worker.ts')))
  // Only sources that are not bundled look for a file beside them.
  shared.define['import.meta.url'] = '""'
  // CommonJS starts faster, can use V8's compile cache, and is what every version of Node and every test runner can load.
  const commonjs = { ...shared, format: 'cjs', supported: { 'dynamic-import': false } }
  const bundles = await Promise.allSettled([
    build({
      ...commonjs,
      entryPoints: ['src/cli.ts'],
      outfile: join(folder, 'cli.cjs'),
      minify: true,
      external: ['pino', 'ws'],
      plugins: [bundleLmdb, lazyBuiltins],
    }),
    // Loaded before the command, to find where its compiled code may be kept.
    build({ ...commonjs, entryPoints: ['src/lib/compiled-code.ts'], outfile: join(folder, 'compiled-code.cjs'), minify: true }),
    // Names stay as they are, for stack traces.
    build({ ...commonjs, entryPoints: ['src/index.ts'], outfile: join(folder, 'library.cjs'), minifyWhitespace: true, minifySyntax: true }),
  ])
  // One that fails does not stop the other, which would go on writing to where everything has been cleared away.
  for (const { reason } of bundles) if (reason) throw reason
  for (const file of ['cli.cjs', 'library.cjs']) writeInAscii(join(folder, file))
  const digest = createHash('sha256')
    .update(readFileSync(join(folder, 'library.cjs')))
    .digest('hex')
    .slice(0, 16)
  writeFileSync(join(folder, 'keelson.cjs'), readFileSync('scripts/library-entry.cjs', 'utf8').replace('digest of the bundle', digest))
  writeFileSync(join(folder, 'keelson.js'), moduleText(exportedNames(readFileSync('src/public.d.ts', 'utf8'))))
  for (const types of ['keelson.d.ts', 'keelson.d.cts']) copyFileSync('src/public.d.ts', join(folder, types))
}

/** The values that the library exports, as its types declare them. */
function exportedNames(types) {
  return [...types.matchAll(/^export (?:function|class|const) (\w+)/gm)].map(([, name]) => name)
}

/**
 * The library as an ES module. One copy serves both kinds of modules: an error of one is an instance of the other's class. Names are
 * written out: `export *` would have Node read the whole bundle for them.
 */
function moduleText(names) {
  return `import { createRequire } from 'node:module'

export const { ${names.join(', ')} } = createRequire(import.meta.url)('./keelson.cjs')
`
}

/** bin/start.js reads the command as ASCII, which is faster. Only in patterns does esbuild leave anything else. */
function writeInAscii(file) {
  const escaped = character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII has them.
  writeFileSync(file, readFileSync(file, 'utf8').replace(/[^\u0000-\u007f]/g, escaped))
}

/** Replaces each file by its new one at once, then drops those that there are no more. */
function putInPlace(from, to) {
  const filesIn = folder =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => relative(folder, join(entry.parentPath ?? entry.path, entry.name)))
  mkdirSync(to, { recursive: true })
  // V8 knows kept code by little more than the length of its source, so none may stand beside another bundle.
  for (const file of readdirSync(to)) if (file.startsWith('cli.cjs.')) rmSync(join(to, file), { force: true })
  // The bundle comes first, before its kept code.
  const files = filesIn(from).sort()
  for (const file of files) {
    mkdirSync(dirname(join(to, file)), { recursive: true })
    renameSync(join(from, file), join(to, file))
  }
  for (const file of filesIn(to)) if (!files.includes(file)) rmSync(join(to, file), { force: true })
}

/** Starts and ends a server once: what V8 compiles for that is kept beside the bundle (bin/start.js), where Node does not do it. */
async function keepCompiled(folder) {
  if (module.enableCompileCache) return
  cpSync('bin', join(folder, 'bin'), { recursive: true })
  const data = mkdtempSync(join(tmpdir(), 'keelson-build-'))
  // What runs after the start is compiled when it is needed: reading it with every start would take longer.
  const first = '--controllers=serviceaccount-controller,root-ca-certificate-publisher-controller,serviceaccount-token-controller'
  const args = ['serve', '--data-dir', data, '--secure-port', '0', '--nodes=0', first]
  const server = spawn(process.execPath, [join(folder, 'bin/keelson.js'), ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  server.stdout.once('data', () => server.kill())
  await new Promise(resolve => server.once('close', resolve))
  rmSync(data, { recursive: true, force: true })
}
