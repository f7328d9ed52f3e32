// Bundles the command and the library, and writes the library's types. With --if-stale, only when a source is newer.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import module from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
  external: ['lmdb', 'pino'],
  define: { KEELSON_VERSION: JSON.stringify(version) },
  legalComments: 'none',
  logLevel: 'warning',
  // The bundle's comments name its parts by path: with packages behind a link they would name a place on this machine.
  preserveSymlinks: true,
}
rmSync('dist', { recursive: true, force: true })
await Promise.all([
  // CommonJS starts faster, can use V8's compile cache, and loads its packages without the module loader's detour.
  build({
    ...shared,
    entryPoints: ['src/cli.ts'],
    outfile: 'dist/cli.cjs',
    format: 'cjs',
    minify: true,
    supported: { 'dynamic-import': false },
  }),
  build({ ...shared, entryPoints: ['src/index.ts'], outfile: 'dist/keelson.js', format: 'esm', banner: { js: ESM_REQUIRE() } }),
])
await keepCompiled()
if (!process.argv.includes('--if-stale')) {
  const { status } = spawnSync('npx', ['tsc', '-p', 'tsconfig.types.json'], { stdio: 'inherit' })
  process.exit(status ?? 1)
}

function ESM_REQUIRE() {
  return "import { createRequire as keelsonRequire } from 'node:module'; const require = keelsonRequire(import.meta.url);"
}

/** Starts and ends a server once: what V8 compiles for that is kept beside the bundle (bin/keelson.js), where Node does not do it. */
async function keepCompiled() {
  if (module.enableCompileCache) return
  const folder = mkdtempSync(join(tmpdir(), 'keelson-build-'))
  const server = spawn(process.execPath, ['bin/keelson.js', 'serve', '--data-dir', folder, '--secure-port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  server.stdout.once('data', () => server.kill())
  await new Promise(resolve => server.once('close', resolve))
  rmSync(folder, { recursive: true, force: true })
}
