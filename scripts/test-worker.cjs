// A process that runs test files, one after the other as scripts/test.mjs names them: `node test-worker.cjs BUNDLE`. Each file is a suite,
// so that its hooks are its own.
const { describe } = require('node:test')

const files = require(process.argv[2])
/** A file that hangs ends with the name of the test that does, before the runner ends the process (scripts/test-pool.mjs). */
const MAX_FILE_MS = 15 * 60_000
let current

process.on('message', file => {
  current = file
  describe(file, { timeout: MAX_FILE_MS }, () => files[file]())
})
// Nothing that fails outside of a test may pass unseen. A test that is running fails by it as well.
for (const event of ['uncaughtException', 'unhandledRejection'])
  process.on(event, error => process.send?.({ type: 'stray', file: current, reason: String(error?.stack ?? error) }))
// The runner has ended, so nobody would hear of the other tests.
process.on('disconnect', () => process.exit(1))
