import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { conformed, container, podSpec, specErrors } from '../../../../test/kits/kinds/pod-shapes.ts'
import { type Ref, refTo } from '../../../schema/refs.ts'
import type { AnyType, ScalarName } from '../../../schema/types.ts'
import { POD_OPTIONS } from './options.ts'
import { podOptionsFor } from './ratchet-rules.ts'
import { PodTemplateSpec } from './spec.ts'
import { validatePodTemplateSpec } from './spec-rules.ts'

/** Valid values that enable many rules, and strings that are valid nowhere. */
const WORDS = [
  '',
  'a',
  'A',
  'a/b',
  '..',
  '/',
  '__proto__',
  'constructor',
  'Always',
  'None',
  'Localhost',
  'linux',
  'windows',
  'In',
  'Exists',
  'cpu',
  '\ud800',
  "metadata.labels['x']",
]
const text = fc.oneof(fc.constantFrom(...WORDS), fc.string({ maxLength: 8 }))
const scalars: Record<ScalarName, fc.Arbitrary<unknown>> = {
  string: text,
  bool: fc.boolean(),
  int32: fc.constantFrom(-1, 0, 1, 80, 2 ** 31 - 1),
  int64: fc.constantFrom<number | bigint>(-1, 0, 1, 600, 2n ** 62n),
  double: fc.constantFrom(0, 0.5),
  bytes: fc.constant(''),
  time: fc.constant('2026-01-01T00:00:00Z'),
  microTime: fc.constant('2026-01-01T00:00:00.000000Z'),
  duration: fc.constant('1s'),
  quantity: fc.constantFrom('0', '1', '-1', '1500m', '3Mi', '1e100'),
  intOrString: fc.oneof(fc.constantFrom<number | string>(0, 80, -1), text),
  raw: fc.constant(null),
}

/** Any value of a type, sparse enough to stay small. */
function anyOf(type: AnyType): fc.Arbitrary<any> {
  const { shape } = type
  if (shape.kind === 'scalar') return scalars[shape.name]
  if (shape.kind === 'list') return fc.array(anyOf(shape.item), { maxLength: 2 })
  if (shape.kind === 'map') return fc.dictionary(text, anyOf(shape.value), { maxKeys: 2 })
  if (shape.kind === 'either') return anyOf(shape.object[1])
  const fields = Object.fromEntries(Object.entries(shape.fields).map(([name, [, field]]) => [name, sparse(anyOf(field))]))
  return fc.record(fields).map(value => Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined)))
}
const sparse = (part: fc.Arbitrary<any>) => fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: part })

test('for random templates, rules report errors and never throw', () => {
  fc.assert(
    fc.property(anyOf(PodTemplateSpec), draft => {
      const template = conformed<PodTemplateSpec>(PodTemplateSpec, draft)
      for (const options of [POD_OPTIONS, podOptionsFor(template)])
        for (const { field, message } of validatePodTemplateSpec(template, refTo(template, 'template') as Ref<PodTemplateSpec>, options)) {
          assert.match(field, /^template/)
          assert.match(message, /^(Invalid value|Required value|Forbidden|Unsupported value|Duplicate value|Not found|Too (long|many))/)
        }
    }),
    { numRuns: 200 },
  )
})

test('long hostile texts are read once', () => {
  const long = (piece: string) => piece.repeat(300_000)
  const spec = podSpec({
    hostname: `${long('a-')}`,
    nodeSelector: { [long('a.')]: long('_') },
    securityContext: { sysctls: [{ name: `${long('a')}!`, value: '' }], windowsOptions: { runAsUserName: `${long('a.')}\\${long(' ')}` } },
    tolerations: [{ key: 'a', operator: 'Gt', value: long('9') }],
    containers: [
      container({
        image: long(' '),
        env: [{ name: long('a'), valueFrom: { fieldRef: { fieldPath: `${long("['")}']` } } }],
        volumeMounts: [{ name: 'v', mountPath: '/v', subPath: long('../') }],
      }),
    ],
  })
  assert.ok(specErrors(spec, { numericTolerations: true }).length > 5)
})
