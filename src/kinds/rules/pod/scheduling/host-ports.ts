/** The host ports of a pod. */
import { isSidecar } from '../containers/container.ts'
import type { PodSpec } from '../spec.ts'

export type HostPort = { readonly ip: string; readonly protocol: string; readonly port: number }

export const ANY_ADDRESS = '0.0.0.0'

/** The host ports that the containers use as long as the pod runs. */
export function hostPortsOf({ containers, initContainers }: PodSpec): readonly HostPort[] {
  const lasting = [...(initContainers ?? []).filter(isSidecar), ...(containers ?? [])]
  return lasting.flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort = 0, hostIP, protocol }) =>
      hostPort > 0 ? [{ ip: hostIP || ANY_ADDRESS, protocol: protocol || 'TCP', port: hostPort }] : [],
    ),
  )
}

/** Whether two ports conflict; one that listens on every address conflicts with all. */
export const isSamePort = (a: HostPort, b: HostPort): boolean =>
  a.port === b.port && a.protocol === b.protocol && (a.ip === b.ip || a.ip === ANY_ADDRESS || b.ip === ANY_ADDRESS)
