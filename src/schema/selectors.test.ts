import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  assertSelectable,
  type FieldTerm,
  type LabelOperator,
  type LabelTerm,
  matchesFieldTerms,
  matchesLabelTerms,
  parseFieldSelector,
  parseLabelSelector,
  printLabelSelector,
  requiredFieldValue,
  sortedByKey,
} from './selectors.ts'

/** Writes a field selector so that reading it gives the same terms. */
const printFieldSelector = (terms: readonly FieldTerm[]) =>
  terms.map(({ field, operator, value }) => `${field}${operator}${value.replace(/[\\,=]/g, '\\$&')}`).join(',')

const matches = (selector: string, labels: Record<string, string>) => matchesLabelTerms(parseLabelSelector(selector), labels)
const failure = (f: () => unknown) => {
  try {
    f()
  } catch (error) {
    const { code, reason, message } = error as { code: number; reason: string; message: string }
    assert.deepEqual([code, reason], [400, 'BadRequest'])
    return message
  }
  return 'no failure'
}

test('every operator is read', () => {
  assert.deepEqual(parseLabelSelector(' g>3, a=b,c != d,e in (y, x,x),!f,h notin (z),i==j,k,l<4,m='), [
    { key: 'a', operator: '=', values: ['b'] },
    { key: 'c', operator: '!=', values: ['d'] },
    { key: 'e', operator: 'in', values: ['x', 'y'] },
    { key: 'f', operator: '!', values: [] },
    { key: 'g', operator: 'gt', values: ['3'] },
    { key: 'h', operator: 'notin', values: ['z'] },
    { key: 'i', operator: '==', values: ['j'] },
    { key: 'k', operator: 'exists', values: [] },
    { key: 'l', operator: 'lt', values: ['4'] },
    { key: 'm', operator: '=', values: [''] },
  ])
  assert.deepEqual(parseLabelSelector('  '), [])
})

test('words that are operators are also keys and values', () => {
  assert.deepEqual(parseLabelSelector('in in (in,notin)'), [{ key: 'in', operator: 'in', values: ['in', 'notin'] }])
  assert.deepEqual(parseLabelSelector('notin=in'), [{ key: 'notin', operator: '=', values: ['in'] }])
})

test('empty places in a set stand for the empty value', () => {
  for (const [text, values] of [
    ['x in ()', ['']],
    ['x in (,)', ['']],
    ['x in (a,)', ['', 'a']],
    ['x in (,a)', ['', 'a']],
    ['x in (a,,b)', ['', 'a', 'b']],
  ] as const)
    assert.deepEqual(parseLabelSelector(text)[0]?.values, values, text)
})

test('what cannot be read is answered with what was found', () => {
  const cases = {
    'a b c': "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
    'x in (': "unable to parse requirement: found '', expected: ',', ')' or identifier",
    'x in a': "unable to parse requirement: found 'a' expected: '('",
    'x in (a': "unable to parse requirement: found '', expected: ',' or ')'",
    'x in (a b)': "unable to parse requirement: found 'b', expected: ',' or ')'",
    'x in (a,': "unable to parse requirement: found '', expected: ',', or identifier",
    'x=(': "unable to parse requirement: found '(', expected: identifier",
    '!': "unable to parse requirement: found '', expected: identifier",
    '!a=b': "found '=', expected: ',' or 'end of string'",
    'a=b c': "found 'c', expected: ',' or 'end of string'",
    'a,': "found '', expected: identifier after ','",
    ',a': "found ',', expected: !, identifier, or 'end of string'",
    '=a': "found '=', expected: !, identifier, or 'end of string'",
  }
  for (const [text, message] of Object.entries(cases))
    assert.equal(
      failure(() => parseLabelSelector(text)),
      message,
      text,
    )
})

test('keys and values must be valid', () => {
  assert.match(
    failure(() => parseLabelSelector('-a=b')),
    /^unable to parse requirement: <nil>: Invalid value: "-a": name part must consist of/,
  )
  assert.match(
    failure(() => parseLabelSelector('a=-b')),
    /^unable to parse requirement: values\[0\]\[a\]: Invalid value: "-b": a valid label must be/,
  )
  assert.equal(
    failure(() => parseLabelSelector('a>b')),
    "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
  )
  assert.match(
    failure(() => parseLabelSelector('a in (-b,-c)')),
    /^unable to parse requirement: \[values\[0\]\[a\]: .*, values\[1\]\[a\]: .*\]$/,
  )
})

test('labels match as their operators say', () => {
  assert.equal(matches('a', { a: '' }), true)
  assert.equal(matches('!a', { a: '' }), false)
  assert.equal(matches('a!=b', {}), true)
  assert.equal(matches('a notin (b)', { a: 'b' }), false)
  assert.equal(matches('a=', {}), false)
  assert.equal(matches('a>9', { a: '10' }), true)
  assert.equal(matches('a<9', { a: '10' }), false)
  assert.equal(matches('a>1', { a: '99999999999999999999' }), false)
  assert.equal(matches('a>1', { a: 'y' }), false)
  assert.equal(matches('constructor', {}), false)
  assert.equal(matchesLabelTerms(parseLabelSelector('!a'), undefined), true)
})

const word = fc.stringMatching(/^[a-z0-9]([-a-z0-9_.]{0,4}[a-z0-9])?$/)
const value = fc.oneof(word, fc.constant(''), fc.constantFrom('in', 'notin'))
const term: fc.Arbitrary<LabelTerm> = fc
  .record({
    key: fc.oneof(word, fc.constantFrom('a', 'in')),
    operator: fc.constantFrom<LabelOperator[]>('=', '==', '!=', 'in', 'notin', 'exists', '!', 'gt', 'lt'),
  })
  .chain(({ key, operator }): fc.Arbitrary<LabelTerm> => {
    if (operator === 'exists' || operator === '!') return fc.constant({ key, operator, values: [] })
    if (operator === 'gt' || operator === 'lt') return fc.nat().map(n => ({ key, operator, values: [String(n)] }))
    const maxLength = operator === 'in' || operator === 'notin' ? 4 : 1
    return fc.uniqueArray(value, { minLength: 1, maxLength }).map(values => ({ key, operator, values: values.sort() }))
  })

test('property: what is printed reads back as the same terms', () => {
  fc.assert(
    fc.property(fc.array(term, { maxLength: 5 }), terms => {
      const sorted = sortedByKey(terms)
      assert.deepEqual(parseLabelSelector(printLabelSelector(sorted)), sorted)
    }),
  )
})

test('property: matching agrees with a naive model', () => {
  const labels = fc.dictionary(fc.constantFrom('a', 'in', 'b'), fc.oneof(value, fc.nat().map(String)))
  const model = ({ key, operator, values }: LabelTerm, labels: Record<string, string>): boolean => {
    const found = new Map(Object.entries(labels)).get(key)
    const number = found !== undefined && /^\d+$/.test(found) ? Number(found) : Number.NaN
    const answers: Record<LabelOperator, boolean> = {
      '=': found === values[0],
      '==': found === values[0],
      '!=': found !== values[0],
      in: found !== undefined && values.includes(found),
      notin: found === undefined || !values.includes(found),
      exists: found !== undefined,
      '!': found === undefined,
      gt: number > Number(values[0]),
      lt: number < Number(values[0]),
    }
    return answers[operator]
  }
  fc.assert(
    fc.property(fc.oneof(fc.array(term, { maxLength: 3 }), fc.array(term, { maxLength: 90 })), labels, (terms, labels) =>
      assert.equal(
        matchesLabelTerms(terms, labels),
        terms.every(term => model(term, labels)),
      ),
    ),
  )
})

test('thousands of terms cost an object no more than its labels', () => {
  const many = (text: (i: number) => string) => parseLabelSelector(Array.from({ length: 3_000 }, (_, i) => text(i)).join())
  const labels = { a: '5', b: 'x' }
  assert.equal(
    matchesLabelTerms(
      many(i => `a!=v${i}`),
      labels,
    ),
    true,
  )
  assert.equal(
    matchesLabelTerms(
      many(i => `a!=${i}`),
      labels,
    ),
    false,
  )
  assert.equal(
    matchesLabelTerms(
      many(i => `!z${i}`),
      labels,
    ),
    true,
  )
  assert.equal(
    matchesLabelTerms(
      many(i => `z${i}`),
      labels,
    ),
    false,
  )
  assert.equal(
    matchesLabelTerms(
      many(i => `a in (5,v${i})`),
      labels,
    ),
    true,
  )
  assert.equal(
    matchesLabelTerms(
      many(i => `a<${i + 6}`),
      labels,
    ),
    true,
  )
  assert.equal(
    matchesLabelTerms(
      many(i => `b!=v${i},a>${i % 5}`),
      labels,
    ),
    true,
  )
  assert.equal(
    matchesLabelTerms(
      many(i => `b!=v${i},a>${i % 6}`),
      labels,
    ),
    false,
  )
  assert.equal(
    matchesLabelTerms(
      many(i => `a<${i + 5}`),
      labels,
    ),
    false,
  )
})

test('property: no text makes the parsers fail otherwise than with 400', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[ab=!(),<> \\\0int]{0,12}$/)), text => {
      failure(() => parseLabelSelector(text))
      failure(() => parseFieldSelector(text))
    }),
  )
})

test('field selectors are read in sorted order with their escapes', () => {
  assert.deepEqual(parseFieldSelector('status.phase!=Running,,metadata.name==a\\,b\\=c\\\\'), [
    { field: 'metadata.name', operator: '=', value: 'a,b=c\\' },
    { field: 'status.phase', operator: '!=', value: 'Running' },
  ])
  assert.deepEqual(parseFieldSelector(''), [])
})

test('field selectors that make no sense are answered with 400', () => {
  assert.equal(
    failure(() => parseFieldSelector('x')),
    "invalid selector: 'x'; can't understand 'x'",
  )
  assert.equal(
    failure(() => parseFieldSelector('a=b=c')),
    'invalid field selector: unescaped character in value: 61',
  )
  assert.equal(
    failure(() => parseFieldSelector('a=\\b')),
    'invalid field selector: invalid escape sequence: \\b',
  )
  assert.equal(
    failure(() => parseFieldSelector('a=b\\')),
    'invalid field selector: invalid escape sequence: \\',
  )
})

test('fields that a kind does not offer are refused', () => {
  const refused = (text: string, options: Parameters<typeof assertSelectable>[1]) =>
    failure(() => assertSelectable(parseFieldSelector(text), options))
  const secrets = { namespaced: true, selectable: ['type'] }
  assert.equal(refused('spec.nope=1', secrets), 'field label not supported: spec.nope')
  assert.equal(refused('metadata.name=a,metadata.namespace=b,type=c', secrets), 'no failure')
  assert.equal(refused('spec.nope=1', { ...secrets, refusal: field => `no ${field}` }), 'no spec.nope')
  assert.equal(
    refused('metadata.namespace=b', { namespaced: false, selectable: ['type'] }),
    'field label not supported: metadata.namespace',
  )
  assert.equal(
    refused('spec.nope=1', { namespaced: true }),
    '"spec.nope" is not a known field selector: only "metadata.name", "metadata.namespace"',
  )
})

test('property: field selectors print and match as a model says', () => {
  const fieldTerm: fc.Arbitrary<FieldTerm> = fc.record(
    {
      field: fc.constantFrom('a', 'b.c'),
      operator: fc.constantFrom('=' as const, '!=' as const),
      value: fc.oneof(fc.string(), fc.stringMatching(/^[\\,=!x]{0,4}$/)),
    },
    { noNullPrototype: true },
  )
  fc.assert(
    fc.property(
      fc.oneof(fc.array(fieldTerm, { maxLength: 4 }), fc.array(fieldTerm, { maxLength: 30 })),
      fc.dictionary(fc.constantFrom('a', 'b.c'), fc.string()),
      (terms, fields) => {
        const read = parseFieldSelector(printFieldSelector(terms))
        const byText = (a: FieldTerm, b: FieldTerm) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)
        assert.deepEqual([...read].sort(byText), [...terms].sort(byText))
        const fieldOf = (field: string) => (Object.hasOwn(fields, field) ? fields[field]! : '')
        const expected = terms.every(t => (t.operator === '=' ? fieldOf(t.field) === t.value : fieldOf(t.field) !== t.value))
        assert.equal(matchesFieldTerms(read, fieldOf), expected)
        if (expected) for (const t of terms) if (t.operator === '=') assert.equal(requiredFieldValue(read, t.field), t.value)
      },
    ),
  )
})
