// Starts the bundled command. Compiling it would take longer than all else at a start, so V8's compiled code is kept between
// starts: by Node itself from 22 on, before that beside the bundle, where the build and the end of a first run leave it. It is used
// only from where nobody else can write: V8 does not compare it with the source.
const { readFileSync, renameSync, rmSync, writeFileSync } = require('node:fs')
const { createRequire, enableCompileCache, wrap } = require('node:module')
const { dirname, join } = require('node:path')
const { Script } = require('node:vm')
const { compiledCodeFolder, isBeyondDoubt } = require('../dist/compiled-code.cjs')
const { begin } = require('./begin.js')

const bundle = join(__dirname, '../dist/cli.cjs')
const cache = `${bundle}.${process.version}-${process.arch}.cache`

/** Runs the bundle with the code that was kept. V8 tells by itself when that is of another version. */
function loadWithCache() {
  // The build writes it in ASCII.
  const script = new Script(wrap(readFileSync(bundle, 'latin1')), { filename: bundle, cachedData: kept() })
  const module = { exports: {} }
  script.runInThisContext()(module.exports, createRequire(bundle), module, bundle, join(bundle, '..'))
  const isKept = script.cachedDataRejected === false
  return { ...module.exports, keep: isKept ? () => {} : () => keep(script) }
}

function kept() {
  try {
    return isBeyondDoubt(cache) ? readFileSync(cache) : undefined
  } catch {
    return undefined
  }
}

/** Where the package may not be written to, every start compiles anew. */
function keep(script) {
  const draft = `${cache}.${process.pid}`
  try {
    if (!isBeyondDoubt(dirname(cache))) return
    rmSync(draft, { force: true })
    writeFileSync(draft, script.createCachedData(), { flag: 'wx', mode: 0o644 })
    renameSync(draft, cache)
  } catch {}
}

const folder = enableCompileCache && compiledCodeFolder(dirname(bundle))
if (folder !== undefined) enableCompileCache(folder)
begin({
  self: [process.execPath, ...process.execArgv, process.argv[1]],
  load: () => (enableCompileCache ? require(bundle) : loadWithCache()),
  loadSupervisor: () => require('../dist/supervisor.cjs'),
})
