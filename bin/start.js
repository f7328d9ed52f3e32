// Starts the bundled command. Compiling it would take longer than all else at a start, so V8's compiled code is kept between starts,
// where the build and the end of a first run leave it.
const { join } = require('node:path')
const { runBundle } = require('../dist/compiled-code.cjs')
const { begin } = require('./begin.js')

const load = name => {
  const { exports, keep } = runBundle(join(__dirname, '../dist', name))
  return { ...exports, keep }
}

begin({
  self: [process.execPath, ...process.execArgv, process.argv[1]],
  load: () => load('cli.cjs'),
  loadSupervisor: () => load('supervisor.cjs'),
})
