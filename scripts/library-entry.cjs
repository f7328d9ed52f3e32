// The entry of the library, dist/keelson.cjs: loads its bundle with V8's compiled code of an earlier run, which takes a third of the time.
// Like the command (bin/start.js) it uses compiled code only from a folder that no other user can write to.
if (parseInt(process.versions.node, 10) < 20) throw new Error(`keelson needs Node 20 or newer; this is ${process.version}`)

const { existsSync } = require('node:fs')
const { join } = require('node:path')
const { runInThisContext } = require('node:vm')

const bundle = join(__dirname, 'library.cjs')
// Test runners such as Jest run modules with globals of their own, and bundlers put the library into another file: both load it as usual.
const isOwn = runInThisContext('Array') === Array && existsSync(bundle)
module.exports = isOwn ? loadWithCompiledCode() : require('./library.cjs')

function loadWithCompiledCode() {
  const { runBundle } = require('./compiled-code.cjs')
  const { exports, keep } = runBundle(bundle)
  // At the end of the process more of it is compiled than now.
  if (keep) process.once('exit', keep)
  return exports
}
