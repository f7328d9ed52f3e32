// Bundles the command and the library, and writes the library's types. With --if-stale, only when a source is newer.
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import module from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { build } from 'esbuild'

const newestSource = () =>
  Math.max(
    statSync('package.json').mtimeMs,
    statSync('scripts/build.mjs').mtimeMs,
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
const withTypes = !process.argv.includes('--if-stale')
// Everything is made aside and then put in place file by file: whoever runs the last build meanwhile never finds a part of one.
const aside = mkdtempSync('.build-')
try {
  await bundle(join(aside, 'dist'))
  await keepCompiled(aside)
  if (withTypes) writeTypes(join(aside, 'dist/types'))
  utimesSync(join(aside, 'dist/cli.cjs'), begun, begun)
  putInPlace(join(aside, 'dist'), 'dist')
} finally {
  rmSync(aside, { recursive: true, force: true })
}

/** The worker that reads large bodies, as text: one file is simpler to ship, and to bundle again, than one that has to find another. */
async function transcodeWorker() {
  const { outputFiles } = await build({
    ...shared,
    entryPoints: ['src/codec/transcode-worker.ts'],
    format: 'cjs',
    minify: true,
    write: false,
  })
  return outputFiles[0].text
}

async function bundle(folder) {
  shared.define.KEELSON_TRANSCODE_WORKER = JSON.stringify(await transcodeWorker())
  // Only sources that are not bundled look for a file beside them.
  shared.define['import.meta.url'] = '""'
  const bundles = await Promise.allSettled([
    // CommonJS starts faster, can use V8's compile cache, and loads its packages without the module loader's detour.
    build({
      ...shared,
      entryPoints: ['src/cli.ts'],
      outfile: join(folder, 'cli.cjs'),
      format: 'cjs',
      minify: true,
      supported: { 'dynamic-import': false },
    }),
    build({ ...shared, entryPoints: ['src/index.ts'], outfile: join(folder, 'keelson.js'), format: 'esm', banner: { js: ESM_REQUIRE() } }),
  ])
  // One that fails does not stop the other, which would go on writing to where everything has been cleared away.
  for (const { reason } of bundles) if (reason) throw reason
}

function writeTypes(folder) {
  const { status } = spawnSync('npx', ['tsc', '-p', 'tsconfig.types.json', '--outDir', folder], { stdio: 'inherit' })
  if (status !== 0) throw new Error(`the types could not be written: tsc ended with ${status}`)
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
  if (withTypes) for (const file of filesIn(to)) if (!files.includes(file)) rmSync(join(to, file), { force: true })
}

function ESM_REQUIRE() {
  return "import { createRequire as keelsonRequire } from 'node:module'; const require = keelsonRequire(import.meta.url);"
}

/** Starts and ends a server once: what V8 compiles for that is kept beside the bundle (bin/start.js), where Node does not do it. */
async function keepCompiled(folder) {
  if (module.enableCompileCache) return
  cpSync('bin', join(folder, 'bin'), { recursive: true })
  const data = mkdtempSync(join(tmpdir(), 'keelson-build-'))
  const server = spawn(process.execPath, [join(folder, 'bin/keelson.js'), 'serve', '--data-dir', data, '--secure-port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  server.stdout.once('data', () => server.kill())
  await new Promise(resolve => server.once('close', resolve))
  rmSync(data, { recursive: true, force: true })
}
