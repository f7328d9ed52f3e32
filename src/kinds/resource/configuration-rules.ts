/** Rules for driver configuration, and for the expressions that select devices. */
import { compileDeviceExpression, type DeviceUse, MAX_DEVICE_COST } from '../../cel/kubernetes/devices.ts'
import { isProblem } from '../../cel/kubernetes/expression.ts'
import { isObject, type Json } from '../../lib/json-value.ts'
import { type FieldError, forbidden, internal, invalid, type Ref, required, tooLong, withValue } from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import type { DeviceSelector, OpaqueDeviceConfiguration } from './claim-shapes.ts'
import { type Finding, validateList } from './findings.ts'
import { validateDeclaredDriverName } from './name-rules.ts'

const MAX_SELECTORS = 32
const MAX_EXPRESSION_BYTES = 10 * 1024
/** The limit of opaque data for or from a driver, in bytes. */
const MAX_RAW_BYTES = 10 * 1024

export type StoredOptions = {
  /** Stored values were once valid; newer limits do not apply to them. */
  readonly isStored?: boolean
}

export type ExpressionOptions = StoredOptions & {
  /** The feature gates, which determine the fields of devices in expressions. */
  readonly gate: RequestContext['gate']
}

type Configured = { opaque?: OpaqueDeviceConfiguration }

/** Configuration is for exactly one driver. */
export function* validateConfiguration({ opaque }: Configured, at: Ref<Configured>, options: StoredOptions = {}): Iterable<Finding> {
  if (!opaque) return yield required(at.opaque)
  yield* validateDeclaredDriverName(opaque.driver, at.opaque.driver)
  yield* validateRawObject(opaque.parameters, at.opaque.parameters, options)
}

/** Opaque data is an object of limited size. */
export function* validateRawObject(data: Json | undefined, at: Ref<any>, { isStored = false }: StoredOptions = {}): Iterable<FieldError> {
  if (data === null || data === undefined) yield required(at)
  else if (!isStored && jsonBytes(data) > MAX_RAW_BYTES) yield tooLong(at, MAX_RAW_BYTES)
  else if (!isObject(data)) yield invalid(withValue(at, '<value omitted>'), 'must be a valid JSON object')
}

function jsonBytes(data: Json): number {
  let quotes = 0
  const text = JSON.stringify(data, (_, value) => {
    if (typeof value !== 'bigint') return value
    quotes += 2
    return String(value)
  })
  return Buffer.byteLength(text) - quotes
}

/** Selectors each hold one expression. */
export function* validateSelectors(
  selectors: readonly DeviceSelector[] | undefined,
  at: Ref<DeviceSelector[]>,
  options: ExpressionOptions,
): Iterable<Finding> {
  yield* validateList(selectors, at, {
    max: MAX_SELECTORS,
    *each({ cel }, here) {
      if (!cel) yield required(here.cel)
      else yield* validateExpression(cel.expression, here.cel.expression, options)
    },
  })
}

/** An expression that selects devices; a stored one was valid when it was written. */
function* validateExpression(expression: string, at: Ref<string>, options: ExpressionOptions): Iterable<FieldError> {
  yield* checkExpression(expression, at, { ...options, use: 'selector' })
}

/** An expression that computes a device attribute; returns its cost, since the total of a claim is limited, too. */
export function* validateAttributeExpression(
  expression: string,
  at: Ref<string>,
  options: ExpressionOptions,
): Generator<FieldError, bigint, undefined> {
  return yield* checkExpression(expression, at, { ...options, use: 'attribute' })
}

function* checkExpression(
  expression: string,
  at: Ref<string>,
  { isStored = false, gate, use }: ExpressionOptions & { readonly use: DeviceUse },
): Generator<FieldError, bigint, undefined> {
  if (isStored) return 0n
  if (Buffer.byteLength(expression) > MAX_EXPRESSION_BYTES) {
    yield tooLong(at, MAX_EXPRESSION_BYTES)
    return 0n
  }
  const features = { consumableCapacity: gate('DRAConsumableCapacity'), listTypeAttributes: gate('DRAListTypeAttributes') }
  const compiled = compileDeviceExpression(expression, use, features)
  if (isProblem(compiled)) {
    yield compiled.reason === 'invalid' ? invalid(at, compiled.detail) : internal(at, compiled.detail)
    return 0n
  }
  if (compiled.maxCost > MAX_DEVICE_COST) yield forbidden(at, 'too complex, exceeds cost limit')
  return compiled.maxCost
}
