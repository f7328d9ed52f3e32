/** The connection to a real node: passes requests on to its kubelet, and those for the proxy of a pod to the pod itself. */
import type { Node } from '../../kinds/core/node.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { addressedBy, portNumberOf } from '../../lib/addressed-name.ts'
import { goQuote } from '../../lib/go-text.ts'
import { parseIPSloppy } from '../../lib/ip.ts'
import type { Result, UpstreamTls } from '../../registry/api.ts'
import { badRequest, internalError } from '../../schema/status-error.ts'
import type { Destination, ReportedDestination } from '../../transport/destination.ts'
import type { NodeConnection, PodRequest } from './node-connection.ts'

export type KubeletParts = {
  /** The client certificate of this server at kubelets, and whether it verifies them. */
  readonly tls: () => UpstreamTls
  /** Decides where this server may connect. */
  readonly reported: ReportedDestination
  /** Types of node addresses, the preferred ones first. */
  readonly addressTypes: readonly string[]
}

const DEFAULT_PORT = 10250

/** Throws AddressNotAllowed, as connections do. */
export function kubeletConnection(target: Node, parts: KubeletParts): NodeConnection {
  const destination = (port: number): Destination => parts.reported(hostOf(target, parts.addressTypes), port)
  return {
    async pod(request) {
      const { pod, container, call } = request
      if (call.subresource === 'proxy') return proxyToPod(pod, call.name, parts.reported)
      const { namespace = '', name = '' } = pod.metadata
      const kubelet = destination(kubeletPort(target))
      const query = kubeletQuery(request)
      const of = [namespace, name, ...(container ? [container] : [])].map(encodeURIComponent).join('/')
      const path = `/${PATHS[call.subresource]}/${of}${query && `?${query}`}`
      if (call.subresource === 'log') {
        const isInsecure = isTrue(call.query.get('insecureSkipTLSVerifyBackend'))
        const tls = isInsecure ? { ...parts.tls(), rejectUnauthorized: false } : parts.tls()
        return { type: 'forward', upstream: { ...kubelet, path, tls, isChecked: true } }
      }
      return { type: 'forward', upstream: { ...kubelet, path, tls: parts.tls(), isUpgrade: true } }
    },
    async node(_, call) {
      const { scheme, port } = portOf(call.name, kubeletPort(target))
      // As in kube-apiserver, the scheme counts at other ports only: kubelets use TLS.
      const tls = port === kubeletPort(target) ? parts.tls() : tlsOf(scheme)
      return { type: 'forward', upstream: { ...destination(port), tls } }
    },
  }
}

/** The names of subresources at a kubelet. */
const PATHS: Readonly<Record<string, string>> = { log: 'containerLogs', exec: 'exec', attach: 'attach', portforward: 'portForward' }
/** The server does not verify certificates of pods and services, and sends them no client certificate. */
export const tlsOf = (scheme: string): UpstreamTls | undefined => (scheme === 'https' ? { rejectUnauthorized: false } : undefined)

/** The scheme and port in a name. */
function portOf(asked: string, usual: number | undefined): { readonly scheme: string; readonly port: number } {
  const { scheme = '', port = '' } = addressedBy(asked) ?? {}
  const number = port === '' ? (usual ?? (scheme === 'https' ? 443 : 80)) : portNumberOf(port)
  if (number === undefined) throw badRequest(`invalid port ${goQuote(port)}`)
  return { scheme, port: number }
}

const kubeletPort = ({ status }: Node): number => status?.daemonEndpoints?.kubeletEndpoint?.Port || DEFAULT_PORT

function hostOf(node: Node, types: readonly string[]): string {
  const addresses = node.status?.addresses ?? []
  const host = types.map(type => addresses.find(address => address.type === type)?.address).find(Boolean)
  if (!host)
    throw internalError(
      `no preferred addresses found; known addresses: [${addresses.map(({ type, address }) => `{${type} ${address}}`).join(' ')}]`,
    )
  return host
}

const isTrue = (text: string | null): boolean => text !== null && text !== '0' && text.toLowerCase() !== 'false'

/** The path and query of a request at the kubelet. */
function kubeletQuery({ call: { query, subresource } }: PodRequest): string {
  const asked = new URLSearchParams()
  if (subresource === 'log') {
    for (const flag of ['follow', 'previous', 'timestamps']) if (isTrue(query.get(flag))) asked.append(flag, 'true')
    for (const name of ['sinceSeconds', 'sinceTime', 'tailLines', 'limitBytes', 'stream'])
      if (query.get(name)) asked.append(name, query.get(name)!)
    return asked.toString()
  }
  if (subresource === 'portforward') {
    const ports = query.getAll('ports').flatMap(value => value.split(','))
    return ports.length > 0 ? new URLSearchParams({ port: ports.join(',') }).toString() : ''
  }
  const names = { stdin: 'input', stdout: 'output', stderr: 'error', tty: 'tty' }
  for (const [option, name] of Object.entries(names)) if (isTrue(query.get(option))) asked.append(name, '1')
  for (const word of query.getAll('command')) asked.append('command', word)
  return asked.toString()
}

/** Connects to pods at their own address. */
export function proxyToPod({ spec, status }: Pod, asked: string, reported: ReportedDestination): Result {
  const ip = status?.podIP || status?.podIPs?.[0]?.ip || ''
  if (!parseIPSloppy(ip)) throw badRequest('address not allowed')
  const { scheme, port } = portOf(asked, (spec.containers ?? []).flatMap(({ ports }) => ports ?? [])[0]?.containerPort)
  return { type: 'forward', upstream: { ...reported(ip, port), tls: tlsOf(scheme) } }
}
