// Begins the command: starts the processes of several servers early, and sets V8's flags. bin/start.js hands in the bundles of the package,
// scripts/executable-entry.cjs those of the single executable.
const { writeSync } = require('node:fs')
const { availableParallelism } = require('node:os')
const { setFlagsFromString } = require('node:v8')

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

/**
 * Starts the first process of `serve --processes N`, with which the server is ready, before anything is loaded here: it waits for the first
 * message of its supervisor, and ends with it. Where the flags are wrong, or say something that is not understood here, it is of no use or
 * is started later. As in src/commands/supervisor/server-process.ts.
 */
function startEarly([program, ...before], [command, ...flags]) {
  if (command !== 'serve' || flags.includes('--help') || flags.includes('-h')) return undefined
  const at = flags.map(flag => /^--processes(=|$)/.test(flag)).lastIndexOf(true)
  const value = flags[at]?.includes('=') ? flags[at].split('=')[1] : flags[at + 1]
  const count = at < 0 ? 1 : value === 'auto' ? availableParallelism() : Number(value)
  if (!(Number.isInteger(count) && count > 1 && count <= MAX_PROCESSES)) return undefined
  const { spawn } = require('node:child_process')
  return spawn(program, [...before, 'serve-process', ...flags], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
}
/** As many as --processes takes. */
const MAX_PROCESSES = 64

/** Node would print the line of the bundle where an error was thrown, which is megabytes long, before the error itself. */
process.on('uncaughtException', error => {
  try {
    writeSync(2, `keelson: a mistake of Keelson ended it, please report it: ${error?.stack ?? error}\n`)
  } finally {
    process.exit(1)
  }
})

/**
 * Runs the command with the arguments of this process. `load` gives the command and how its compiled code is kept, `loadSupervisor` the
 * bundle for several processes; `self` starts this program again.
 */
exports.begin = ({ self, load, loadSupervisor }) => {
  const args = process.argv.slice(2)
  const early = startEarly(self, args)
  /** The supervisor of several processes has a bundle of its own, so that it does not load the whole command beside them. */
  const supervised = async ([, ...flags], early) => (await loadSupervisor().superviseEarly(flags, early)) ?? load().main(args)
  const { main, keep = () => {} } = early ? { main: supervised } : load()
  // Node's own modules that are loaded under other flags than it was built with are compiled anew, and a start loads many.
  setTimeout(() => FLAGS.forEach(setFlagsFromString), AFTER_START_MS).unref()
  main(args, early).then(code => {
    USUAL_FLAGS.forEach(setFlagsFromString)
    // Other commands compile too little of it to be worth keeping.
    if (args[0] === 'serve' && code === 0) keep()
    // If it was of no use.
    early?.kill('SIGKILL')
    // Everything is closed: what a dead client left pending must not keep the process.
    process.exit(code)
  })
}
