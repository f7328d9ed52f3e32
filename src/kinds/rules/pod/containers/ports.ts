/** Ports of containers. */
import { isValidPortName, isValidPortNum } from '../../../../lib/names.ts'
import { duplicate, type FieldError, invalidEach, type Ref, required, withValue } from '../../../../schema/refs.ts'
import { int32, message, type Static, string } from '../../../../schema/types.ts'
import { validateChoice } from '../../text-rules.ts'

export const ContainerPort = message('ContainerPort', {
  name: [1, string, 'Name by which services and probes may refer to the port.'],
  hostPort: [2, int32, 'Port of the node that leads to this one; equal to containerPort under host networking.'],
  containerPort: [3, int32.always(), 'Port the container listens on.'],
  protocol: [4, string.listed('SCTP', 'TCP', 'UDP').publishedDefault('TCP'), 'UDP, TCP or SCTP.'],
  hostIP: [5, string, 'Address of the node to bind the host port to.'],
})
export type ContainerPort = Static<typeof ContainerPort>

/** Ports are in range, and names are unique. */
export function* validateContainerPorts(
  ports: readonly ContainerPort[] | null | undefined,
  at: Ref<ContainerPort[]>,
): Iterable<FieldError> {
  const names = new Set<string>()
  for (const [i, { name, containerPort, hostPort, protocol }] of (ports ?? []).entries()) {
    const itemAt = at[i]!
    if (name) {
      const faults = isValidPortName(name)
      if (faults.length > 0) yield* invalidEach(itemAt.name, faults)
      else if (names.has(name)) yield duplicate(itemAt.name)
      else names.add(name)
    }
    if (!containerPort) yield required(itemAt.containerPort)
    else yield* invalidEach(itemAt.containerPort, isValidPortNum(containerPort))
    if (hostPort) yield* invalidEach(itemAt.hostPort, isValidPortNum(hostPort))
    yield* validateChoice(protocol, itemAt.protocol, 'SCTP', 'TCP', 'UDP')
  }
}

/** No two containers of the list use the same host port. */
export function* validateHostPortConflicts<C extends { ports?: ContainerPort[] | null }>(
  containers: readonly C[],
  at: Ref<C[]>,
): Iterable<FieldError> {
  const taken = new Set<string>()
  for (const [c, { ports }] of containers.entries())
    for (const [p, { hostPort, hostIP = '', protocol = '' }] of (ports ?? []).entries()) {
      if (!hostPort) continue
      const port = `${protocol}/${hostIP}/${hostPort}`
      if (taken.has(port)) yield duplicate(withValue(at[c]!.ports[p]!.hostPort, port))
      else taken.add(port)
    }
}

/** A port by number or by its name in a container. */
export function* validatePortNumOrName(port: number | string | undefined, at: Ref<any>): Iterable<FieldError> {
  if (typeof port === 'string') yield* invalidEach(at, isValidPortName(port))
  else yield* invalidEach(withValue(at, port ?? 0), isValidPortNum(port ?? 0))
}
