/** Resource quantities: quantity, isQuantity, their arithmetic and order. */

import {
  addQuantity,
  compareQuantity,
  isQuantity,
  parseQuantity,
  type Quantity,
  quantityOf,
  quantitySign,
  subtractQuantity,
} from '../../lib/quantity.ts'
import type { Library } from '../checker/library.ts'
import { boolType, doubleType, intType, objectType, stringType } from '../checker/types.ts'
import { CelDouble, type CelFault, type CelInt, CelOpaque, type CelValue, fault, intOf, noSuchOverload } from '../runtime/values.ts'
import { traversal, unitCost } from './call-costs.ts'
import { attempt, fn, global, member } from './declare.ts'

export const quantityType = objectType('kubernetes.Quantity')

/**
 * A quantity as a value; `isBig` tells that Kubernetes would hold it as a number of arbitrary size, which it never treats as an integer.
 */
export class QuantityValue extends CelOpaque {
  readonly type = quantityType
  readonly quantity: Quantity
  readonly isBig: boolean
  constructor(quantity: Quantity, isBig: boolean) {
    super()
    this.quantity = quantity
    this.isBig = isBig
  }
  equalTo(other: CelValue): boolean | CelFault {
    return other instanceof QuantityValue ? compareQuantity(this.quantity, other.quantity) === 0 : noSuchOverload
  }
  override toString(): string {
    return this.quantity.text
  }
}

/** Parses a quantity; throws QuantityError. */
export const quantityValueOf = (text: string): QuantityValue => new QuantityValue(parseQuantity(text), isBigText(text))

const one = [quantityType]
const two = [quantityType, quantityType]
const withInt = [quantityType, intType]
const cost = unitCost

const compared = (id: string, result: typeof boolType, tell: (order: -1 | 0 | 1) => CelValue) =>
  member({ id, params: two, result, cost }, (a: QuantityValue, b: QuantityValue) => tell(compareQuantity(a.quantity, b.quantity)))

export const quantityLibrary = (): Library => ({
  functions: [
    fn(
      'quantity',
      global({ id: 'string_to_quantity', params: [stringType], result: quantityType, cost: traversal }, (text: string) =>
        attempt(() => quantityValueOf(text)),
      ),
    ),
    fn('isQuantity', global({ id: 'is_quantity_string', params: [stringType], result: boolType, cost: traversal }, isQuantity)),
    fn(
      'sign',
      global({ id: 'quantity_sign', params: one, result: intType, cost }, (a: QuantityValue) => quantitySign(a.quantity)),
    ),
    fn(
      'isGreaterThan',
      compared('quantity_is_greater_than', boolType, order => order === 1),
    ),
    fn(
      'isLessThan',
      compared('quantity_is_less_than', boolType, order => order === -1),
    ),
    fn(
      'compareTo',
      compared('quantity_compare_to', intType, order => order),
    ),
    fn('asApproximateFloat', member({ id: 'quantity_get_float', params: one, result: doubleType, cost }, approximate)),
    fn(
      'asInteger',
      member(
        { id: 'quantity_get_int', params: one, result: intType, cost },
        (a: QuantityValue) => integerOf(a) ?? fault('cannot convert value to integer'),
      ),
    ),
    fn(
      'isInteger',
      member({ id: 'quantity_is_integer', params: one, result: boolType, cost }, (a: QuantityValue) => integerOf(a) !== undefined),
    ),
    fn(
      'add',
      member({ id: 'quantity_add', params: two, result: quantityType, cost }, add),
      member({ id: 'quantity_add_int', params: withInt, result: quantityType, cost }, (a: QuantityValue, b: CelInt) => add(a, ofInt(b))),
    ),
    fn(
      'sub',
      member({ id: 'quantity_sub', params: two, result: quantityType, cost }, subtract),
      member({ id: 'quantity_sub_int', params: withInt, result: quantityType, cost }, (a: QuantityValue, b: CelInt) =>
        subtract(a, ofInt(b)),
      ),
    ),
  ],
})

const fits = (value: bigint): boolean => BigInt.asIntN(64, value) === value

const ofInt = (value: CelInt): QuantityValue => new QuantityValue(quantityOf(BigInt(value), 0, 'DecimalExponent'), false)

const add = (a: QuantityValue, b: QuantityValue): CelValue => derived(addQuantity(a.quantity, b.quantity), a, b)
const subtract = (a: QuantityValue, b: QuantityValue): CelValue => derived(subtractQuantity(a.quantity, b.quantity), a, b)

const derived = (result: Quantity, a: QuantityValue, b: QuantityValue): QuantityValue =>
  new QuantityValue(result, a.isBig || b.isBig || !fits(result.unscaled))

/** The value as a 64-bit integer; a quantity written with a fraction or in thousandths is no integer even if it is whole. */
function integerOf({ quantity: { unscaled, scale }, isBig }: QuantityValue): CelInt | undefined {
  if (isBig || scale < 0) return undefined
  // With more zeros than this only 0 fits 64 bits.
  if (scale > 18) return unscaled === 0n ? 0 : undefined
  const value = unscaled * 10n ** BigInt(scale)
  return fits(value) ? intOf(value) : undefined
}

function approximate({ quantity: { unscaled, scale } }: QuantityValue): CelValue {
  const base = Number(unscaled)
  return new CelDouble(scale === 0 ? base : base * 10 ** scale)
}

/** Whether Kubernetes parses the string into a number of arbitrary size, which it decides by length. */
function isBigText(text: string): boolean {
  const [, whole = '', fraction = '', suffix = ''] = /^[+-]?0*([0-9]*)(?:\.([0-9]*))?(.*)$/s.exec(text) ?? []
  const digits = Math.max(whole.length, 1) + fraction.length
  const power = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].indexOf(suffix) + 1
  if (power > 0) return fraction !== '' || 15 - Math.max(whole.length, 1) - Math.trunc((power * 10 * 3) / 10) - 1 < 0
  return digits > 18 || exponentOf(suffix) - fraction.length < -9
}

const SCALES: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }

const exponentOf = (suffix: string): number => SCALES[suffix] ?? Number(suffix.slice(1))
