// A node:test reporter that prints only failed tests: their location and error. scripts/test.mjs prints it at the end, since often only the
// end of a long output is kept.

/** Enough to see the cause; the full message is in the output of the run. */
const MAX_CHARACTERS = 4_000

export default async function* failures(events) {
  for await (const { type, data } of events) {
    if (type !== 'test:fail') continue
    const { error } = data.details
    // A test that failed because of a subtest: that one is reported.
    if (error?.failureType === 'subtestsFailed') continue
    const reason = error?.cause?.stack ?? error?.cause ?? error?.stack ?? error
    yield `✖ ${data.name}\n  ${data.file ?? ''}\n${indented(String(reason).slice(0, MAX_CHARACTERS))}\n`
  }
}

const indented = text => text.replace(/^/gm, '    ')
