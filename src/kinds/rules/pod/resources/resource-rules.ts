/** Rules for resource names, amounts and requirements. */
import { isQualifiedName } from '../../../../lib/names.ts'
import { compareQuantity, integerValue, isQuantity, milliValue, parseQuantity, quantitySign } from '../../../../lib/quantity.ts'
import {
  duplicate,
  entry,
  type FieldError,
  forbidden,
  invalid,
  invalidEach,
  notFoundValue,
  type Ref,
  required,
  unsupported,
  withValue,
} from '../../../../schema/refs.ts'
import { validateLabelText } from '../../text-rules.ts'
import type { ResourceClaim, ResourceRequirements } from './resources.ts'

const HUGE_PAGES_PREFIX = 'hugepages-'
const REQUESTS_PREFIX = 'requests.'
const NATIVE_NAMESPACE = 'kubernetes.io/'

const CONTAINER_RESOURCES: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage'])
const COUNTED_RESOURCES: ReadonlySet<string> = new Set([
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
])
const STANDARD_RESOURCES: ReadonlySet<string> = new Set([
  ...CONTAINER_RESOURCES,
  ...COUNTED_RESOURCES,
  'requests.cpu',
  'requests.memory',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  'storage',
  'requests.storage',
])

export const isHugePageResource = (name: string): boolean => name.startsWith(HUGE_PAGES_PREFIX)

/** Whether a resource of this name is a quota of huge pages. */
export const isQuotaHugePageResource = (name: string): boolean =>
  isHugePageResource(name) || name.startsWith(REQUESTS_PREFIX + HUGE_PAGES_PREFIX)

/** Whether a resource is native to Kubernetes: unqualified names are. */
export const isNativeResource = (name: string): boolean => !name.includes('/') || name.includes(NATIVE_NAMESPACE)

/** Whether a resource may be overcommitted. */
export const isOvercommitAllowed = (name: string): boolean => isNativeResource(name) && !isHugePageResource(name)

/** Whether the name can be that of an extended resource. */
export const isExtendedResourceName = (name: string): boolean =>
  !isNativeResource(name) && !name.startsWith(REQUESTS_PREFIX) && isQualifiedName(REQUESTS_PREFIX + name).length === 0

export const isStandardResourceName = (name: string): boolean => STANDARD_RESOURCES.has(name) || isQuotaHugePageResource(name)
const isStandardContainerResourceName = (name: string): boolean => CONTAINER_RESOURCES.has(name) || isHugePageResource(name)

/** Whether amounts of the resource are integers. */
export const isIntegerResource = (name: string): boolean => COUNTED_RESOURCES.has(name) || isExtendedResourceName(name)

/** Whether the resource may be requested at pod level. */
export const isPodLevelResource = (name: string): boolean => name === 'cpu' || name === 'memory' || isHugePageResource(name)

/** Whether resource claims may be accounted as this resource of a node. */
export const isNodeAllocatableResource = isPodLevelResource

/** A rule for the name of a resource. */
export type ResourceNameRule = (name: string, at: Ref<any>) => Iterable<FieldError>

/** A standard resource, or a qualified name. */
export function* validateResourceName(name: string, at: Ref<any>): Iterable<FieldError> {
  const faults = isQualifiedName(name)
  if (faults.length > 0) yield* invalidEach(withValue(at, name), faults)
  else if (!name.includes('/') && !isStandardResourceName(name))
    yield invalid(withValue(at, name), 'must be a standard resource type or fully qualified')
}

/** A resource that containers may request. */
export function* validateContainerResourceName(name: string, at: Ref<any>): Iterable<FieldError> {
  yield* validateResourceName(name, at)
  if (!name.includes('/')) {
    if (!isStandardContainerResourceName(name)) yield invalid(withValue(at, name), 'must be a standard resource for containers')
  } else if (!isNativeResource(name) && !isExtendedResourceName(name))
    yield invalid(withValue(at, name), "doesn't follow extended resource name standard")
}

/** A resource that may be requested at pod level. */
export function* validatePodResourceName(name: string, at: Ref<any>): Iterable<FieldError> {
  let named = true
  for (const error of validateResourceName(name, at)) {
    named = false
    yield error
  }
  if (named && !isPodLevelResource(name)) yield unsupported(withValue(at, name), 'cpu', HUGE_PAGES_PREFIX, 'memory')
}

/** An amount that is not below zero. */
export function* validateNonNegativeQuantity(amount: string, at: Ref<any>): Iterable<FieldError> {
  if (quantitySign(parseQuantity(amount)) < 0) yield invalid(withValue(at, amount), 'must be greater than or equal to 0')
}

/** An amount above zero. */
export function* validatePositiveQuantity(amount: string, at: Ref<any>): Iterable<FieldError> {
  if (quantitySign(parseQuantity(amount)) <= 0) yield invalid(withValue(at, amount), 'must be greater than zero')
}

/** A valid amount of the resource: not negative, and an integer for integer resources. */
export function* validateResourceQuantity(name: string, amount: string, at: Ref<any>): Iterable<FieldError> {
  yield* validateNonNegativeQuantity(amount, at)
  if (isIntegerResource(name) && milliValue(parseQuantity(amount)) % 1000n !== 0n)
    yield invalid(withValue(at, amount), 'must be an integer')
}

/** Whether an amount of huge pages is a whole number of pages of the size in its name. */
export function isWholeHugePages(name: string, amount: string): boolean {
  const size = name.slice(HUGE_PAGES_PREFIX.length)
  if (!isQuantity(size)) return false
  const page = parseQuantity(size)
  if (quantitySign(page) <= 0 || milliValue(page) % 1000n !== 0n) return false
  return integerValue(parseQuantity(amount)) % integerValue(page) === 0n
}

export type RequirementOptions = {
  readonly names: ResourceNameRule
  /** The names of the claims that the pod declares. */
  readonly claims?: ReadonlySet<string>
  readonly allowIndivisibleHugePages?: boolean
}

/** Limits and requests with valid names and amounts that are consistent, and claims that exist. */
export function* validateResourceRequirements(
  { limits = {}, requests = {}, claims = [] }: ResourceRequirements,
  at: Ref<ResourceRequirements>,
  { names, claims: known = new Set(), allowIndivisibleHugePages = false }: RequirementOptions,
): Iterable<FieldError> {
  for (const [name, amount] of Object.entries(limits)) {
    const itemAt = entry(at.limits, name)
    yield* names(name, itemAt)
    yield* validateResourceQuantity(name, amount, itemAt)
    if (!allowIndivisibleHugePages) yield* validateHugePages(name, amount, itemAt)
  }
  for (const [name, amount] of Object.entries(requests)) {
    const itemAt = entry(at.requests, name)
    yield* names(name, itemAt)
    yield* validateResourceQuantity(name, amount, itemAt)
    yield* validateRequestAgainstLimit({ name, request: amount, limit: Object.hasOwn(limits, name) ? limits[name] : undefined }, at)
    if (!allowIndivisibleHugePages) yield* validateHugePages(name, amount, itemAt)
  }
  const asked = [...Object.keys(limits), ...Object.keys(requests)]
  if (asked.some(isHugePageResource) && !asked.includes('cpu') && !asked.includes('memory'))
    yield forbidden(at, 'HugePages require cpu or memory')
  yield* validateClaimNames(claims, at.claims, known)
}

/** Requirements of a container. */
export const validateContainerResources = (
  requirements: ResourceRequirements,
  at: Ref<ResourceRequirements>,
  options: Omit<RequirementOptions, 'names'> = {},
): Iterable<FieldError> => validateResourceRequirements(requirements, at, { ...options, names: validateContainerResourceName })

function* validateRequestAgainstLimit(
  { name, request, limit }: { readonly name: string; readonly request: string; readonly limit: string | undefined },
  at: Ref<ResourceRequirements>,
): Iterable<FieldError> {
  if (limit === undefined) {
    if (!isOvercommitAllowed(name)) yield required(at.limits, 'Limit must be set for non overcommitable resources')
    return
  }
  const order = compareQuantity(parseQuantity(request), parseQuantity(limit))
  const itemAt = withValue(at.requests, request)
  if (order !== 0 && !isOvercommitAllowed(name)) yield invalid(itemAt, `must be equal to ${name} limit of ${limit}`)
  else if (order > 0) yield invalid(itemAt, `must be less than or equal to ${name} limit of ${limit}`)
}

function* validateHugePages(name: string, amount: string, at: Ref<string>): Iterable<FieldError> {
  if (isHugePageResource(name) && !isWholeHugePages(name, amount))
    yield invalid(at, `${amount} is not positive integer multiple of ${name}`)
}

/** Each claim is declared by the pod, and neither a claim nor a request of it is named twice. */
function* validateClaimNames(claims: readonly ResourceClaim[], at: Ref<ResourceClaim[]>, known: ReadonlySet<string>): Iterable<FieldError> {
  const seen = new Set<string>()
  const requestsOf = new Map<string, number>()
  for (const [i, { name, request = '' }] of claims.entries()) {
    const itemAt = at[i]!
    if (!name) {
      yield required(itemAt)
      continue
    }
    if (seen.has(name)) yield duplicate(withValue(itemAt, name))
    else {
      if (request) yield* validateLabelText(request, itemAt.request)
      const key = request ? `${name}/${request}` : name
      if (seen.has(key)) yield duplicate(withValue(itemAt, key))
      else if (!request) for (let n = requestsOf.get(name) ?? 0; n > 0; n--) yield duplicate(withValue(itemAt, name))
      if (!seen.has(key) && key.includes('/')) {
        const claim = key.slice(0, key.indexOf('/'))
        requestsOf.set(claim, (requestsOf.get(claim) ?? 0) + 1)
      }
      seen.add(key)
    }
    if (!known.has(name)) yield unknownClaim(withValue(itemAt, name), known)
  }
}

function unknownClaim(at: Ref<string>, known: ReadonlySet<string>): FieldError {
  const error = notFoundValue(at)
  const names = known.size === 0 ? ' which is empty' : `: ${[...known].sort().join(', ')}`
  return { ...error, message: `${error.message}: must be one of the names in pod.spec.resourceClaims${names}` }
}
