/** Expressions over devices: compiled once, and evaluated once for each device. */
import { compileDeviceExpression, type DeviceUse, deviceValue, MAX_DEVICE_COST } from '../cel/kubernetes/devices.ts'
import { isProblem } from '../cel/kubernetes/expression.ts'
import { QuantityValue } from '../cel/libraries/quantities.ts'
import { SemverValue } from '../cel/libraries/semvers.ts'
import { CelFault, CelList, type CelValue, elementsOf, isInt, runtimeType } from '../cel/runtime/values.ts'
import type { DeviceAttribute } from '../kinds/resource/slice-shapes.ts'
import { LIMITS } from '../lib/limits.ts'
import type { PoolDevice } from './device.ts'
import type { AllocatorFeatures } from './features.ts'

/** The error of an expression; the same for every device when it cannot be compiled. */
export class ExpressionError extends Error {
  readonly kind: 'compile' | 'evaluate'
  constructor(kind: 'compile' | 'evaluate', message: string) {
    super(message)
    this.kind = kind
  }
}

/** An expression that is compiled, or cannot be. */
export interface CompiledExpression<T> {
  /** Its value for a device. Throws an ExpressionError when there is none. */
  of(device: PoolDevice): T
}

export class DeviceExpressions {
  readonly #features: AllocatorFeatures
  /** The least recently used first. */
  readonly #compiled = new Map<string, CompiledExpression<any>>()
  readonly #numbers = new Map<string, number>()
  #made = 0

  constructor(features: AllocatorFeatures) {
    this.#features = features
  }

  /** Tells whether a device fits. */
  selector(expression: string): CompiledExpression<boolean> {
    return this.#compile('selector', expression, readVerdict)
  }

  /** Works out an attribute. */
  attribute(expression: string): CompiledExpression<DeviceAttribute> {
    return this.#compile('attribute', expression, readAttribute)
  }

  /** Tells the results of several selectors together apart from those of others. */
  numberOf(expressions: readonly string[]): number {
    const key = JSON.stringify(expressions)
    const known = this.#numbers.get(key) ?? this.#made++
    this.#numbers.delete(key)
    this.#numbers.set(key, known)
    if (this.#numbers.size > LIMITS.compiledDeviceExpressions) this.#numbers.delete(this.#numbers.keys().next().value!)
    return known
  }

  #compile<T>(use: DeviceUse, expression: string, read: (value: CelValue) => T | ExpressionError): CompiledExpression<T> {
    const key = `${use} ${expression}`
    const known = this.#compiled.get(key) ?? compiled(use, expression, { features: this.#features, number: this.#made++, read })
    this.#compiled.delete(key)
    this.#compiled.set(key, known)
    if (this.#compiled.size > LIMITS.compiledDeviceExpressions) this.#compiled.delete(this.#compiled.keys().next().value!)
    return known
  }
}

type Reading<T> = {
  readonly features: AllocatorFeatures
  /** Tells its results apart from those of others. */
  readonly number: number
  readonly read: (value: CelValue) => T | ExpressionError
}

function compiled<T>(use: DeviceUse, expression: string, { features, number, read }: Reading<T>): CompiledExpression<T> {
  const { consumableCapacity, listTypeAttributes } = features
  const made = compileDeviceExpression(expression, use, { consumableCapacity, listTypeAttributes })
  if (isProblem(made)) {
    const error = new ExpressionError('compile', made.detail)
    return {
      of() {
        throw error
      },
    }
  }
  const { program } = made
  const evaluate = (device: PoolDevice): T | ExpressionError => {
    const { value } = program.evaluate({ device: deviceValue({ driver: device.driver, ...device.spec }) }, { maxCost: MAX_DEVICE_COST })
    return value instanceof CelFault ? new ExpressionError('evaluate', explain(value.message)) : read(value)
  }
  return {
    of(device) {
      let result = device.results.get(number) as T | ExpressionError | undefined
      if (result === undefined) {
        result = evaluate(device)
        device.remember(number, result)
      }
      if (result instanceof ExpressionError) throw result
      return result
    },
  }
}

const HINT = 'consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional fields'
const explain = (message: string): string => (message.includes('no such key:') ? `${message}. ${HINT}` : message)

function readVerdict(value: CelValue): boolean | ExpressionError {
  if (typeof value === 'boolean') return value
  const type = runtimeType(value as Exclude<CelValue, CelFault>).name
  return new ExpressionError(
    'evaluate',
    `CEL result of type ${type} could not be converted to bool: type conversion error from '${type}' to 'bool'`,
  )
}

function readAttribute(value: CelValue): DeviceAttribute | ExpressionError {
  const scalar = scalarOf(value)
  if (scalar) return scalar
  if (!(value instanceof CelList)) return new ExpressionError('evaluate', `unsupported CEL return type: ${shownType(value)}`)
  const elements = [...elementsOf(value)].map(element => ({ element, read: scalarOf(element) }))
  const first = elements[0]?.read
  if (elements.length === 0) return { strings: [] }
  if (!first) return new ExpressionError('evaluate', `unsupported list element type: ${shownType(elements[0]!.element)}`)
  const [type] = Object.keys(first) as [keyof typeof LISTS]
  const other = elements.findIndex(({ read }) => read?.[type] === undefined)
  if (other >= 0)
    return new ExpressionError(
      'evaluate',
      `expected list element at index ${other} to be ${SHOWN[type]}, got ${shownType(elements[other]!.element)}`,
    )
  return { [LISTS[type]]: elements.map(({ read }) => read![type]) }
}

const LISTS = { bool: 'bools', int: 'ints', string: 'strings', version: 'versions' } as const
const SHOWN = { bool: 'bool', int: 'int', string: 'string', version: 'semver' } as const

function scalarOf(value: CelValue): Pick<DeviceAttribute, keyof typeof LISTS> | undefined {
  if (typeof value === 'boolean') return { bool: value }
  if (typeof value === 'string') return { string: value }
  if (value instanceof SemverValue) return { version: value.toString() }
  return isInt(value) ? { int: value } : undefined
}

const shownType = (value: CelValue): string =>
  value instanceof QuantityValue ? 'kubernetes.Quantity' : value instanceof CelFault ? 'error' : runtimeType(value).name
