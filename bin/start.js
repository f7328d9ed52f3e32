// Starts the bundled command. Compiling it would take longer than all else at a start, so V8's compiled code is kept between
// starts: by Node itself from 22 on, before that beside the bundle, where the build and the end of a first run leave it. It is used
// only from where nobody else can write: V8 does not compare it with the source.
const { enableCompileCache } = require('node:module')
const { dirname, join } = require('node:path')
const { compiledCodeFolder, runBundle } = require('../dist/compiled-code.cjs')
const { begin } = require('./begin.js')

const bundle = join(__dirname, '../dist/cli.cjs')

function loadWithCompiledCode() {
  const { exports, keep } = runBundle(bundle, bundle)
  return { ...exports, keep }
}

const folder = enableCompileCache && compiledCodeFolder(dirname(bundle))
if (folder !== undefined) enableCompileCache(folder)
begin({
  self: [process.execPath, ...process.execArgv, process.argv[1]],
  load: () => (enableCompileCache ? require(bundle) : loadWithCompiledCode()),
  loadSupervisor: () => require('../dist/supervisor.cjs'),
})
