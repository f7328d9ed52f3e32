/** What real nodes answer: requests are passed on to their kubelet, those for a proxy of a pod to the pod itself. */
import type { PodObject } from '../../kinds/core/pod/preparation.ts'
import { addressedBy } from '../../lib/addressed-name.ts'
import { isLinkLocalUnicast, isLoopback, isMulticast, isUnspecified, parseIPSloppy } from '../../lib/ip.ts'
import type { Result, UpstreamTls } from '../../registry/api.ts'
import { badRequest, internalError } from '../../schema/status-error.ts'
import type { NodeObject } from '../node/simulated-node.ts'
import type { NodeConnection, PodRequest } from './connector.ts'

export type KubeletParts = {
  readonly tls: UpstreamTls
  /** Types of node addresses, the preferred ones first. */
  readonly addressTypes: readonly string[]
}

const DEFAULT_PORT = 10250

export function kubeletConnection(target: NodeObject, parts: KubeletParts): NodeConnection {
  return {
    pod(request) {
      const { pod, container, call } = request
      if (call.subresource === 'proxy') return proxyToPod(pod, call.name)
      const { namespace = '', name = '' } = pod.metadata
      const origin = originOf(target, parts.addressTypes)
      const query = kubeletQuery(request)
      const of = [namespace, name, ...(container ? [container] : [])].map(encodeURIComponent).join('/')
      const path = `/${PATHS[call.subresource]}/${of}${query && `?${query}`}`
      if (call.subresource === 'log') {
        const isInsecure = isTrue(call.query.get('insecureSkipTLSVerifyBackend'))
        const tls = isInsecure ? { ...parts.tls, rejectUnauthorized: false } : parts.tls
        return { type: 'forward', upstream: { origin, path, tls, isChecked: true } }
      }
      return { type: 'forward', upstream: { origin, path, tls: parts.tls, isUpgrade: true } }
    },
    node: (_, call) => {
      const { scheme, port } = addressedBy(call.name)
      const { hostname } = new URL(originOf(target, parts.addressTypes))
      if (scheme === 'http' || (port && port !== String(kubeletPort(target))))
        return { type: 'forward', upstream: { origin: `${scheme || 'http'}://${hostname}:${port || kubeletPort(target)}`, tls: INSECURE } }
      return { type: 'forward', upstream: { origin: originOf(target, parts.addressTypes), tls: parts.tls } }
    },
  }
}

/** The names of subresources at a kubelet. */
const PATHS: Readonly<Record<string, string>> = { log: 'containerLogs', exec: 'exec', attach: 'attach', portforward: 'portForward' }
const INSECURE: UpstreamTls = { rejectUnauthorized: false }

const kubeletPort = ({ status }: NodeObject): number => status?.daemonEndpoints?.kubeletEndpoint?.Port || DEFAULT_PORT

function originOf(node: NodeObject, types: readonly string[]): string {
  const addresses = node.status?.addresses ?? []
  const host = types.map(type => addresses.find(address => address.type === type)?.address).find(Boolean)
  if (!host)
    throw internalError(
      `no preferred addresses found; known addresses: [${addresses.map(({ type, address }) => `{${type} ${address}}`).join(' ')}]`,
    )
  return `https://${host.includes(':') ? `[${host}]` : host}:${kubeletPort(node)}`
}

const isTrue = (text: string | null): boolean => text !== null && text !== '0' && text.toLowerCase() !== 'false'

/** What is asked of the kubelet, in its own words. */
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

/** Pods are reached at their own address. */
function proxyToPod({ spec, status }: PodObject, asked: string): Result {
  const { scheme, port } = addressedBy(asked)
  const ip = status?.podIP || status?.podIPs?.[0]?.ip || ''
  if (!isReachable(ip)) throw badRequest('address not allowed')
  const first = (spec.containers ?? []).flatMap(({ ports }) => ports ?? [])[0]?.containerPort
  const at = port || first
  const origin = `${scheme || 'http'}://${ip.includes(':') ? `[${ip}]` : ip}${at ? `:${at}` : ''}`
  return { type: 'forward', upstream: { origin, tls: INSECURE } }
}

/** Loopback, link-local and other special addresses would lead into this machine instead of to a pod. */
export function isReachable(text: string): boolean {
  const ip = parseIPSloppy(text)
  if (!ip) return false
  return !isUnspecified(ip) && !isLoopback(ip) && !isLinkLocalUnicast(ip) && !isMulticast(ip) && text !== '255.255.255.255'
}
