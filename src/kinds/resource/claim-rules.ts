/** Rules for the spec of a claim. */

import { MAX_DEVICE_COST } from '../../cel/kubernetes/devices.ts'
import { isDNS1123Label, isDNS1123Subdomain } from '../../lib/names.ts'
import { type FieldError, forbidden, invalid, invalidEach, type Ref, required, unsupported, withValue } from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import { longNameFaults } from '../rules/declared-formats.ts'
import type {
  DeviceClaim,
  DeviceConstraint,
  DeviceDerivedAttribute,
  DeviceRequest,
  DeviceSubRequest,
  ExactDeviceRequest,
  ResourceClaimSpec,
} from './claim-shapes.ts'
import { type ExpressionOptions, validateAttributeExpression, validateConfiguration, validateSelectors } from './configuration-rules.ts'
import { validateToleration } from './device-taint.ts'
import { type Finding, late, lateOnly, validateCodedList, validateList } from './findings.ts'
import { validateFullyQualifiedName } from './name-rules.ts'

const MAX_REQUESTS = 32
export const MAX_CONFIGURATIONS = 32
const MAX_CONSTRAINTS = 32
const MAX_SUBREQUESTS = 8
const MAX_DERIVED_ATTRIBUTES = 32

/** Rules for a claim to be created. */
export function* validateClaimSpec(
  { devices }: ResourceClaimSpec,
  at: Ref<ResourceClaimSpec>,
  { gate, isStored = false }: ExpressionOptions,
): Iterable<Finding> {
  const { requests, constraints, config } = devices
  const named = requestNamesOf(devices)
  const derived: DerivedCost = { total: 0n }
  const checks = { constrained: constrainedAttributes(constraints ?? []), gate, isStored, derived }
  yield* validateList(requests, at.devices.requests, {
    max: MAX_REQUESTS,
    key: ({ name }) => name,
    each: (request, here) => validateRequest(request, here, checks),
  })
  yield* validateList(constraints, at.devices.constraints, {
    max: MAX_CONSTRAINTS,
    each: (constraint, here) => validateConstraint(constraint, here, { named, gate }),
  })
  yield* validateList(config, at.devices.config, {
    max: MAX_CONFIGURATIONS,
    *each(configuration, here) {
      yield* validateRequestReferences(configuration.requests, here.requests, named)
      yield* validateConfiguration(configuration, here)
    },
  })
  if (derived.total > MAX_DEVICE_COST)
    yield forbidden(at.devices, 'too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit')
}

/** The total cost of all derived attributes of a claim. */
type DerivedCost = { total: bigint }

/** The context for checking the requests of a claim. */
type RequestChecks = ExpressionOptions & { readonly constrained: Constrained; readonly derived: DerivedCost }

/** The requests of a claim, each with its alternatives. */
export type RequestNames = ReadonlyMap<string, ReadonlySet<string>>

export function requestNamesOf({ requests }: DeviceClaim): RequestNames {
  return new Map((requests ?? []).map(({ name, firstAvailable = [] }) => [name, new Set(firstAvailable.map(sub => sub.name))]))
}

/** References to requests, or to REQUEST/SUBREQUEST, none twice. */
export function* validateRequestReferences(
  references: readonly string[] | undefined,
  at: Ref<string[]>,
  named: RequestNames,
): Iterable<Finding> {
  yield* validateList(references, at, {
    max: MAX_REQUESTS,
    key: reference => reference,
    each: (reference, here) => validateRequestReference(reference, here, named),
  })
}

/** A reference to a request, or to REQUEST/SUBREQUEST. */
export function* validateRequestReference(reference: string, at: Ref<string>, named: RequestNames): Iterable<FieldError> {
  const parts = reference.split('/')
  const [request = '', subrequest] = parts
  if (parts.length <= 2) for (const part of parts) yield* invalidEach(withValue(at, part), isDNS1123Label(part))
  const alternatives = named.get(request)
  if (parts.length > 2 || !alternatives || (subrequest !== undefined && !alternatives.has(subrequest)))
    yield invalid(at, "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'")
}

/** The attributes that constraints compare, by reference to a request; the empty name is for those that apply to all requests. */
type Constrained = ReadonlyMap<string, ReadonlySet<string>>

function constrainedAttributes(constraints: readonly DeviceConstraint[]): Constrained {
  const found = new Map<string, Set<string>>()
  for (const { requests = [], matchAttribute, distinctAttribute } of constraints) {
    const attribute = matchAttribute ?? distinctAttribute
    if (attribute === undefined) continue
    for (const request of requests.length === 0 ? [''] : requests) {
      const attributes = found.get(request) ?? new Set()
      found.set(request, attributes.add(attribute))
    }
  }
  return found
}

function* validateRequest(request: DeviceRequest, at: Ref<DeviceRequest>, checks: RequestChecks): Iterable<Finding> {
  const { name, exactly, firstAvailable = [] } = request
  yield* invalidEach(at.name, isDNS1123Label(name))
  const one = exactly ? validateExactRequest(exactly, at.exactly, { ...checks, name }) : []
  const alternatives = validateList(firstAvailable, at.firstAvailable, {
    max: MAX_SUBREQUESTS,
    key: sub => sub.name,
    each: (sub, here) => validateSubRequest(sub, here, { ...checks, name: `${name}/${sub.name}` }),
  })
  if (exactly && firstAvailable.length > 0) {
    yield invalid(withValue(at, null), 'exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set')
    yield* lateOnly(one)
    yield* lateOnly(alternatives)
  } else if (exactly) yield* one
  else if (firstAvailable.length > 0) yield* alternatives
  else yield required(at, 'exactly one of `exactly` or `firstAvailable` is required')
}

type Referenced = RequestChecks & { readonly name: string }

function* validateExactRequest(request: ExactDeviceRequest, at: Ref<ExactDeviceRequest>, referenced: Referenced): Iterable<Finding> {
  const { deviceClassName } = request
  if (!deviceClassName) yield required(at.deviceClassName)
  else yield* invalidEach(at.deviceClassName, isDNS1123Subdomain(deviceClassName))
  yield* validateFields(request, at, referenced)
}

function* validateSubRequest(request: DeviceSubRequest, at: Ref<DeviceSubRequest>, referenced: Referenced): Iterable<Finding> {
  const { name, deviceClassName } = request
  yield* invalidEach(at.name, isDNS1123Label(name))
  if (!deviceClassName) yield* late([required(at.deviceClassName)])
  else yield* late(invalidEach(at.deviceClassName, longNameFaults(deviceClassName)))
  yield* validateFields(request, at, referenced)
}

type RequestFields = Pick<ExactDeviceRequest, 'selectors' | 'allocationMode' | 'count' | 'tolerations' | 'derivedAttributes'>

function* validateFields(
  { selectors, allocationMode = '', count = 0, tolerations, derivedAttributes }: RequestFields,
  at: Ref<RequestFields>,
  referenced: Referenced,
): Iterable<Finding> {
  yield* validateSelectors(selectors, at.selectors, referenced)
  yield* validateDerivedAttributes(derivedAttributes ?? [], at.derivedAttributes, referenced)
  if (allocationMode === 'All') {
    if (count !== 0) yield invalid(at.count, "must not be specified when allocationMode is 'All'")
  } else if (allocationMode === 'ExactCount') {
    if (count <= 0) yield invalid(withValue(at.count, count), 'must be greater than zero')
  } else yield* late([unsupported(at.allocationMode, 'All', 'ExactCount')])
  yield* validateList(tolerations, at.tolerations, { each: validateToleration })
}

/** Derived attributes exist for constraints to compare, and each is compared by one. */
function* validateDerivedAttributes(
  attributes: readonly DeviceDerivedAttribute[],
  at: Ref<DeviceDerivedAttribute[]>,
  referenced: Referenced,
): Iterable<Finding> {
  yield* validateCodedList(attributes, at, {
    key: ({ name }) => name,
    *each({ name, expression }, here) {
      if (name && !isConstrained(name, referenced))
        yield invalid(here.name, 'must be referenced by at least one matchAttribute or distinctAttribute constraint targeting this request')
      if (expression) referenced.derived.total += yield* validateAttributeExpression(expression, here.expression, referenced)
    },
  })
  yield* validateList(attributes, at, {
    max: MAX_DERIVED_ATTRIBUTES,
    *each({ name, expression }, here) {
      if (!name) yield* late([required(here.name)])
      else yield* validateFullyQualifiedName(name, here.name)
      if (!expression) yield* late([required(here.expression)])
    },
  })
}

function isConstrained(attribute: string, { name, constrained }: Referenced): boolean {
  const [request = ''] = name.split('/')
  return ['', name, request].some(reference => constrained.get(reference)?.has(attribute))
}

function* validateConstraint(
  { requests, matchAttribute, distinctAttribute }: DeviceConstraint,
  at: Ref<DeviceConstraint>,
  { named, gate }: { named: RequestNames; gate: RequestContext['gate'] },
): Iterable<Finding> {
  yield* validateRequestReferences(requests, at.requests, named)
  if (matchAttribute !== undefined) yield* validateFullyQualifiedName(matchAttribute, at.matchAttribute)
  if (distinctAttribute !== undefined) yield* validateFullyQualifiedName(distinctAttribute, at.distinctAttribute)
  if (matchAttribute !== undefined || distinctAttribute !== undefined) return
  if (gate('DRAConsumableCapacity'))
    yield required(at, 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set')
  else yield required(at.matchAttribute)
}
