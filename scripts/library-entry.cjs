// The entry of the library, dist/keelson.cjs: loads its bundle with V8's compiled code of an earlier run, which takes a third of the time.
// Like the command (bin/start.js) it uses compiled code only from a folder that no other user can write to.
if (parseInt(process.versions.node, 10) < 20) throw new Error(`keelson needs Node 20 or newer; this is ${process.version}`)

const { existsSync, readFileSync, renameSync, rmSync, writeFileSync } = require('node:fs')
const { createRequire, wrap } = require('node:module')
const { join } = require('node:path')
const { runInThisContext, Script } = require('node:vm')
const { threadId } = require('node:worker_threads')

const bundle = join(__dirname, 'library.cjs')
/** The digest of the bundle, set by the build: V8 itself identifies compiled code by little more than the length of its source. */
const DIGEST = 'digest of the bundle'

// Test runners such as Jest run modules with globals of their own, and bundlers put the library into another file: both load it as usual.
const isOwn = runInThisContext('Array') === Array && existsSync(bundle)
module.exports = isOwn ? loadWithCompiledCode() : require('./library.cjs')

function loadWithCompiledCode() {
  const { compiledCodeFolder, isBeyondDoubt } = require('./compiled-code.cjs')
  const folder = compiledCodeFolder(__dirname)
  const file = folder === undefined ? undefined : join(folder, `library-${DIGEST}.${process.version}-${process.arch}.cache`)
  const cachedData = file !== undefined && existsSync(file) && isBeyondDoubt(file) ? readFileSync(file) : undefined
  // The build writes it in ASCII, which is read faster.
  const script = new Script(wrap(readFileSync(bundle, 'latin1')), { filename: bundle, cachedData })
  const module = { exports: {} }
  script.runInThisContext()(module.exports, createRequire(bundle), module, bundle, __dirname)
  // At the end of the process more of it is compiled than now.
  if (file !== undefined && script.cachedDataRejected !== false) process.once('exit', () => keep(file, script))
  return module.exports
}

/** Without write permission the code is compiled each time. */
function keep(file, script) {
  const draft = `${file}.${process.pid}-${threadId}`
  try {
    rmSync(draft, { force: true })
    writeFileSync(draft, script.createCachedData(), { flag: 'wx', mode: 0o600 })
    renameSync(draft, file)
  } catch {}
}
