// A process that runs test files, one after the other as scripts/test.mjs names them: `node test-worker.cjs BUNDLE`. Each file is a suite,
// so that its hooks are its own.
const asyncHooks = require('node:async_hooks')

/** The hooks by which node:test follows promises and timers. */
const trackers = []
const { describe } = loadRunner()
const files = require(process.argv[2])
/** A file that hangs ends with the name of the test that does, before the runner ends the process (scripts/test-pool.mjs). */
const MAX_FILE_MS = 15 * 60_000

process.on('message', file => {
  for (const tracker of trackers) tracker.enable()
  describe(file, { timeout: MAX_FILE_MS }, () => files[file]())
  for (const tracker of trackers) tracker.disable()
})
// The runner has ended, so nobody would hear of the other tests.
process.on('disconnect', () => process.exit(1))

/**
 * Loads node:test, which follows every promise and every timer of the process to its test, for three to four percent of the processor time.
 * It has to know the suite in which a test is declared, and files declare their tests while they are loaded, so it follows them only then.
 * An uncaught error is reported for the test that is running (scripts/test-events.mjs).
 */
function loadRunner() {
  const { createHook } = asyncHooks
  asyncHooks.createHook = callbacks => {
    const hook = createHook(callbacks)
    trackers.push(hook)
    return hook
  }
  try {
    return require('node:test')
  } finally {
    asyncHooks.createHook = createHook
  }
}
