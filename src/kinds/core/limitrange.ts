/** LimitRange bounds the requests of containers, pods and claims in a namespace, and sets defaults for them. */
import { newUuid } from '../../lib/environment.ts'
import { getOwn, setOwn } from '../../lib/json-value.ts'
import { isQualifiedName } from '../../lib/names.ts'
import { compareQuantity, integerValue, milliValue, parseQuantity, quantityOf } from '../../lib/quantity.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { duplicate, entry, type FieldError, forbidden, invalid, invalidEach, type Ref, required, withValue } from '../../schema/refs.ts'
import { atomic, mapOf, message, quantity, type Static, string } from '../../schema/types.ts'
import { isOvercommitAllowed, validateContainerResourceName, validateResourceName } from '../rules/pod/resources/resource-rules.ts'
import { roundAmounts } from '../rules/pod/resources/resources.ts'

const LimitRangeItem = message(
  'LimitRangeItem',
  {
    type: [1, string.always(), 'The type of object that is limited: Pod, Container or PersistentVolumeClaim.'],
    max: [2, mapOf(quantity), 'The most of each resource.'],
    min: [3, mapOf(quantity), 'The least of each resource.'],
    default: [4, mapOf(quantity), 'Limits of containers that say none.'],
    defaultRequest: [5, mapOf(quantity), 'Requests of containers that say none.'],
    maxLimitRequestRatio: [6, mapOf(quantity), 'How many times its request a limit may be.'],
  },
  { defaults: fillItem },
)
type Item = Static<typeof LimitRangeItem>

const LimitRangeSpec = message('LimitRangeSpec', {
  limits: [1, atomic(LimitRangeItem).always(), 'The limits, one entry for each type.'],
})

export const LimitRange = defineKind({
  group: '',
  version: 'v1',
  kind: 'LimitRange',
  scope: 'Namespaced',
  names: { plural: 'limitranges', short: ['limits'] },
  doc: 'Limits on the requests of containers, pods and claims of a namespace.',
  spec: LimitRangeSpec,
  allowCreateOnUpdate: true,

  prepareForCreate({ metadata }) {
    metadata.name ||= newUuid()
  },
  *validate({ spec: { limits } }, { spec: at }) {
    const seen = new Set<string>()
    for (const [i, item] of (limits ?? []).entries()) {
      const here = at.limits[i]!
      yield* validateType(item.type, here.type)
      if (seen.has(item.type)) yield duplicate(here.type)
      seen.add(item.type)
      yield* validateNames(item, here)
      for (const name of namesOf(item)) yield* validateAmounts(item, here, name)
    }
  },
})

/** An object of the kind LimitRange. */
export type LimitRange = ObjectOf<typeof LimitRange>

const AMOUNTS = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const
type Part = (typeof AMOUNTS)[number]
type Amounts = Record<string, string>

/** Defaults of containers follow from each other: a limit from the maximum, a request from the limit, else from the minimum. */
function fillItem(item: { type: string } & { [P in Part]?: Amounts }): void {
  roundAmounts(...AMOUNTS.map(part => item[part]))
  if (item.type !== 'Container') return
  const limits = filled(item.default, item.max)
  const requests = filled(filled(item.defaultRequest, limits), item.min)
  if (Object.keys(limits).length > 0) item.default = limits
  if (Object.keys(requests).length > 0) item.defaultRequest = requests
}

function filled(amounts: Amounts = {}, from: Amounts = {}): Amounts {
  const out: Amounts = {}
  for (const [name, amount] of [...Object.entries(from), ...Object.entries(amounts)]) setOwn(out, name, amount)
  return out
}

function* validateType(type: string, at: Ref<string>): Iterable<FieldError> {
  const faults = isQualifiedName(type)
  yield* invalidEach(at, faults)
  if (faults.length === 0 && !type.includes('/') && !['Pod', 'Container', 'PersistentVolumeClaim'].includes(type))
    yield invalid(at, 'must be a standard limit type or fully qualified')
}

function* validateNames(item: Item, at: Ref<Item>): Iterable<FieldError> {
  const rule = item.type === 'Pod' || item.type === 'Container' ? validateContainerResourceName : validateResourceName
  for (const part of AMOUNTS) {
    const amounts = item[part] ?? {}
    if (part === 'maxLimitRequestRatio' && item.type === 'PersistentVolumeClaim' && !hasStorage(item))
      yield required(withValue((at as Record<string, Ref<any>>)['limits']!, null), NO_STORAGE)
    if (item.type === 'Pod' && (part === 'default' || part === 'defaultRequest')) {
      if (Object.keys(amounts).length > 0) yield forbidden(at[part], "may not be specified when `type` is 'Pod'")
    } else for (const name of Object.keys(amounts).sort()) yield* rule(name, entry(at[part], name))
  }
}

const NO_STORAGE = 'either minimum or maximum storage value is required, but neither was provided'
const hasStorage = ({ min = {}, max = {} }: Item) => Object.hasOwn(min, 'storage') || Object.hasOwn(max, 'storage')

/** Every resource that an entry names. */
const namesOf = (item: Item): string[] => [...new Set(AMOUNTS.flatMap(part => Object.keys(item[part] ?? {})))].sort()

/** The amounts of one resource are consistent. */
function* validateAmounts(item: Item, at: Ref<Item>, name: string): Iterable<FieldError> {
  const of = (part: Part) =>
    item.type === 'Pod' && (part === 'default' || part === 'defaultRequest') ? undefined : getOwn(item[part] ?? {}, name)
  const [min, max, limit, request, ratio] = [of('min'), of('max'), of('default'), of('defaultRequest'), of('maxLimitRequestRatio')]
  const exceeds = (a: string | undefined, b: string | undefined) => a !== undefined && b !== undefined && compare(a, b) > 0
  if (exceeds(min, max)) yield invalid(entry(at.min, name), `min value ${min} is greater than max value ${max}`)
  const requestAt = entry(at.defaultRequest, name)
  if (exceeds(min, request)) yield invalid(requestAt, `min value ${min} is greater than default request value ${request}`)
  if (exceeds(request, max)) yield invalid(requestAt, `default request value ${request} is greater than max value ${max}`)
  if (exceeds(request, limit)) yield invalid(requestAt, `default request value ${request} is greater than default limit value ${limit}`)
  const limitAt = entry(at.default, name)
  if (exceeds(min, limit)) yield invalid(withValue(limitAt, min), `min value ${min} is greater than default value ${limit}`)
  if (exceeds(limit, max)) yield invalid(withValue(limitAt, max), `default value ${limit} is greater than max value ${max}`)
  if (ratio !== undefined) yield* validateRatio(ratio, entry(at.maxLimitRequestRatio, name), { min, max })
  if (!isOvercommitAllowed(name) && limit !== undefined && request !== undefined && compare(limit, request) !== 0)
    yield invalid(requestAt, `default value ${limit} must equal to defaultRequest value ${request} in ${name}`)
}

const compare = (a: string, b: string) => compareQuantity(parseQuantity(a), parseQuantity(b))
const ONE = quantityOf(1n)

type Bounds = { readonly min: string | undefined; readonly max: string | undefined }
function* validateRatio(ratio: string, at: Ref<string>, { min, max }: Bounds): Iterable<FieldError> {
  if (compareQuantity(parseQuantity(ratio), ONE) < 0) yield invalid(at, `ratio ${ratio} is less than 1`)
  if (min === undefined || max === undefined) return
  const [asked, least, most] = [parseQuantity(ratio), parseQuantity(min), parseQuantity(max)]
  const isFine = [asked, least, most].every(q => integerValue(q) < MAX_MILLI)
  const value = isFine ? Number(milliValue(asked)) / 1000 : Number(integerValue(asked))
  const part = isFine ? milliValue : integerValue
  const bound = Number(part(most)) / Number(part(least))
  if (value > bound) yield invalid(at, `ratio ${ratio} is greater than max/min = ${Number.isFinite(bound) ? bound.toFixed(6) : '-Inf'}`)
}

/** Beyond this, thousandths do not fit into 64 bits. */
const MAX_MILLI = (2n ** 63n - 1n) / 1000n
