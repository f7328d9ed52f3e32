/** What is filled into pods but not into templates of pods. */
import { setOwn } from '../../lib/json-value.ts'
import type { Container } from '../shapes/pod/containers/container.ts'
import type { PodSpec } from '../shapes/pod/spec.ts'

/** Fills a pod's spec after the defaults that every template has. */
export function fillPod({ spec }: { spec: PodSpec }): void {
  if (spec.terminationGracePeriodSeconds < 0) spec.terminationGracePeriodSeconds = 1
  spec.enableServiceLinks ??= true
  for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    requestLimits(container)
    if (spec.hostNetwork) exposePorts(container)
  }
}

/** What is limited is requested. */
function requestLimits({ resources }: Container): void {
  if (!resources.limits) return
  const requests = (resources.requests ??= {})
  for (const [name, limit] of Object.entries(resources.limits)) if (!Object.hasOwn(requests, name)) setOwn(requests, name, limit)
}

/** In the network of the node every port is a port of the node. */
function exposePorts({ ports }: Container): void {
  for (const port of ports ?? []) if (!port.hostPort && port.containerPort) port.hostPort = port.containerPort
}
