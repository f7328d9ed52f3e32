/** Advice on container ports that get in each other's way. */
import { pathOf, type Ref } from '../../../../schema/refs.ts'
import type { Container, ContainerPort } from './container.ts'

type PortAt = { readonly port: ContainerPort; readonly path: string }

/** Warnings about the ports of all containers of a pod, which share one address. */
export function* warnAboutPorts(containers: readonly (readonly [Container, Ref<Container>])[]): Iterable<string> {
  const ports = containers.flatMap(([{ ports = [] }, at]) => ports.map((port, i): PortAt => ({ port, path: pathOf(at.ports[i]!) })))
  yield* warnAboutNumbers(ports)
  yield* warnAboutNames(ports)
}

function* warnAboutNumbers(ports: readonly PortAt[]): Iterable<string> {
  const seen = new Map<string, PortAt[]>()
  for (const { port, path } of ports) {
    const { hostIP = '', hostPort = 0 } = port
    if (hostIP && !hostPort) yield `${path}: hostIP set without hostPort: ${printed(port)}`
    const number = `${port.containerPort}/${port.protocol}`
    const others = seen.get(number) ?? []
    for (const { port: other, path: otherPath } of others) {
      const { hostIP: otherIP = '', hostPort: otherPort = 0 } = other
      if (hostIP === otherIP && hostPort === otherPort) yield `${path}: duplicate port definition with ${otherPath}`
      else if (!hostPort || !otherPort) yield `${path}: overlapping port definition with ${otherPath}`
      else if (hostPort === otherPort && (hostIP === '') !== (otherIP === ''))
        yield `${path}: dangerously ambiguous port definition with ${otherPath}`
    }
    // Past a few, more of the same advice helps nobody, and comparing all with all would take long.
    if (others.length < MAX_COMPARED) seen.set(number, [...others, { port, path }])
  }
}

function* warnAboutNames(ports: readonly PortAt[]): Iterable<string> {
  const seen = new Map<string, string>()
  for (const { port, path } of ports) {
    if (!port.name) continue
    const other = seen.get(port.name)
    if (other === undefined) seen.set(port.name, path)
    else
      yield `${path}: duplicate port name ${JSON.stringify(port.name)} with ${other}, services and probes that select ports by name will use ${other}`
  }
}

const MAX_COMPARED = 20

/** The way Go prints a structure, which is what clients get to see. */
const printed = ({ name = '', hostPort = 0, containerPort, protocol, hostIP = '' }: ContainerPort): string =>
  `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIP}}`
