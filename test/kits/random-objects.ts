/** Random values of any type, for properties that hold for all of them. */
import type { Json } from '../../src/lib/json-value.ts'
import { randomFrom as numbersFrom } from '../../src/lib/random.ts'
import type { AnyType, ScalarName } from '../../src/schema/types.ts'

export type Random = { readonly below: (n: number) => number }

/** Integers determined by a seed. */
export function randomFrom(seed: number): Random {
  const next = numbersFrom(seed)
  return { below: n => Math.floor(next() * n) }
}

/**
 * A value of the type. Lists and maps are never empty: protobuf does not distinguish those from absent ones. `around` are the enclosing
 * shapes; a recursive message has only plain fields, so that it ends.
 */
export function sample({ shape }: AnyType, random: Random, around: readonly unknown[]): Json {
  const within = [...around, shape]
  switch (shape.kind) {
    case 'scalar':
      return sampleScalar(shape.name, random)
    case 'list':
      return Array.from({ length: 1 + random.below(2) }, () => sample(shape.item, random, within))
    case 'map':
      return Object.fromEntries(Array.from({ length: 1 + random.below(2) }, (_, i) => [`k${i}`, sample(shape.value, random, within)]))
    case 'either': {
      const alternatives = [shape.object, shape.list, shape.bool].filter(each => each !== undefined)
      return sample(alternatives[random.below(alternatives.length)]![1], random, within)
    }
    case 'message': {
      const isPlain = around.includes(shape)
      const present = Object.entries(shape.fields).filter(
        ([, [wire, type]]) => wire !== 0 && random.below(3 + around.length) < 2 && (!isPlain || type.shape.kind === 'scalar'),
      )
      return Object.fromEntries(present.map(([name, [, type]]) => [name, sample(type, random, within)]))
    }
  }
}

function sampleScalar(name: ScalarName, random: Random): Json {
  const pick = <T>(...values: T[]) => values[random.below(values.length)]!
  switch (name) {
    case 'string':
      return pick('', 'a', 'with-dash', 'é ☃ 🚢', '__proto__', 'x'.repeat(200))
    case 'bool':
      return pick(true, false)
    case 'int32':
      return pick(0, 1, 127, 128, -1, 2 ** 31 - 1, -(2 ** 31))
    case 'int64':
      return pick<number | bigint>(0, 1, -5, 2 ** 40, 2 ** 53 - 1, 2n ** 60n, 2n ** 63n - 1n, -(2n ** 63n))
    case 'double':
      return pick(0, 0.5, -1e300)
    case 'bytes':
      return pick('', 'AA==', 'aGVsbG8=')
    case 'time':
      return pick('2026-01-01T00:00:00Z', '1969-12-31T23:59:59Z', '9999-12-31T23:59:59Z')
    case 'microTime':
      return pick('2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.123456Z')
    case 'duration':
      return pick('0s', '1m30s', '-5ms')
    case 'quantity':
      return pick('0', '500m', '2Gi', '1e3')
    case 'intOrString':
      return pick<number | string>(0, 8080, 'http', '25%', '')
    case 'raw':
      return pick<Json>({ a: [1, null, 'x'] }, [], 'text', 7, { big: 2n ** 60n })
  }
}
