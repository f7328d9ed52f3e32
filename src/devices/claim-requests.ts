/** The requests of claims, read once for all nodes. */

import type { DeviceConstraint, DeviceSelector, ExactDeviceRequest, ResourceClaimSpec } from '../kinds/resource/claim-shapes.ts'
import type { DeviceClass } from '../kinds/resource/deviceclass.ts'
import type { DeviceAttribute } from '../kinds/resource/slice-shapes.ts'
import type { CompiledExpression, DeviceExpressions } from './expressions.ts'
import type { AllocatorFeatures } from './features.ts'

export type ClaimToAllocate = {
  readonly metadata: { readonly namespace?: string; readonly name?: string }
  readonly spec: ResourceClaimSpec
}

/** Something is wrong with a claim or a class: it cannot be allocated on any node. */
export class AllocationError extends Error {}

/** How many devices a claim can be given. */
export const MAX_DEVICES = 32

/** A request, or one of the alternatives of a request. */
export type DeviceAlternative = {
  /** `REQUEST` or `REQUEST/SUBREQUEST`. */
  readonly name: string
  /** The names by which constraints and configuration can refer to the request. */
  readonly names: readonly string[]
  readonly spec: Omit<ExactDeviceRequest, 'adminAccess'>
  readonly isAdmin: boolean
  readonly class: DeviceClass
  /** How many; undefined for all there are. */
  readonly count: number | undefined
  /** Attributes that are worked out, by name. */
  readonly derived: ReadonlyMap<string, CompiledExpression<DeviceAttribute>>
  readonly selectors: readonly Selector[]
  /** Under which devices remember whether they satisfy all of them. */
  readonly selection: number
}

/** An expression, and whose it is, for messages. */
export type Selector = { readonly expression: CompiledExpression<boolean>; readonly origin: string }

/** A request with its alternatives, in order of preference; exactly one without any. */
export type Request = { readonly name: string; readonly alternatives: readonly DeviceAlternative[]; readonly isList: boolean }

export type PreparedClaim = {
  readonly name: string
  readonly claim: ClaimToAllocate
  readonly requests: readonly Request[]
  readonly constraints: readonly DeviceConstraint[]
}

export type Preparation = {
  readonly classOf: (name: string) => DeviceClass | undefined
  readonly features: AllocatorFeatures
  readonly expressions: DeviceExpressions
}

/** Reads a claim. Throws an AllocationError when it cannot be understood. */
export function prepareClaim(claim: ClaimToAllocate, parts: Preparation): PreparedClaim {
  const name = `${claim.metadata.namespace}/${claim.metadata.name}`
  const { requests, constraints = [] } = claim.spec.devices
  const prepared = (requests ?? []).map((request): Request => {
    const { exactly, firstAvailable = [] } = request
    if (!parts.features.consumableCapacity) {
      const isOff = 'has capacity requests, but the DRAConsumableCapacity feature is disabled'
      if (exactly?.capacity) throw new AllocationError(`claim ${name}, request ${request.name}: ${isOff}`)
      const sub = firstAvailable.find(({ capacity }) => capacity)
      if (sub) throw new AllocationError(`claim ${name}, subrequest ${sub.name}: ${isOff}`)
    }
    const alternatives = exactly
      ? [alternativeOf(name, exactly, { ...parts, own: request.name })]
      : firstAvailable.map(sub => alternativeOf(name, sub, { ...parts, own: sub.name, parent: request.name }))
    return { name: request.name, alternatives, isList: exactly === undefined }
  })
  for (const [i, { matchAttribute, distinctAttribute }] of constraints.entries())
    if (matchAttribute === undefined && distinctAttribute === undefined)
      throw new AllocationError(`claim ${name}, constraint #${i}: empty constraint (unsupported constraint type?)`)
  return { name, claim, requests: prepared, constraints }
}

type Names = { readonly own: string; readonly parent?: string }

function alternativeOf(
  claim: string,
  spec: ExactDeviceRequest,
  { own, parent, classOf, features, expressions }: Preparation & Names,
): DeviceAlternative {
  const fail = (why: string): never => {
    throw new AllocationError(`claim ${claim}, request ${own}${why}`)
  }
  const { derivedAttributes = [], selectors = [], deviceClassName, allocationMode, count = 1 } = spec
  if (derivedAttributes.length > 0 && !features.derivedAttributes)
    fail(': cannot handle request with derived attributes, the feature is disabled')
  for (const [i, { cel }] of selectors.entries()) if (!cel) fail(`, selector #${i}: CEL expression empty (unsupported selector type?)`)
  if (!deviceClassName) fail(': missing device class name (unsupported request type?)')
  const found = classOf(deviceClassName)
  if (!found)
    return fail(`: could not retrieve device class ${deviceClassName}: deviceclass.resource.k8s.io "${deviceClassName}" not found`)
  if (allocationMode !== 'ExactCount' && allocationMode !== 'All') fail(`: unsupported count mode ${allocationMode}`)
  const name = parent === undefined ? own : `${parent}/${own}`
  return {
    name,
    names: parent === undefined ? [own] : [parent, name],
    spec,
    isAdmin: spec.adminAccess === true,
    class: found,
    // More than can be given is as good as too many.
    count: allocationMode === 'All' ? undefined : Number(count),
    derived: new Map(derivedAttributes.map(each => [each.name, expressions.attribute(each.expression)])),
    selection: expressions.numberOf([...(found.spec.selectors ?? []), ...selectors].map(({ cel }) => cel?.expression ?? '')),
    selectors: [
      ...selectorsOf(expressions, found.spec.selectors, `class ${found.metadata.name}`),
      ...selectorsOf(expressions, selectors, `claim ${claim}`),
    ],
  }
}

const selectorsOf = (expressions: DeviceExpressions, selectors: readonly DeviceSelector[] = [], origin: string): Selector[] =>
  selectors.map(({ cel }, i) => ({ expression: expressions.selector(cel?.expression ?? ''), origin: `${origin}: selector #${i}` }))
