// The main program of the single executable: loads the command from inside of it, with V8's compiled code that the build has kept.
const { writeFileSync } = require('node:fs')
const { getAsset, getRawAsset } = require('node:sea')
const { Script } = require('node:vm')
const { begin } = require('../bin/begin.js')

/** Runs a bundle; `require` gives the modules of Node, as everything else is in the bundle. */
function load(name) {
  const code = assetIfAny(`${name}.cache`)
  const source = Buffer.from(getRawAsset(`${name}.cjs`)).toString()
  const script = new Script(source, { filename: `${name}.cjs`, ...(code && { cachedData: Buffer.from(code) }) })
  const module = { exports: {} }
  script.runInThisContext()(module.exports, require, module, `${name}.cjs`, '.')
  return { ...module.exports, keep: () => keep(script) }
}

/** The build runs an executable without compiled code, which says where to write it. */
function keep(script) {
  const file = assetIfAny('keep-compiled-code-in')
  if (file) writeFileSync(Buffer.from(file).toString(), script.createCachedData())
}

function assetIfAny(name) {
  try {
    return getAsset(name)
  } catch {
    return undefined
  }
}

/** Runs a program of the server in this process, as `node -e` does (src/lib/executable.ts). */
function evaluate([program, ...args]) {
  process.argv = [process.execPath, ...args]
  new Function('require', program)(require)
}

// Harnesses start the stand-in for etcd by this name (src/commands/envtest.ts).
if (process.argv[2] === 'etcd') require('../bin/etcd.js')
else if (process.argv[2] === 'evaluate-program') evaluate(process.argv.slice(3))
else begin({ self: [process.execPath], load: () => load('cli'), loadSupervisor: () => load('supervisor') })
