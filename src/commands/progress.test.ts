import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { Progress } from './progress.ts'

/** An output that keeps the text written to it. */
function output(isTTY: boolean) {
  let text = ''
  const out = new Writable({
    write(chunk, _, done) {
      text += chunk
      done()
    },
  })
  return { out: Object.assign(out, { isTTY }) as unknown as NodeJS.WriteStream, text: () => text }
}

/** The bars of a terminal, each drawn over the one before, whose rest is cleared. */
const drawn = (text: string) => text.replaceAll('\u001b[K', '<clear>').split('\r').slice(1)

test('a terminal shows one bar that fills, and a line of its own when it ends', () => {
  const { out, text } = output(true)
  const progress = new Progress(out, { linesElsewhere: false })
  progress.show(500, 2000)
  assert.match(drawn(text())[0]!, /^\[#{8}\.{22}\] 25 % {2}500 of 2000 records, \d+ a second, \d+ s left<clear>$/)
  // Thousands of records a second are drawn only now and then, but the end always is.
  for (let done = 501; done <= 2000; done++) progress.show(done, 2000)
  progress.end()
  const bars = drawn(text())
  assert.ok(bars.length < 1000)
  assert.match(bars.at(-1)!, /^\[#{30}\] 100 % {2}2000 of 2000 records, \d+ a second<clear>\n$/)
  assert.ok(!bars.slice(0, -1).some(bar => bar.includes('\n')))
})

test('nothing to do is done', () => {
  const { out, text } = output(true)
  const progress = new Progress(out, { linesElsewhere: false })
  progress.show(0, 0)
  progress.end()
  assert.match(drawn(text())[0]!, /^\[#{30}\] 100 % {2}0 of 0 records, 0 a second<clear>\n$/)
})

test('a command that fails before any progress leaves the terminal as it is', () => {
  const { out, text } = output(true)
  new Progress(out, { linesElsewhere: true }).end()
  assert.equal(text(), '')
})

test('elsewhere there is no bar: a line for each tenth where lines are wanted, otherwise nothing', () => {
  const [lines, silent] = [output(false), output(false)]
  for (const [{ out }, linesElsewhere] of [
    [lines, true],
    [silent, false],
  ] as const) {
    const progress = new Progress(out, { linesElsewhere })
    for (let done = 0; done <= 1000; done++) progress.show(done, 1000)
    progress.end()
  }
  const shares = lines
    .text()
    .trimEnd()
    .split('\n')
    .map(line => /^(\d+) % {2}\d+ of 1000 records, \d+ a second(?:, \d+ s left)?$/.exec(line)?.[1])
  assert.deepEqual(shares, ['10', '20', '30', '40', '50', '60', '70', '80', '90', '100'])
  assert.equal(silent.text(), '')
})
