// Starts the bundled command. Compiling it would take longer than all else at a start, so V8's compiled code is kept between
// starts: by Node itself from 22 on, before that beside the bundle, where the build and the end of a first run leave it. It is used
// only from where nobody else can write: V8 does not compare it with the source.
const { readFileSync, renameSync, rmSync, writeFileSync, writeSync } = require('node:fs')
const { createRequire, enableCompileCache, wrap } = require('node:module')
const { availableParallelism } = require('node:os')
const { dirname, join } = require('node:path')
const { setFlagsFromString } = require('node:v8')
const { Script } = require('node:vm')
const { compiledCodeFolder, isBeyondDoubt } = require('../dist/compiled-code.cjs')

/** V8's own choices, under which Node's modules were compiled and the bundle is: compiled code is of use only under the same flags. */
const USUAL_FLAGS = ['--allocation-site-pretenuring', '--concurrent-marking-max-worker-num=7']
const FLAGS = [
  // Watches last long and other requests do not, but both are made by the same code. Where V8 has seen many watches open, it would
  // put every later request straight among the objects that only a full garbage collection looks at.
  '--no-allocation-site-pretenuring',
  // How many threads may look for garbage beside the server; V8's own choice would leave it no core on a small machine.
  `--concurrent-marking-max-worker-num=${Math.min(7, Math.max(1, availableParallelism() - 1))}`,
]

const AFTER_START_MS = 2000

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

/**
 * Starts the processes of `serve --processes N`, which load the same code as this one, before it is loaded here: each waits for the first
 * message of its supervisor, and ends with it. Where the flags are wrong, or say something that is not understood here, they are of no use
 * or are started later. As in src/commands/supervisor/server-process.ts.
 */
function startEarly([command, ...flags]) {
  if (command !== 'serve' || flags.includes('--help') || flags.includes('-h')) return []
  const at = flags.map(flag => /^--processes(=|$)/.test(flag)).lastIndexOf(true)
  const value = flags[at]?.includes('=') ? flags[at].split('=')[1] : flags[at + 1]
  const count = at < 0 ? 1 : value === 'auto' ? availableParallelism() : Number(value)
  if (!(Number.isInteger(count) && count > 1 && count <= MAX_EARLY)) return []
  const { fork } = require('node:child_process')
  const start = () => fork(process.argv[1], ['serve-process', ...flags], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  return Array.from({ length: count }, start)
}
/** As many as --processes takes. */
const MAX_EARLY = 64

async function supervised([, ...flags], early) {
  const { superviseEarly } = require('../dist/supervisor.cjs')
  return (await superviseEarly(flags, early)) ?? load().main(args)
}

/** Node would print the line of the bundle where an error was thrown, which is megabytes long, before the error itself. */
process.on('uncaughtException', error => {
  try {
    writeSync(2, `keelson: a mistake of Keelson ended it, please report it: ${error?.stack ?? error}\n`)
  } finally {
    process.exit(1)
  }
})

const args = process.argv.slice(2)
const early = startEarly(args)
const folder = enableCompileCache && compiledCodeFolder(dirname(bundle))
if (folder !== undefined) enableCompileCache(folder)
const load = () => (enableCompileCache ? require(bundle) : loadWithCache())
/** The supervisor of several processes has a bundle of its own, so that it does not load the whole command beside them. */
const { main, keep: keepCode = () => {} } = early.length > 0 ? { main: supervised } : load()
// Node's own modules that are loaded under other flags than it was built with are compiled anew, and a start loads many.
setTimeout(() => FLAGS.forEach(setFlagsFromString), AFTER_START_MS).unref()
main(args, early).then(code => {
  USUAL_FLAGS.forEach(setFlagsFromString)
  // Other commands compile too little of it to be worth keeping.
  if (args[0] === 'serve' && code === 0) keepCode()
  // Those that were of no use.
  for (const child of early) child.kill('SIGKILL')
  // Everything is closed: what a dead client left pending must not keep the process.
  process.exit(code)
})
