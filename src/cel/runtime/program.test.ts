import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compile } from '../../../test/kits/cel/compile.ts'
import { fromJson, run, testEnv, valueOfExpression } from '../../../test/kits/cel/program.ts'
import { extendEnv } from '../checker/env.ts'
import { boolType, dynType, intType, listType, stringType } from '../checker/types.ts'
import { CelProgramError } from './planner.ts'
import { CelCancellation } from './program.ts'
import { showValue } from './show-value.ts'
import { CelFault, type CelValue, fault, mapOf } from './values.ts'

/** The value as it is shown, or the message of the failure. */
const shown = (source: string, bindings: { readonly [name: string]: CelValue } = {}): string => {
  const value = valueOfExpression(source, bindings)
  return value instanceof CelFault ? `! ${value.message}` : showValue(value)
}

test('errors have the messages of cel-go', () => {
  const cases: [string, string][] = [
    ['1 / 0', 'division by zero'],
    ['1 % 0', 'modulus by zero'],
    ['1u / 0u', 'division by zero'],
    ['9223372036854775807 + 1', 'integer overflow'],
    ['-(-9223372036854775807 - 1)', 'integer overflow'],
    ['1u - 2u', 'unsigned integer overflow'],
    ["{'a': 1}.b", 'no such key: b'],
    ["{'a': 1}['b']", 'no such key: b'],
    ['{1: 1}[2]', 'no such key: 2'],
    ['[1, 2][5]', 'index out of bounds: 5'],
    ['[1, 2][-1]', 'index out of bounds: -1'],
    ["[1, 2][dyn('a')]", "unsupported index type 'string' in list"],
    ['[1, 2][dyn(1.5)]', 'unsupported index value 1.5 in list'],
    ['dyn([1])[dyn(null)]', 'invalid qualifier type: types.Null'],
    ["dyn('a').b", 'no such key: b'],
    ['dyn(1) + dyn("a")', 'no such overload'],
    ['dyn(true) + dyn(1)', 'no such overload: _+_'],
    ['dyn(1) && true', 'no such overload'],
    ['dyn(1) ? 1 : 2', 'no such overload'],
    ['!dyn(1)', 'no such overload'],
    ['size(dyn(1))', 'no such overload: size'],
    ['int(dyn(true))', 'no such overload: int(bool)'],
    ['dyn(1).getHours()', 'no such overload: getHours(int)'],
    ['dyn(1) < dyn("a")', 'no such overload'],
    ['dyn([1]) < dyn([2])', 'no such overload: _<_'],
    ["double('NaN') < 1.0", 'NaN values cannot be ordered'],
    ["int('x')", "type conversion error from 'string' to 'int'"],
    ["timestamp('x')", "type conversion error from 'string' to 'google.protobuf.Timestamp'"],
    ["duration('x')", "type conversion error from 'string' to 'google.protobuf.Duration'"],
    ["timestamp('0000-01-01T00:00:00Z')", 'timestamp overflow'],
    ["timestamp('9999-12-31T23:59:59Z') + duration('1s')", 'timestamp overflow'],
    ['int(1e99)', 'integer overflow'],
    ['uint(-1)', 'unsigned integer overflow'],
    ["string(b'\\xff')", 'invalid UTF-8 in bytes, cannot convert to string'],
    ["'a'.matches('(')", 'error parsing regexp: missing closing ): `(`'],
    ["timestamp('2024-01-01T00:00:00Z').getHours('Mars/Base')", 'unknown time zone Mars/Base'],
    ["timestamp('2024-01-01T00:00:00Z').getHours('x:00')", 'strconv.Atoi: parsing "x": invalid syntax'],
    ['optional.none().value()', 'optional.none() dereference'],
    ['dyn(1).exists(x, true)', "got 'types.Int', expected iterable type"],
    ['[1].transformMapEntry(i, v, {"k": v}).transformMapEntry(k, v, {dyn(1): v, 1u: v})', 'insert failed: key 1 already exists'],
  ]
  for (const [source, expected] of cases) assert.equal(shown(source), `! ${expected}`, source)
})

test('variables without a value are named', () => {
  const program = compile(testEnv({ x: intType }), 'x + 1')
  assert.equal(showValue(program.evaluate({}).value), 'no such attribute(s): x')
  assert.equal(program.evaluate({ x: 1 }).value, 2)
})

test('values are shown and converted as cel-go does', () => {
  const cases: [string, string][] = [
    ["string(timestamp('2009-02-13T23:31:30.5+01:00'))", '2009-02-13T23:31:30.5+01:00'],
    ["string(timestamp('2009-02-13T23:31:30Z') + duration('1ms'))", '2009-02-13T23:31:30.001Z'],
    ["string(duration('1h30m'))", '5400s'],
    ["string(duration('1ns'))", '0.000000001s'],
    ["duration('1h') + duration('1s')", '1h0m1s'],
    ["timestamp('2024-03-01T00:00:00Z') - timestamp('2024-02-29T00:00:00Z')", '24h0m0s'],
    ["int(timestamp('1969-12-31T23:59:59.5Z'))", '-1'],
    ['string(1e6)', '1e+06'],
    ['string(123456.5)', '123456.5'],
    ['string(1.0)', '1'],
    ["string(double('-inf'))", '-Inf'],
    ["double('0x1p-2')", '0.25'],
    ["double('1_000.5')", '1000.5'],
    ["bool('T')", 'true'],
    ["int('+5')", '5'],
    ["bytes('é').size()", '2'],
    ["'é😀'.size()", '2'],
    ["'\\U0000ffff' < '😀'", 'true'],
    ['type(type(1)) == type', 'true'],
    ['type([]) == list && type({}) == map && type(null) == null_type', 'true'],
    ['dyn(1) == dyn(1u) && dyn(1u) == dyn(1.0)', 'true'],
    ['{1: "a"}[dyn(1.0)]', 'a'],
    ['dyn(1) in {1u: true}', 'true'],
    ['-7 / 2', '-3'],
    ['-7 % 2', '-1'],
  ]
  for (const [source, expected] of cases) assert.equal(shown(source), expected, source)
})

test('parts of timestamps are those of the time zone', () => {
  const at = "timestamp('2024-03-10T10:30:45.678Z')"
  const cases: [string, number][] = [
    [`${at}.getHours()`, 10],
    [`${at}.getHours('America/New_York')`, 6],
    [`timestamp('2024-03-10T06:30:00Z').getHours('America/New_York')`, 1],
    [`timestamp('2024-03-10T07:30:00Z').getHours('America/New_York')`, 3],
    [`${at}.getMinutes('+05:30')`, 0],
    [`${at}.getHours('-08:00')`, 2],
    [`${at}.getDayOfWeek()`, 0],
    [`${at}.getDayOfYear()`, 69],
    [`timestamp('2023-12-31T00:00:00Z').getDayOfYear()`, 364],
    [`timestamp('2024-12-31T00:00:00Z').getDayOfYear()`, 365],
    [`timestamp('2024-12-31T23:00:00Z').getFullYear('Asia/Tokyo')`, 2025],
    [`timestamp('0001-01-01T00:00:00Z').getFullYear()`, 1],
    [`${at}.getMonth()`, 2],
    [`${at}.getDate()`, 10],
    [`${at}.getDayOfMonth()`, 9],
    [`${at}.getMilliseconds()`, 678],
    [`duration('100h').getHours()`, 100],
    [`duration('-90s').getMinutes()`, -1],
  ]
  for (const [source, expected] of cases) assert.equal(valueOfExpression(source), expected, source)
})

const term = fc.constantFrom('true', 'false', '1 / 0 > 0', "{'a': true}.b", 'dyn(1)', "dyn('x')")

test('&& and || are commutative except for which error is reported', () => {
  const kind = (value: CelValue) => (value instanceof CelFault ? 'fault' : value)
  fc.assert(
    fc.property(term, term, term, fc.constantFrom('&&', '||'), (a, b, c, operator) => {
      const [one, other] = [[a, b, c].join(operator), [c, b, a].join(operator)]
      assert.equal(kind(valueOfExpression(`dyn(${one})`)), kind(valueOfExpression(`dyn(${other})`)))
    }),
  )
})

test('a decided term absorbs failures on either side', () => {
  assert.equal(valueOfExpression('1 / 0 > 0 || true'), true)
  assert.equal(valueOfExpression('false && 1 / 0 > 0'), false)
  assert.equal(valueOfExpression('[1, 0, 2].exists(x, 4 / x == 2)'), true)
  assert.equal(valueOfExpression('[0, 1].all(x, 4 / x == 2)'), false)
  assert.equal(shown('[0, 2].all(x, 4 / x == 2)'), '! division by zero')
})

test('arithmetic in expressions agrees with exact integers', () => {
  const small = fc.bigInt(-(2n ** 62n), 2n ** 62n)
  fc.assert(
    fc.property(small, small, (a, b) => {
      const { value } = run('[x + y, x - y, x == y, x < y]', { x: intForm(a), y: intForm(b) })
      assert.equal(showValue(value), `[${a + b}, ${a - b}, ${a === b}, ${a < b}]`)
    }),
  )
})

const intForm = (value: bigint): CelValue => (Number.isSafeInteger(Number(value)) ? Number(value) : value)

test('lists that comprehensions gather do not grow under others', () => {
  assert.equal(shown('[[1, 2], [3]].map(l, l.map(x, x + 1))'), '[[2, 3], [4]]')
  assert.equal(shown('cel.bind(l, [], [l + [1], l + [2]])'), '[[1], [2]]')
  assert.equal(shown('cel.bind(l, [1].map(x, x), [l + [2], l])'), '[[1, 2], [1]]')
  assert.equal(shown('[1, 2].transformMap(i, v, v * 2)'), '{0: 2, 1: 4}')
  assert.equal(shown('{"a": 1}.transformList(k, v, k)'), '[a]')
})

test('inner variables hide outer ones', () => {
  assert.equal(shown('[1].map(x, [2].map(x, x))', { x: 9 }), '[[2]]')
  assert.equal(shown('[1].map(y, x + y)', { x: 9 }), '[10]')
  assert.equal(shown('[[1], [2, 3]].exists(x, x.exists(x, x == 3))'), 'true')
})

test('optional selections find or give none', () => {
  const bindings = { o: fromJson({ a: { b: [1] } }) }
  assert.equal(shown('o.?a.b[0].orValue(5)', bindings), '1')
  assert.equal(shown('o.?x.b[0].orValue(5)', bindings), '5')
  assert.equal(shown('o[?"a"].?b[?7].hasValue()', bindings), 'false')
  assert.equal(shown('[1, ?o.?x, ?o.?a.b]', bindings), '[1, [1]]')
  assert.equal(shown('{?"k": o.?x, "l": 1}', bindings), '{l: 1}')
  assert.equal(shown('has(o.?a.b)', bindings), 'true')
})

test('a conversion of a literal that must fail leaves no program', () => {
  const env = testEnv()
  assert.throws(() => compile(env, "true || int('x') == 1"), new CelProgramError("type conversion error from 'string' to 'int'"))
  assert.throws(() => compile(env, "'a'.matches('(')"), new CelProgramError('error parsing regexp: missing closing ): `(`'))
  assert.equal(compile(env, "true || int('x') == 1", { optimize: false }).evaluate({}).value, true)
})

test('a cost limit ends an evaluation that costs more, and no other', () => {
  const source = '[1, 2, 3].all(x, x > 0)'
  const { cost } = run(source)
  assert.equal(run(source, {}, { maxCost: cost }).value, true)
  const { value } = run(source, {}, { maxCost: cost - 1 })
  assert.ok(value instanceof CelCancellation)
  assert.equal(value.message, 'operation cancelled: actual cost limit exceeded')
  assert.equal(value.reason, 'cost')
})

const range = fromJson(Array.from({ length: 5000 }, (_, i) => i))

test('loops within loops end when they cost too much or do too much work', () => {
  const source = 'l.all(a, l.all(b, l.all(c, l.all(d, a + b + c + d >= 0))))'
  const spent = run(source, { l: range }, { maxCost: 100_000 })
  assert.ok(spent.value instanceof CelCancellation)
  assert.ok(spent.cost < 101_000)
  const long = fromJson(['a'.repeat(10_000)])
  const worked = run('l.all(a, t.all(b, size(b) > 0))', { l: range, t: long }, { maxWork: 10_000 })
  assert.ok(worked.value instanceof CelCancellation)
  assert.equal(worked.value.message, 'operation interrupted')
  assert.equal(worked.value.reason, 'work')
  assert.ok(worked.work > 10_000 && worked.work < 20_000)
})

test('the cost limit ends any expression', () => {
  const source = fc.letrec<{ e: string }>(tie => ({
    e: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom('l', '[1, 2]', 'l.map(x, [x, x])'),
      fc.tuple(tie('e'), tie('e')).map(([a, b]) => `(${a} + ${b})`),
      fc.tuple(tie('e'), tie('e')).map(([a, b]) => `${a}.map(x, ${b})`),
      fc.tuple(tie('e'), tie('e')).map(([a, b]) => `${a}.filter(x, ${b}.exists(y, y == x))`),
    ),
  })).e
  const l = fromJson(Array.from({ length: 50 }, (_, i) => i))
  fc.assert(
    fc.property(source, text => {
      const { value, cost } = run(`dyn(${text})`.replaceAll('[1, 2]', '[dyn(1), 2]'), { l }, { maxCost: 50_000 })
      // The last call may exceed the limit by no more than the size of its arguments.
      assert.ok(cost <= 50_000 || value instanceof CelCancellation)
    }),
    { numRuns: 60 },
  )
})

test('values that share parts are compared in bounded time', () => {
  const doubled = Array.from({ length: 40 }, () => '.map(x, [x, x])').join('')
  const { value } = run(`[dyn(1)]${doubled} == [dyn(1)]${doubled}`)
  assert.ok(value instanceof CelCancellation)
  assert.equal(value.reason, 'work')
})

test('work that costs little is bounded too when a loop repeats it', () => {
  const bindings = {
    l: range,
    s: 'a'.repeat(2 ** 20),
    o: fromJson({ m: Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [i, i])) }),
  }
  for (const source of ['l.all(x, size(s) > 0)', 'l.all(x, bytes(s) != b"")', 'l.all(x, (l + l)[0] == 0)', 'l.all(x, o == o)']) {
    const { value } = run(source, bindings, { maxCost: 1_000_000 })
    assert.ok(value instanceof CelCancellation, source)
  }
  assert.equal(run('l.all(x, o.m.size() > 0 && o.m.exists(k, true))', bindings, { maxCost: 1_000_000 }).value, true)
})

test('strings that are no numbers or times are rejected without scanning them whole', () => {
  const s = '1'.repeat(2 ** 20)
  for (const type of ['int', 'uint', 'double', 'duration', 'timestamp'])
    assert.match(shown(`${type}(s + 'x')`, { s }), /^! type conversion/)
  assert.match(shown("double('0x' + s)", { s }), /^! type conversion/)
})

test('a sum of lists is neither copied nor walked when it is huge', () => {
  const source = Array.from({ length: 40 }, (_, i) => `cel.bind(l${i + 1}, l${i} + l${i}, `).join('')
  const { value } = run(`${source}[l40.size(), l40[l40.size() - 1], l40[0]]${')'.repeat(40)}`, { l0: fromJson([7, 8]) })
  assert.equal(showValue(value), `[${2 * 2 ** 40}, 8, 7]`)
})

test('functions of libraries are chosen by what the arguments turn out to be', () => {
  const env = extendEnv(testEnv({ d: dynType, s: stringType }), [
    {
      functions: [
        {
          name: 'twice',
          overloads: [
            { id: 'twice_int', params: [intType], result: intType, evaluate: ([a]) => (a as number) * 2 },
            { id: 'twice_string', params: [stringType], result: stringType, evaluate: ([a]) => `${a}${a}`, cost: () => 7 },
            { id: 'twice_list', params: [listType(intType)], result: boolType, evaluate: () => true },
          ],
        },
        { name: 'fails', overloads: [{ id: 'fails', params: [], result: intType, evaluate: () => fault('as it must') }] },
        { name: 'throws', overloads: [{ id: 'throws', params: [], result: intType, evaluate: () => assert.fail('by mistake') }] },
      ],
    },
  ])
  const value = (source: string, d: CelValue) => compile(env, source).evaluate({ d, s: 'ab' }).value
  assert.equal(value('twice(d)', 4), 8)
  assert.equal(value('twice(d)', 'x'), 'xx')
  assert.equal(value('twice(d)', fromJson([1])), true)
  assert.equal(showValue(value('twice(d)', fromJson(['a']))), 'no such overload: twice(list)')
  assert.equal(showValue(value('twice(d)', true)), 'no such overload: twice(bool)')
  assert.equal(showValue(value('fails()', null)), 'as it must')
  assert.equal(showValue(value('throws()', null)), 'internal error: by mistake')
  const program = compile(env, 'twice(s) + twice("q")')
  for (const _ of [1, 2]) assert.deepEqual(program.evaluate({ d: null, s: 'ab' }), { value: 'ababqq', cost: 1 + 7 + 7 + 1, work: 0 })
})

test('maps may compute what they hold', () => {
  const lazy = mapOf([['a', fault('computed too late')]])
  assert.equal(shown('v.a', { v: lazy }), '! computed too late')
  assert.equal(shown('v.a == 1 || true', { v: lazy }), 'true')
})

test('an expression that is nested too deeply leaves no program, or fails', () => {
  const deep = Array.from({ length: 30_000 }, () => '1').join(' + ')
  const outcome = (): CelValue => {
    try {
      return run(deep).value
    } catch (error) {
      assert.ok(error instanceof Error)
      return fault(error.message)
    }
  }
  const value = outcome()
  assert.ok(value === 30_000 || value instanceof CelFault)
})
