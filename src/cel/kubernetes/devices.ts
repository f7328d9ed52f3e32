/** CEL expressions that select devices or derive attributes of them. */

import { parseSemver } from '../../lib/semver.ts'
import { estimateCost } from '../checker/cost.ts'
import { type Env, extendEnv } from '../checker/env.ts'
import { anyType, boolType, type CelType, dynType, intType, sameType, stringType, typeString } from '../checker/types.ts'
import { kubernetesEstimator } from '../libraries/call-estimates.ts'
import { includesLibrary } from '../libraries/list-functions.ts'
import { quantityType, quantityValueOf } from '../libraries/quantities.ts'
import { SemverValue, semverType } from '../libraries/semvers.ts'
import type { Program } from '../runtime/program.ts'
import { CelMap, type CelValue, EntryMap, fault, listOf } from '../runtime/values.ts'
import { bindLibrary } from '../syntax/macros.ts'
import { baseEnv } from './base-env.ts'
import { checkExpression, type ExpressionProblem, invalidExpression, isProblem, programOf } from './expression.ts'
import { type SizedType, sized, sizedMap, sizedObject, sizedTypesLibrary, sizesOf } from './sized-types.ts'

/** The feature gates that determine which fields of devices expressions may use. */
export interface DeviceFeatures {
  /** Devices may be shared: `device.allowMultipleAllocations`. */
  readonly consumableCapacity: boolean
  /** Attributes may be lists. */
  readonly listTypeAttributes: boolean
}

/** The use of an expression: to select devices, or to compute an attribute. */
export type DeviceUse = 'selector' | 'attribute'

export interface DeviceProgram {
  readonly program: Program
  /** The estimated maximum cost of an evaluation. */
  readonly maxCost: bigint
}

/** The cost limit of one evaluation, and of its estimate. */
export const MAX_DEVICE_COST = 1_000_000

/** A device, as expressions see it. */
export interface DeviceInput {
  readonly driver: string
  readonly allowMultipleAllocations?: boolean
  readonly attributes?: Readonly<Record<string, AttributeInput>>
  readonly capacity?: Readonly<Record<string, { readonly value: string }>>
}

export interface AttributeInput {
  readonly int?: number | bigint
  readonly bool?: boolean
  readonly string?: string
  readonly version?: string
  readonly ints?: readonly (number | bigint)[]
  readonly bools?: readonly boolean[]
  readonly strings?: readonly string[]
  readonly versions?: readonly string[]
}

const DOMAIN_LENGTH = 63
const ID_LENGTH = 32
const DRIVER_LENGTH = 63
const VALUE_LENGTH = 64
const MAX_ATTRIBUTES = 32

interface DeviceEnv {
  readonly env: Env
  readonly device: SizedType
  readonly attribute: SizedType
}

const made = new Map<string, DeviceEnv>()

/** A program for a new expression with an estimate of its cost, or the error. */
export function compileDeviceExpression(text: string, use: DeviceUse, features: DeviceFeatures): DeviceProgram | ExpressionProblem {
  const { env, device, attribute } = deviceEnv(features)
  const ast = checkExpression(env, text)
  if (isProblem(ast)) return ast
  const problem = use === 'attribute' ? attributeProblem(ast.type, features) : selectorProblem(ast.type, attribute.type)
  if (problem !== undefined) return invalidExpression(problem)
  const program = programOf(env, ast)
  if (isProblem(program)) return program
  // The values of an attribute map are attributes, whatever their keys.
  const sizes = sizesOf(new Map([['device', device]]), map => (map.element === attribute ? attribute : undefined))
  return { program, maxCost: estimateCost(ast, kubernetesEstimator(sizes), { presenceTestCost: 0n }).max }
}

function deviceEnv(features: DeviceFeatures): DeviceEnv {
  const key = `${features.consumableCapacity},${features.listTypeAttributes}`
  const known = made.get(key) ?? makeEnv(features)
  made.set(key, known)
  return known
}

function makeEnv({ consumableCapacity, listTypeAttributes }: DeviceFeatures): DeviceEnv {
  const domain = sized(stringType, DOMAIN_LENGTH)
  const id = sized(stringType, ID_LENGTH)
  const attribute = sized(listTypeAttributes ? dynType : anyType, VALUE_LENGTH)
  const perDomain = (value: SizedType): SizedType => sizedMap(domain, sizedMap(id, value, MAX_ATTRIBUTES), MAX_ATTRIBUTES)
  const device = sizedObject('kubernetes.DRADevice', {
    driver: sized(stringType, DRIVER_LENGTH),
    attributes: perDomain(attribute),
    capacity: perDomain(sized(quantityType)),
    ...(consumableCapacity && { allowMultipleAllocations: sized(boolType, 1) }),
  })
  const env = extendEnv(baseEnv('new'), [
    bindLibrary(),
    { variables: [{ name: 'device', type: device.type }] },
    sizedTypesLibrary(device),
    ...(listTypeAttributes ? [includesLibrary()] : []),
  ])
  return { env, device, attribute }
}

/** The value of `device`. */
export function deviceValue({ driver, allowMultipleAllocations = false, attributes = {}, capacity = {} }: DeviceInput): CelValue {
  const device = new EntryMap()
  device.set('driver', driver)
  device.set('allowMultipleAllocations', allowMultipleAllocations)
  device.set('attributes', byDomain(driver, attributes, attributeValue))
  device.set(
    'capacity',
    byDomain(driver, capacity, ({ value }) => quantityValueOf(value)),
  )
  return device
}

/** Values by domain and name; a missing domain is empty. */
class Domains extends CelMap {
  readonly #entries: ReadonlyMap<string, EntryMap>
  constructor(entries: ReadonlyMap<string, EntryMap>) {
    super()
    this.#entries = entries
  }
  get size(): number {
    return this.#entries.size
  }
  keys(): readonly CelValue[] {
    return [...this.#entries.keys()]
  }
  find(key: CelValue): CelValue {
    return this.#entries.get(key as string) ?? NOTHING
  }
  override has(key: CelValue): boolean {
    return this.#entries.has(key as string)
  }
}

const NOTHING = new EntryMap()

function byDomain<T>(driver: string, named: Readonly<Record<string, T>>, read: (value: T) => CelValue): Domains {
  const domains = new Map<string, EntryMap>()
  for (const [name, value] of Object.entries(named)) {
    const slash = name.indexOf('/')
    const domain = slash < 0 ? driver : name.slice(0, slash)
    let entries = domains.get(domain)
    if (!entries) domains.set(domain, (entries = new EntryMap()))
    entries.set(name.slice(slash + 1), read(value))
  }
  return new Domains(domains)
}

function attributeValue(attribute: AttributeInput): CelValue {
  const { int, bool, string, version, ints, bools, strings, versions } = attribute
  const list = ints ?? bools ?? strings
  if (list) return listOf(list)
  if (versions) return listOf(versions.map(versionValue))
  return int ?? bool ?? string ?? versionValue(version ?? '')
}

const versionValue = (text: string): CelValue => {
  try {
    return new SemverValue(parseSemver(text))
  } catch (error) {
    return fault(`parse semantic version: ${(error as Error).message}`)
  }
}

function selectorProblem(type: CelType, attribute: CelType): string | undefined {
  if (sameType(type, boolType) || sameType(type, attribute)) return undefined
  return `must evaluate to bool or the unknown type, not ${typeString(type)}`
}

const SCALARS = 'must evaluate to a primitive scalar (string, integer, boolean, semver)'

function attributeProblem(type: CelType, { listTypeAttributes }: DeviceFeatures): string | undefined {
  if (isAttributeScalar(type) || (listTypeAttributes && type.kind === 'list' && isAttributeScalar(type.params[0]!))) return undefined
  return `${SCALARS}${listTypeAttributes ? ' or a list of these scalars' : ''}, not ${typeString(type)}`
}

const isAttributeScalar = (type: CelType): boolean =>
  [boolType, intType, stringType, anyType, dynType, semverType].some(scalar => sameType(scalar, type))
