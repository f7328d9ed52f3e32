// Messages about long values show only their beginning, so that they cost little.
import assert from 'node:assert/strict'
import test from 'node:test'
import { parseCron } from './cron.ts'
import { parseDuration } from './duration.ts'
import { goFieldValue, goPrint, goQuote, goShownJson, goSyntax, goTimeQuote, goWholeQuote } from './go-text.ts'
import { parseAddress, parsePrefix } from './ip.ts'
import type { Json } from './json-value.ts'
import { LIMITS } from './limits.ts'
import { linearRegex } from './linear-regex.ts'
import { parseSemver } from './semver.ts'
import { parseMicroTime, parseTime } from './time.ts'
import { parseRequestUri } from './url.ts'

const LENGTH = 300_000
/** A message may show a value more than once, with up to eight characters for each of its own. */
const MAX_MESSAGE_LENGTH = 20 * LIMITS.errorValueLength

/** Texts that Go escapes in different ways. */
const TEXTS = { plain: 'a', quotes: '"', control: '\u0001', accents: 'é', pairs: '😀', backslashes: '\\' }

const PARSERS: Readonly<Record<string, (text: string) => unknown>> = {
  parseTime,
  parseMicroTime,
  parseDuration,
  parseSemver,
  parseAddress,
  parsePrefix,
  parseRequestUri: text => parseRequestUri(`\u007f${text}`),
  parseCron: text => {
    const parsed = parseCron(`1 2 3 4 ${text}`)
    throw new Error(parsed.ok ? assert.fail('it is no schedule') : parsed.fault)
  },
}

for (const [name, parse] of Object.entries(PARSERS))
  test(`the errors of ${name} are bounded, whatever they are about`, () => {
    for (const [what, char] of Object.entries(TEXTS)) {
      let message = ''
      try {
        parse(`2020-01-01T00:00:00${char.repeat(LENGTH)}`)
      } catch (error) {
        ;({ message } = error as Error)
      }
      // At 6256f0f1 those of times and durations were up to ten times as long as the value, one character after the other.
      assert.ok(message.length > 0 && message.length < MAX_MESSAGE_LENGTH, `${what}: ${message.length} characters`)
    }
  })

const PRINTERS: Readonly<Record<string, (value: Json) => string>> = {
  goPrint,
  goSyntax,
  goShownJson: value => goShownJson(value),
  goFieldValue: value => goFieldValue(value, 'given'),
}
const text = 'é'.repeat(LENGTH)
const LARGE: Readonly<Record<string, Json>> = {
  text,
  list: Array.from({ length: LENGTH }, () => 1),
  texts: [text, text, text],
  'mapping of long keys': { [text]: text },
  'mapping of many keys': Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`key-${i}`, 'x'])),
  'nested lists': JSON.parse(`${'['.repeat(900)}"${text}"${']'.repeat(900)}`),
}
for (const [name, print] of Object.entries(PRINTERS))
  for (const [what, value] of Object.entries(LARGE))
    test(`${name} prints the beginning of a large value: ${what}`, () => {
      const printed = print(value)
      assert.ok(printed.length < 2 * LIMITS.errorValueLength, `${printed.length} characters`)
      assert.match(printed, /… \(truncated/)
    })

test('short values are printed whole, and no pair of surrogates is cut in two', () => {
  assert.equal(goQuote('a"é\u0001'), '"a\\"é\\x01"')
  assert.equal(goTimeQuote('a"é\u0001'), '"a\\"\\xc3\\xa9\\x01"')
  assert.equal(goPrint({ b: [1, 'x'], a: null }), 'map[a:<nil> b:[1 x]]')
  assert.equal(goSyntax(['x', 1]), '[]interface {}{"x", 1}')
  assert.equal(goFieldValue({ b: 1, a: '<' }, 'given'), '{"b":1,"a":"\\u003c"}')
  assert.equal(goFieldValue('x'.repeat(LIMITS.errorValueLength), 'given').length, LIMITS.errorValueLength + 2)
  assert.match(goQuote(`a${'😀'.repeat(LENGTH)}`), /😀… \(truncated, 600001 characters in all\)$/u)
  assert.equal(goWholeQuote('é'.repeat(LENGTH)).length, LENGTH + 2)
})

test('a pattern that is longer than anybody writes is not compiled', () => {
  // At 6256f0f1 this took seconds, and up to a minute for 2.9 MB, on the main thread.
  assert.throws(() => linearRegex('.'.repeat(LENGTH)), { message: 'error parsing regexp: expression too large' })
  assert.equal(linearRegex(`a{2}|${'b'.repeat(10_000)}`).test('aa'), true)
})
