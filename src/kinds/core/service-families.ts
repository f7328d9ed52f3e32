/** Which address families a Service gets: what it asks for, what its addresses say, what the server has. */
import { parseIPSloppy } from '../../lib/ip.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { type FieldError, invalid, type Ref, withValue } from '../../schema/refs.ts'
import { validateClusterIPs } from './service-rules.ts'
import { hasAddresses, isHeadless, type ServiceSpec } from './service-shapes.ts'

export type Family = 'IPv4' | 'IPv6'

/**
 * Fills ipFamilyPolicy and ipFamilies in place; yields why that cannot be done. `families` are those that the server has, the
 * default one first. Each group of errors ends it: what follows builds on what was checked.
 */
export function* settleFamilies(
  spec: ServiceSpec,
  old: ServiceSpec | undefined,
  at: Ref<ServiceSpec>,
  families: readonly Family[],
): Iterable<FieldError> {
  if (spec.type === 'ExternalName' || isSettled(spec, old)) return
  spec.ipFamilyPolicy ??= old?.ipFamilyPolicy ?? (isOpen(spec) ? 'RequireDualStack' : 'SingleStack')
  const malformed = [...validateClusterIPs(spec, at, old)]
  if (malformed.length > 0) return yield* malformed
  const contradictions = [...checkPolicy(spec, old, at), ...inferFamilies(spec, at, families)]
  if (contradictions.length > 0) return yield* contradictions
  const isDual = spec.ipFamilyPolicy !== 'SingleStack'
  if (isOpen(spec)) {
    // Nobody allocates for it, so it may have families that the server lacks.
    addFamilies(spec, families, isDual)
    return
  }
  const lacking = [...checkFamilies(spec, at, families)]
  if (lacking.length > 0) return yield* lacking
  addFamilies(spec, families, isDual && families.length === 2)
}

/** Headless and without a selector: others make its endpoints. */
const isOpen = (spec: ServiceSpec) => spec.clusterIP === 'None' && Object.keys(spec.selector ?? {}).length === 0

/** A service that merely prefers two families keeps what it has when the families of the server change. */
export function isSettled(spec: ServiceSpec, old: ServiceSpec | undefined): boolean {
  const prefers = (policy: string | undefined) => policy === 'PreferDualStack'
  return (
    old !== undefined &&
    prefers(spec.ipFamilyPolicy) &&
    prefers(old.ipFamilyPolicy ?? 'PreferDualStack') &&
    old.type === spec.type &&
    hasAddresses(spec) &&
    isSame(spec.clusterIPs, old.clusterIPs) &&
    isSame(spec.ipFamilies, old.ipFamilies)
  )
}

function* checkPolicy(spec: ServiceSpec, old: ServiceSpec | undefined, at: Ref<ServiceSpec>): Iterable<FieldError> {
  const policy = withValue(at.ipFamilyPolicy, spec.ipFamilyPolicy ?? null)
  const isSingle = spec.ipFamilyPolicy === 'SingleStack'
  if (old && isSingle) {
    // The policy alone says that the second family is not wanted any more.
    if (isSame(spec.clusterIPs, old.clusterIPs)) keepFirst(spec, 'clusterIPs')
    if (isSame(spec.ipFamilies, old.ipFamilies)) keepFirst(spec, 'ipFamilies')
  } else if (old) {
    if (isReduced(spec.clusterIPs, old.clusterIPs)) yield invalid(policy, "must be 'SingleStack' to release the secondary cluster IP")
    if (isReduced(spec.ipFamilies, old.ipFamilies)) yield invalid(policy, "must be 'SingleStack' to release the secondary IP family")
  }
  if (!isSingle) return
  const several = (what: string) => invalid(policy, `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`)
  if (spec.clusterIPs?.length === 2) yield several('cluster IPs')
  if (spec.ipFamilies?.length === 2) yield several('IP families')
}

/** An address that was asked for says which family is meant. */
function* inferFamilies(spec: ServiceSpec, at: Ref<ServiceSpec>, families: readonly Family[]): Iterable<FieldError> {
  if (isHeadless(spec)) return
  for (const [i, ip] of (spec.clusterIPs ?? []).entries()) {
    if (i < (spec.ipFamilies?.length ?? 0)) continue
    const family = familyOf(ip)
    if (families.includes(family)) spec.ipFamilies = [...(spec.ipFamilies ?? []), family]
    else yield invalid(withValue(at.clusterIPs[i]!, spec.clusterIPs), `${family} is not configured on this cluster`)
  }
}

function* checkFamilies(spec: ServiceSpec, at: Ref<ServiceSpec>, families: readonly Family[]): Iterable<FieldError> {
  if (spec.ipFamilyPolicy === 'RequireDualStack' && families.length < 2)
    yield invalid(withValue(at.ipFamilyPolicy, spec.ipFamilyPolicy), 'this cluster is not configured for dual-stack services')
  for (const [i, family] of (spec.ipFamilies ?? []).entries())
    if (!families.includes(family as Family)) yield invalid(at.ipFamilies[i]!, 'not configured on this cluster')
}

function addFamilies(spec: ServiceSpec, families: readonly Family[], isDual: boolean): void {
  const [first = families[0] as string] = spec.ipFamilies ?? []
  if (!spec.ipFamilies?.length) spec.ipFamilies = [first]
  if (isDual && spec.ipFamilies.length === 1) spec.ipFamilies = [first, first === 'IPv4' ? 'IPv6' : 'IPv4']
}

export const familyOf = (ip: string): Family => (parseIPSloppy(ip)?.family === 6 ? 'IPv6' : 'IPv4')

const isSame = (a: string[] = [], b: string[] = []) => deepEqual(a, b)
const isReduced = (now: readonly string[] = [], before: readonly string[] = []) => now.length > 0 && now.length < before.length
function keepFirst(spec: ServiceSpec, field: 'clusterIPs' | 'ipFamilies'): void {
  const list = spec[field]
  if (list && list.length > 1) spec[field] = list.slice(0, 1)
}
