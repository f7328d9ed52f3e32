import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { evaluate, problemOf, shown } from '../../../test/kits/cel/kubernetes.ts'

/** Each expression is true. */
const holds = (...expressions: string[]) => {
  for (const expression of expressions) assert.equal(evaluate(expression), true, expression)
}

test('charAt finds characters by index', () => {
  holds("'hello'.charAt(4) == 'o'", "'hello'.charAt(5) == ''", "'a😀b'.charAt(1) == '😀'")
  assert.equal(problemOf("'hello'.charAt(6)"), 'index out of range: 6')
  assert.equal(problemOf("'hello'.charAt(-1)"), 'index out of range: -1')
})

test('indexOf and lastIndexOf', () => {
  holds(
    "'hello mellow'.indexOf('') == 0",
    "'hello mellow'.indexOf('ello') == 1",
    "'hello mellow'.indexOf('jello') == -1",
    "'hello mellow'.indexOf('', 2) == 2",
    "'hello mellow'.indexOf('ello', 2) == 7",
    "'hello mellow'.indexOf('ello', 20) == -1",
    "'hello mellow'.indexOf('', 20) == 12",
    "'hello mellow'.lastIndexOf('') == 12",
    "'hello mellow'.lastIndexOf('ello') == 7",
    "'hello mellow'.lastIndexOf('jello') == -1",
    "'hello mellow'.lastIndexOf('ello', 6) == 1",
    "'hello mellow'.lastIndexOf('ello', 20) == -1",
    "'a😀b😀c'.indexOf('😀', 2) == 3",
    "'a😀b😀c'.lastIndexOf('😀') == 3",
  )
  assert.equal(problemOf("'hello mellow'.indexOf('ello', -1)"), 'index out of range: -1')
  assert.equal(problemOf("'hello mellow'.lastIndexOf('ello', -1)"), 'index out of range: -1')
})

test('lists of text are joined and text is split', () => {
  holds(
    "['hello', 'mellow'].join() == 'hellomellow'",
    "['hello', 'mellow'].join(' ') == 'hello mellow'",
    "[].join('/') == ''",
    "'hello hello hello'.split(' ') == ['hello', 'hello', 'hello']",
    "'hello hello hello'.split(' ', 0) == []",
    "'hello hello hello'.split(' ', 1) == ['hello hello hello']",
    "'hello hello hello'.split(' ', 2) == ['hello', 'hello hello']",
    "'hello hello hello'.split(' ', -1) == ['hello', 'hello', 'hello']",
    "'a😀b'.split('') == ['a', '😀', 'b']",
    "'a😀b'.split('', 2) == ['a', '😀b']",
    "''.split('x') == ['']",
  )
  assert.equal(problemOf("dyn(['a', 'b'].map(x, dyn(x)) + [dyn(1)]).join()"), 'join: invalid input: 1')
})

test('the case of ASCII letters changes and that of others stays', () => {
  holds("'TacoCÆt'.lowerAscii() == 'tacocÆt'", "'TacoCÆt Xii'.upperAscii() == 'TACOCÆT XII'")
})

test('replace takes a limit', () => {
  holds(
    "'hello hello'.replace('he', 'we') == 'wello wello'",
    "'hello hello'.replace('he', 'we', -1) == 'wello wello'",
    "'hello hello'.replace('he', 'we', 1) == 'wello hello'",
    "'hello hello'.replace('he', 'we', 0) == 'hello hello'",
    "'hello hello'.replace('', '_') == '_h_e_l_l_o_ _h_e_l_l_o_'",
    "'hello hello'.replace('', '_', 2) == '_h_ello hello'",
    "'ab'.replace('', '_', 3) == '_a_b_'",
  )
})

test('substring takes indexes', () => {
  holds(
    "'tacocat'.substring(4) == 'cat'",
    "'tacocat'.substring(0, 4) == 'taco'",
    "'t😀co'.substring(1, 2) == '😀'",
    "'a'.substring(1) == ''",
  )
  assert.equal(problemOf("'tacocat'.substring(-1)"), 'index out of range: -1')
  assert.equal(problemOf("'tacocat'.substring(2, 1)"), 'invalid substring range. start: 2, end: 1')
  assert.equal(problemOf("'tacocat'.substring(2, 8)"), 'index out of range: 8')
})

test('white space around text is what Unicode calls so', () => {
  holds("'  \\ttrim\\n    '.trim() == 'trim'", "'\\u0085\\u00a0\\u2003a\\u3000'.trim() == 'a'", "'\\ufeffa'.trim() == '\\ufeffa'")
})

test('text is quoted as a literal of the language', () => {
  assert.equal(shown(`strings.quote('single-quote with "double quote"')`), String.raw`"single-quote with \"double quote\""`)
  assert.equal(
    shown(String.raw`strings.quote("two escape sequences \a\n")`),
    String.raw`"two escape sequences \\a\\n"`.replaceAll('\\\\', '\\'),
  )
})

test('reversing text came later than the version that Kubernetes uses', () => {
  assert.match(problemOf("'abc'.reverse()"), /found no matching overload for 'reverse' applied to 'string\.\(\)'/)
})

const literal = (text: string) => JSON.stringify(text)

test('joining undoes splitting, and indexOf finds what substring returns', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', '😀', ' ') })
  fc.assert(
    fc.property(word, word, (text, mark) => {
      assert.equal(evaluate(`${literal(text)}.split(${literal(mark)}).join(${literal(mark)}) == ${literal(text)}`), true)
      const index = evaluate(`${literal(text)}.indexOf(${literal(mark)})`)
      if (index === -1) return assert.equal(text.includes(mark), false)
      assert.equal(evaluate(`${literal(text)}.substring(${index}).startsWith(${literal(mark)})`), true)
    }),
    { numRuns: 60 },
  )
})
