// Bundles the command, the library with its types, and the console. With --if-stale, only when a source is newer.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
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
import { build } from 'esbuild'
import { bundleConsole } from './build-console.mjs'
import { SHARED, workerDefinitions } from './build-workers.mjs'
import { bundleLmdb } from './bundle-lmdb.mjs'
import { inAscii } from './in-ascii.mjs'
import { lazyBuiltins } from './lazy-builtins.mjs'
import { withoutControllers } from './without-controllers.mjs'

const newestSource = () =>
  Math.max(
    statSync('package.json').mtimeMs,
    ...readdirSync('scripts').map(file => statSync(join('scripts', file)).mtimeMs),
    ...sourcesIn('src', /(?<!\.test)\.ts$/),
    ...sourcesIn('console', /\.\w+$/),
  )
const sourcesIn = (folder, names) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(file => names.test(file))
    .map(file => statSync(join(folder, file)).mtimeMs)
if (process.argv.includes('--if-stale') && existsSync('dist/cli.cjs') && statSync('dist/cli.cjs').mtimeMs >= newestSource()) process.exit(0)

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const shared = { ...SHARED, define: { KEELSON_VERSION: JSON.stringify(version) } }
// Sources that change from here on are not in this build.
const begun = new Date()
// Everything is built in a temporary folder and then moved file by file: a process that runs the last build never finds an incomplete one.
const aside = mkdtempSync('.build-')
try {
  await bundle(join(aside, 'dist'))
  utimesSync(join(aside, 'dist/cli.cjs'), begun, begun)
  putInPlace(join(aside, 'dist'), 'dist')
} finally {
  rmSync(aside, { recursive: true, force: true })
}
await keepCompiled()

async function bundle(folder) {
  Object.assign(shared.define, await workerDefinitions(shared.define))
  // Only unbundled sources look for a file beside them.
  shared.define['import.meta.url'] = '""'
  // CommonJS starts faster, can use V8's compile cache, and can be loaded by every version of Node and every test runner.
  const commonjs = { ...shared, format: 'cjs', supported: { 'dynamic-import': false } }
  const bundles = await Promise.allSettled([
    build({
      ...commonjs,
      entryPoints: ['src/cli.ts'],
      outfile: join(folder, 'cli.cjs'),
      minify: true,
      external: ['pino', 'ws'],
      plugins: [bundleLmdb(), lazyBuiltins()],
    }),
    // Loaded in place of the command where it starts several processes. It reads the names of controllers, and never loads one.
    build({
      ...commonjs,
      entryPoints: ['src/commands/supervisor/main.ts'],
      outfile: join(folder, 'supervisor.cjs'),
      minify: true,
      external: ['pino', 'ws'],
      plugins: [lazyBuiltins('tls'), withoutControllers],
    }),
    // Loaded before the command.
    build({ ...commonjs, entryPoints: ['src/lib/compiled-code.ts'], outfile: join(folder, 'compiled-code.cjs'), minify: true }),
    // Names are kept, for stack traces.
    build({ ...commonjs, entryPoints: ['src/index.ts'], outfile: join(folder, 'library.cjs'), minifyWhitespace: true, minifySyntax: true }),
    build({
      ...commonjs,
      entryPoints: ['src/controller-library/index.ts'],
      outfile: join(folder, 'controller.cjs'),
      minifyWhitespace: true,
      minifySyntax: true,
    }),
    bundleConsole(join(folder, 'console')),
  ])
  // A failed build does not stop the others, which would continue to write into the removed folder.
  for (const { reason } of bundles) if (reason) throw reason
  for (const file of ['cli.cjs', 'supervisor.cjs', 'library.cjs']) {
    const text = inAscii(readFileSync(join(folder, file), 'utf8'))
    // To wrap it at each start copies it. Test runners load the library as they load all modules.
    writeFileSync(join(folder, file), digestComment(text) + (file === 'library.cjs' ? text : module.wrap(text)))
  }
  copyFileSync('scripts/library-entry.cjs', join(folder, 'keelson.cjs'))
  for (const [name, types] of [
    ['keelson', 'src/public.d.ts'],
    ['controller', 'src/controller-library/public.d.ts'],
  ]) {
    writeFileSync(join(folder, `${name}.js`), moduleText(name, exportedNames(readFileSync(types, 'utf8'))))
    for (const ending of ['d.ts', 'd.cts']) copyFileSync(types, join(folder, `${name}.${ending}`))
  }
}

/** Begins a bundle: compiled code that is kept for it has this name (src/lib/compiled-code.ts). */
function digestComment(text) {
  return `/*${createHash('sha256').update(text).digest('hex').slice(0, 16)}*/`
}

/** The values that a library exports, according to its types. */
function exportedNames(types) {
  return [...types.matchAll(/^export (?:function|class|const) (\w+)/gm)].map(([, name]) => name)
}

/**
 * A library as an ES module. One copy serves both module systems: an error of one is an instance of the other's class. Names are listed:
 * for `export *` Node would parse the whole bundle.
 */
function moduleText(library, names) {
  return `import { createRequire } from 'node:module'

export const { ${names.join(', ')} } = createRequire(import.meta.url)('./${library}.cjs')
`
}

/** Replaces each file atomically, then removes those that no longer exist. */
function putInPlace(from, to) {
  const filesIn = folder =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => relative(folder, join(entry.parentPath ?? entry.path, entry.name)))
  mkdirSync(to, { recursive: true })
  const files = filesIn(from).sort()
  for (const file of files) {
    mkdirSync(dirname(join(to, file)), { recursive: true })
    renameSync(join(from, file), join(to, file))
  }
  for (const file of filesIn(to)) if (!files.includes(file)) rmSync(join(to, file), { force: true })
}

/** Starts and stops a server once: V8's compiled code is kept beside the bundle. It has the path of the bundle, which stack traces show. */
async function keepCompiled() {
  const data = mkdtempSync(join(tmpdir(), 'keelson-build-'))
  // Code that runs after the start is compiled when needed: reading it with every start would take longer.
  const first = '--controllers=serviceaccount-controller,root-ca-certificate-publisher-controller,serviceaccount-token-controller'
  const args = ['serve', '--data-dir', data, '--secure-port', '0', '--nodes=0', first]
  const server = spawn(process.execPath, ['bin/keelson.js', ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  server.stdout.once('data', () => server.kill())
  await new Promise(resolve => server.once('close', resolve))
  rmSync(data, { recursive: true, force: true })
}
