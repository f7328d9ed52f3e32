/** The rules on changes of a Service: addresses and families may be added to and taken from at the end, nothing else. */
import { type FieldError, forbidden, invalid, type Ref, withValue } from '../../schema/refs.ts'
import { isHeadless, needsHealthCheck, type ServiceSpec } from './service-shapes.ts'

/** Rules on a change of what is asked for. */
export function* validateServiceChange(spec: ServiceSpec, old: ServiceSpec, at: Ref<ServiceSpec>): Iterable<FieldError> {
  if (spec.type !== 'ExternalName' && old.type !== 'ExternalName') {
    const [now, before] = [isHeadless(spec), isHeadless(old)]
    if (!(now && before)) yield* validateAddresses(spec, old, at)
    if (!now && !before) yield* validateFamilies(spec, old, at)
  }
  if (spec.type === 'LoadBalancer' && old.type === 'LoadBalancer' && spec.loadBalancerClass !== old.loadBalancerClass)
    yield invalid(withValue(at.loadBalancerClass, spec.loadBalancerClass ?? null), FIXED)
  if (needsHealthCheck(old) && needsHealthCheck(spec) && spec.healthCheckNodePort !== old.healthCheckNodePort)
    yield forbidden(at.healthCheckNodePort, 'field is immutable')
}

const FIXED = 'may not change once set'
const RELEASED = "must be set to 'SingleStack' when releasing the secondary"

function* validateAddresses(spec: ServiceSpec, old: ServiceSpec, at: Ref<ServiceSpec>): Iterable<FieldError> {
  const [now, before] = [spec.clusterIPs ?? [], old.clusterIPs ?? []]
  const shown = (i: number) => withValue(at.clusterIPs[i]!, now)
  if (now.length === before.length) {
    for (const [i, ip] of before.entries()) if (ip !== now[i]) yield invalid(shown(i), FIXED)
    return
  }
  if (now.length === 0) yield invalid(withValue(at.clusterIPs[0]!, null), 'primary clusterIP can not be unset')
  else if (before.length > 0 && now[0] !== before[0]) yield invalid(shown(0), FIXED)
  if (before.length > now.length && now.length === 1) yield* validateRelease(spec, at, 'clusterIP')
}

function* validateFamilies(spec: ServiceSpec, old: ServiceSpec, at: Ref<ServiceSpec>): Iterable<FieldError> {
  const [now, before] = [spec.ipFamilies ?? [], old.ipFamilies ?? []]
  const first = at.ipFamilies[0]!
  if (now.length === before.length) {
    for (const [i, family] of before.entries()) if (family !== now[i]) yield invalid(withValue(first, now), FIXED)
    return
  }
  // The addresses, not the families, are what clients are shown here.
  if (now.length > 0 && before.length > 0 && now[0] !== before[0]) yield invalid(withValue(first, spec.clusterIPs ?? null), FIXED)
  if (before.length < now.length) return
  if (!spec.clusterIPs?.length) yield invalid(withValue(first, spec.ipFamilies ?? null), 'primary ipFamily can not be unset')
  if (now.length === 1) yield* validateRelease(spec, at, 'ipFamily')
}

function* validateRelease({ ipFamilyPolicy }: ServiceSpec, at: Ref<ServiceSpec>, what: string): Iterable<FieldError> {
  if (ipFamilyPolicy !== 'SingleStack') yield invalid(withValue(at.ipFamilyPolicy, ipFamilyPolicy ?? null), `${RELEASED} ${what}`)
}
