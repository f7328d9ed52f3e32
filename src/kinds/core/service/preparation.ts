/** Prepares a write of a Service: makes linked fields consistent, keeps allocated values, and clears fields that the type does not use. */
import { deepEqual } from '../../../lib/json-value.ts'
import { allocatesNodePorts, isExternal, needsHealthCheck, needsNodePort, type ServiceSpec, type ServiceStatus } from './shapes.ts'

/** Sets defaults that depend on several fields. */
export function defaultService({ spec, status }: { spec: ServiceSpec; status: ServiceStatus }): void {
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig
  if (spec.sessionAffinity === 'ClientIP' && spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined)
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: 10800 } }
  if (isExternal(spec)) spec.externalTrafficPolicy ||= 'Cluster'
  if (['ClusterIP', 'NodePort', 'LoadBalancer'].includes(spec.type)) spec.internalTrafficPolicy ??= 'Cluster'
  if (spec.type !== 'LoadBalancer') return
  spec.allocateLoadBalancerNodePorts ??= true
  for (const point of status.loadBalancer.ingress ?? []) if (point.ip) point.ipMode ??= 'VIP'
}

/** ExternalName has no internal traffic policy. Unknown values are left for validation to reject. */
export function dropInternalPolicy(spec: ServiceSpec): void {
  if (spec.type === 'ExternalName' && ['Cluster', 'Local'].includes(spec.internalTrafficPolicy ?? '')) delete spec.internalTrafficPolicy
}

/** Old clients set only clusterIP; it is copied to clusterIPs. */
export function listClusterIP(spec: ServiceSpec): void {
  if (spec.clusterIP && !spec.clusterIPs) spec.clusterIPs = [spec.clusterIP]
}

/**
 * Keeps values that a client leaves out when it writes the same manifest again, and follows a client that changes only one of two linked
 * fields.
 */
export function keepAllocated(spec: ServiceSpec, old: ServiceSpec): void {
  if (spec.type !== 'ExternalName' && old.type !== 'ExternalName') {
    if (!spec.clusterIP && old.clusterIP) spec.clusterIP = old.clusterIP
    if (!spec.clusterIPs && old.clusterIPs) spec.clusterIPs = old.clusterIPs
  }
  if (allocatesNodePorts(spec) && allocatesNodePorts(old)) keepNodePorts(spec, old)
  if (needsHealthCheck(spec) && needsHealthCheck(old) && old.healthCheckNodePort) spec.healthCheckNodePort ||= old.healthCheckNodePort
  linkClusterIPs(spec, old)
}

/** Drops values that only the old type used and that the client merely sent back. */
export function dropTypeDependent(spec: ServiceSpec, old: ServiceSpec): void {
  if (old.type !== 'ExternalName' && spec.type === 'ExternalName') {
    if (spec.clusterIP === old.clusterIP && deepEqual(spec.clusterIPs, old.clusterIPs)) {
      delete spec.clusterIP
      delete spec.clusterIPs
    }
    if (deepEqual(spec.ipFamilies, old.ipFamilies)) delete spec.ipFamilies
    if (spec.ipFamilyPolicy === old.ipFamilyPolicy) delete spec.ipFamilyPolicy
  }
  if (needsNodePort(old) && !needsNodePort(spec)) {
    const before = new Set(nodePorts(old))
    if (nodePorts(spec).every(port => before.has(port))) for (const port of spec.ports ?? []) delete port.nodePort
  }
  const dropIfSame = (field: 'healthCheckNodePort' | 'allocateLoadBalancerNodePorts' | 'loadBalancerClass' | 'externalTrafficPolicy') => {
    if (spec[field] === old[field]) delete spec[field]
  }
  if (needsHealthCheck(old) && !needsHealthCheck(spec)) dropIfSame('healthCheckNodePort')
  if (old.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    dropIfSame('allocateLoadBalancerNodePorts')
    dropIfSame('loadBalancerClass')
  }
  if (isExternal(old) && !isExternal(spec)) dropIfSame('externalTrafficPolicy')
}

const nodePorts = ({ ports = [] }: ServiceSpec) => ports.flatMap(({ nodePort }) => nodePort || [])

function keepNodePorts(spec: ServiceSpec, old: ServiceSpec): void {
  const now = new Set(nodePorts(spec))
  const stillUsed = new Set(nodePorts(old).filter(port => now.has(port)))
  const byName = new Map((old.ports ?? []).map(port => [port.name ?? '', port.nodePort]))
  for (const port of spec.ports ?? []) {
    const known = byName.get(port.name ?? '')
    if (!port.nodePort && known && !stillUsed.has(known)) port.nodePort = known
  }
}

function linkClusterIPs(spec: ServiceSpec, old: ServiceSpec): void {
  const isSameList = deepEqual(spec.clusterIPs, old.clusterIPs)
  if (spec.clusterIP === old.clusterIP || !isSameList) return
  if (spec.clusterIP) spec.clusterIPs = [spec.clusterIP]
  else delete spec.clusterIPs
}
