// A reporter of node:test for a process that runs test files: sends every result to scripts/test-pool.mjs, which started the process.
import { Transform } from 'node:stream'
import { inspect } from 'node:util'

/** The names of the tests that are reported, each within the one before; the first is the file. */
const running = []
/** The names of the tests that have begun, in the same way: they are reported when they have ended. */
const begun = []

export default new Transform({
  writableObjectMode: true,
  transform({ type, data }, _, done) {
    if (type === 'test:dequeue') begun.splice(data.nesting, begun.length, data.name)
    if (type === 'test:start') running.splice(data.nesting, running.length, data.name)
    if (type === 'test:pass' || type === 'test:fail') send(type, data)
    if (type === 'test:diagnostic' && data.nesting > 0) process.send({ type: 'diagnostic', file: running[0], text: data.message })
    done()
  },
})

// Nothing that fails outside of a test may pass unseen: the test that is running fails by it.
for (const event of ['uncaughtException', 'unhandledRejection'])
  process.on(event, error => {
    const [file, ...within] = begun
    process.send?.({ type: 'stray', file, name: within.join(' > '), reason: String(error?.stack ?? error) })
  })

function send(type, { name: own, nesting, details, skip, todo }) {
  const [file, ...within] = [...running.slice(0, nesting), own]
  const name = within.join(' > ')
  const { error } = details
  if (type === 'test:fail') {
    // A test that failed because one within it did: that one was sent.
    if (error?.failureType !== 'subtestsFailed') process.send({ type: 'failed', file, name, reason: reasonOf(error) })
  } else if (skip !== undefined || todo !== undefined) process.send({ type: 'skipped', file, name, reason: String(skip ?? todo) })
  else if (details.type !== 'suite') process.send({ type: 'passed', file, name })
  if (nesting === 0) process.send({ type: 'end', file })
}

function reasonOf(error) {
  const cause = error?.cause ?? error
  const text = cause instanceof Error && cause.cause === undefined ? cause.stack : typeof cause === 'string' ? cause : inspect(cause)
  return error?.failureType && error.failureType !== 'testCodeFailure' ? `${error.failureType}: ${text}` : text
}
