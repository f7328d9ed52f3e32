// A reporter of node:test that tells failed tests alone: where each is, and why. scripts/test.mjs prints it at the end,
// since of a long run often only the end is kept.

/** Enough to see the cause; the full text is in the output of the run. */
const MOST_CHARACTERS = 4_000

export default async function* failures(events) {
  for await (const { type, data } of events) {
    if (type !== 'test:fail') continue
    const { error } = data.details
    // A test that failed because one within it did: that one is told.
    if (error?.failureType === 'subtestsFailed') continue
    const reason = error?.cause?.stack ?? error?.cause ?? error?.stack ?? error
    yield `✖ ${data.name}\n  ${data.file ?? ''}\n${indented(String(reason).slice(0, MOST_CHARACTERS))}\n`
  }
}

const indented = text => text.replace(/^/gm, '    ')
