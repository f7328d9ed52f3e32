/** Creates the inputs that a pod gives to one of its containers. */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import type { ContainerInputs } from './container-inputs.ts'
import { environmentOf } from './environment.ts'
import { fileAt, isOwnPath, isReadOnlyPath, namesIn } from './files.ts'
import { identityOf } from './identity.ts'
import type { Sources } from './sources.ts'

export function inputsOf(container: Container, pod: Pod, sources: Sources): ContainerInputs {
  let made: ReadonlyMap<string, string> | undefined
  const variables = () => {
    made ??= environmentOf(pod, container, sources)
    return made
  }
  return {
    variables,
    file: path => fileAt(path, { pod, container, sources }, variables),
    list: path => namesIn(path, { pod, container, sources }, variables),
    identity: () => identityOf(pod, container),
    isReadOnly: path => isReadOnlyPath(path, pod, container),
    isOwn: path => isOwnPath(path, pod, container),
  }
}

/** The pod with the addresses that it will get. */
export function withAddresses(pod: Pod, hostIPs: readonly string[], podIPs: readonly string[]): Pod {
  if (pod.status.podIP) return pod
  const addresses = (ips: readonly string[]) => ips.map(ip => ({ ip }))
  const status = { hostIP: hostIPs[0], hostIPs: addresses(hostIPs), podIP: podIPs[0], podIPs: addresses(podIPs) }
  return { ...pod, status: { ...pod.status, ...status } } as Pod
}
