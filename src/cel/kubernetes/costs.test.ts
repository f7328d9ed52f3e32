import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { check } from '../checker/checker.ts'
import { estimateCost } from '../checker/cost.ts'
import type { CostNode, Range } from '../checker/cost-range.ts'
import { extendEnv } from '../checker/env.ts'
import { intType, listType, stringType } from '../checker/types.ts'
import { authorizerType, authorizerValue } from '../libraries/authorizer.ts'
import { kubernetesEstimator } from '../libraries/call-estimates.ts'
import { createProgram } from '../runtime/program.ts'
import { listOf } from '../runtime/values.ts'
import { parse } from '../syntax/parser.ts'
import { baseEnv } from './base-env.ts'
import { patchTypesLibrary } from './patch-types.ts'

const env = extendEnv(baseEnv('stored'), [
  {
    variables: [
      { name: 'authorizer', type: authorizerType },
      { name: 'text', type: stringType },
      { name: 'numbers', type: listType(intType) },
    ],
  },
  patchTypesLibrary(),
])

/** Texts are taken to be of at most twelve characters. */
const sizes = ({ type }: CostNode): Range | undefined =>
  type.kind === 'string' || type.kind === 'bytes' ? { min: 0n, max: 12n } : undefined

const everythingGoes = authorizerValue({ name: 'admin', groups: [] }, () => ({ allowed: true, reason: '' }))

const estimated = (text: string, estimateSize = sizes) =>
  estimateCost(check(env, parse(env, text)), kubernetesEstimator(estimateSize), { presenceTestCost: 0n })

/** The estimated cost of an expression, and its actual cost without constant folding. */
function costs(text: string): [min: number, max: number, actual: number] {
  const { min, max } = estimated(text)
  const { cost } = createProgram(env, check(env, parse(env, text)), { optimize: false }).evaluate({ authorizer: everythingGoes })
  return [Number(min), Number(max), cost]
}

const five = "['012345678901', '012345678901', '012345678901', '012345678901', '012345678901']"

const known: readonly (readonly [expression: string, costs: readonly [number, number, number]])[] = [
  ['[1, 2, 3, 4, 5].sum()', [15, 15, 15]],
  [`${five}.isSorted()`, [15, 25, 15]],
  ["url('https:://kubernetes.io/').getHost()", [4, 4, 4]],
  ["url('https:://kubernetes.io/') == url('https:://kubernetes.io/')", [7, 9, 7]],
  ["ip('192.168.0.1').family()", [3, 3, 3]],
  ["ip.isCanonical('127.0.0.1')", [2, 2, 2]],
  ["cidr('192.168.0.0/16').containsIP(ip('192.169.0.1'))", [5, 8, 5]],
  ["cidr('192.168.0.0/16').containsCIDR('192.168.0.0/16')", [7, 11, 7]],
  ["'ABCDEFGHIJ abcdefghij'.lowerAscii() == 'abcdefghij ABCDEFGHIJ'.lowerAscii()", [7, 9, 9]],
  ["'abc 123 def 123'.replace('123', '456')", [3, 3, 3]],
  ["'abc 123 def 123'.split(' ')", [3, 3, 3]],
  ["['aa', 'bb', 'cc', 'd', 'e', 'f', 'g', 'h', 'i', 'j'].join(' ')", [11, 23, 15]],
  ["'abc 123 def 123'.findAll('123')", [2, 2, 2]],
  ["jsonpatch.escapeKey('abc/def~ abc/def~')", [2, 2, 2]],
  ["authorizer.group('apps').resource('deployments').check('create').allowed()", [350004, 350004, 350004]],
  ["authorizer.group('apps').resource('deployments').fieldSelector('foo=bar').check('list').allowed()", [350215, 350215, 350215]],
  ['quantity("1.24242")', [1, 1, 1]],
  ['quantity("20").sub(quantity("15")).add(quantity("2")) == quantity("7")', [7, 7, 7]],
  ['format.named("dns1123Label").value().validate("my-name")', [34, 34, 10]],
  ['format.named("dns1123Label").value() == format.named("dns1123Label").value()', [5, 11, 5]],
  ['sets.contains([1], [])', [21, 21, 21]],
  ['sets.equivalent([1, 2, 3], [3, 2, 1])', [39, 39, 39]],
  ['semver("1.0.0").isLessThan(semver("1.2.3"))', [3, 3, 3]],
  ['[1, 2, 3, 4].slice(1, 3)', [23, 23, 23]],
  ['[3, 2, 1].sort()', [39, 39, 39]],
  ['[1, 2].distinct()', [29, 29, 29]],
  ['lists.range(5)', [16, 16, 16]],
]

for (const [expression, expected] of known) {
  test(`${expression} costs ${expected.join(', ')}`, () => assert.deepEqual(costs(expression), expected))
}

test('what is known of the sizes of variables limits what expressions may cost', () => {
  const sized = ({ path }: CostNode): Range | undefined => (path?.join('.') === 'numbers' ? { min: 0n, max: 8n } : undefined)
  assert.deepEqual(estimated('numbers.all(n, n > 0)', sized), { min: 2n, max: 42n })
  assert.deepEqual(
    estimated('numbers.all(n, n > 0)', () => undefined),
    { min: 2n, max: 2n ** 64n - 1n },
  )
  assert.deepEqual(estimated('numbers.map(n, n * 2).all(n, n > 0)', sized), { min: 13n, max: 165n })
})

test('sizes that nothing is known of wrap around where they do for Kubernetes', () => {
  const unknown = () => undefined
  const reading = 1_844_674_407_370_955_264n
  // Twice the greatest size and two more is none at all, which costs nothing to compare.
  assert.equal(estimated('strings.quote(text) == "a"', unknown).max, reading + 1n)
  assert.equal(estimated('bytes(text) == b"a"', unknown).max, reading + 2n)
})

test('an expression never costs more than was estimated', () => {
  const number = fc.integer({ min: 0, max: 9 })
  const list = fc.array(number, { maxLength: 5 })
  const shapes = [
    (a: string, b: string) => `${a}.all(x, ${b}.exists(y, x == y))`,
    (a: string, b: string) => `(${a} + ${b}).map(x, x + 1).filter(x, x in ${b}).size() > 2 ? ${a} : ${b}`,
    (a: string, b: string) => `sets.contains(${a}, ${b}) || ${a}.sort() == ${b}.reverse()`,
    (a: string, b: string) => `${a}.transformList(i, v, i + v).sum() + ${b}.transformMap(i, v, v).size()`,
    (a: string, b: string) => `numbers.exists(x, x in ${a}) && numbers.sortBy(x, -x) == ${b}`,
  ]
  fc.assert(
    fc.property(list, list, list, fc.constantFrom(...shapes), (a, b, numbers, shape) => {
      const text = shape(JSON.stringify(a), JSON.stringify(b))
      const sized = ({ path }: CostNode): Range | undefined =>
        path?.join('.') === 'numbers' ? { min: BigInt(numbers.length), max: BigInt(numbers.length) } : undefined
      const { min, max } = estimated(text, sized)
      const { cost } = createProgram(env, check(env, parse(env, text)), { optimize: false }).evaluate({ numbers: listOf(numbers) })
      assert.ok(BigInt(cost) <= max, `${text} cost ${cost} of at most ${max}`)
      assert.ok(min <= max)
    }),
    { numRuns: 100 },
  )
})
