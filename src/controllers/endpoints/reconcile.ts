/** The Endpoints of a Service, from its pods. */
import type { Endpoints } from '../../kinds/core/endpoints.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Service } from '../../kinds/core/service/service.ts'
import { formatIP, parseIPSloppy } from '../../lib/ip.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { isReady } from '../pods/pod-state.ts'
import { canServe, HEADLESS, hostnameOf, isHeadless, portNumber, TRIGGER_TIME } from './service-pods.ts'

export type Subset = NonNullable<Endpoints['subsets']>[number]
type Address = NonNullable<Subset['addresses']>[number]
type Port = NonNullable<Subset['ports']>[number]

const MANAGED_BY = 'endpoints.kubernetes.io/managed-by'
const OVER_CAPACITY = 'endpoints.kubernetes.io/over-capacity'
const MANAGER = 'endpoint-controller'
/** How many addresses one object holds; there are no more than that, however many pods there are. */
const CAPACITY = 1000

/** Computes the Endpoints of a Service; undefined when nothing changes. */
export function reconcileEndpoints(
  service: Service,
  pods: Iterable<Pod>,
  current: Endpoints | undefined,
  triggerTime: string | undefined,
): Pick<Endpoints, 'metadata' | 'subsets'> | undefined {
  const wanted = packSubsets(subsetsOf(service, pods))
  if (current && isUpToDate(service, current, wanted)) return undefined
  const subsets = wanted.length > 0 ? truncated(wanted) : wanted
  const { [TRIGGER_TIME]: _, [OVER_CAPACITY]: __, ...others } = current?.metadata.annotations ?? {}
  const annotations = {
    ...others,
    ...(triggerTime && { [TRIGGER_TIME]: triggerTime }),
    ...(subsets !== wanted && { [OVER_CAPACITY]: 'truncated' }),
  }
  const { [HEADLESS]: ___, ...labels } = service.metadata.labels ?? {}
  const { namespace, name } = service.metadata
  return {
    ...current,
    metadata: {
      ...(current?.metadata ?? { namespace, name }),
      labels: { ...labels, ...(isHeadless(service) && { [HEADLESS]: '' }), [MANAGED_BY]: MANAGER },
      annotations,
    } as Endpoints['metadata'],
    subsets,
  }
}

function isUpToDate(service: Service, { metadata, subsets = [] }: Endpoints, wanted: readonly Subset[]): boolean {
  const { [MANAGED_BY]: manager, [HEADLESS]: _, ...labels } = metadata.labels ?? {}
  const { [HEADLESS]: __, [MANAGED_BY]: ___, ...serviceLabels } = service.metadata.labels ?? {}
  const isOver = countOf(subsets) > CAPACITY || metadata.annotations?.[OVER_CAPACITY] !== undefined
  const same = deepEqual(subsets, wanted as Subset[]) || deepEqual(packSubsets(subsets), wanted as Subset[])
  return same && !isOver && manager === MANAGER && deepEqual(labels, serviceLabels)
}

/** One subset for each pod and port. */
function* subsetsOf(service: Service, pods: Iterable<Pod>): Iterable<Subset> {
  const { ports = [], publishNotReadyAddresses } = service.spec
  for (const pod of pods) {
    if (!canServe(pod) || (pod.metadata.deletionTimestamp && !publishNotReadyAddresses)) continue
    const address = addressOf(pod, service)
    if (!address) continue
    const list = publishNotReadyAddresses || isReady(pod) ? 'addresses' : 'notReadyAddresses'
    if (ports.length === 0 && service.spec.clusterIP === 'None') yield { [list]: [address] }
    for (const port of ports) {
      const number = portNumber(pod, port)
      if (number === undefined) continue
      const { name, protocol, appProtocol } = port
      yield {
        [list]: [address],
        ports: [{ ...(name && { name }), port: number, protocol, ...(appProtocol !== undefined && { appProtocol }) }],
      }
    }
  }
}

function addressOf(pod: Pod, service: Service): Address | undefined {
  const { ipFamilies = [], clusterIP = '' } = service.spec
  const isIPv6 = ipFamilies[0]
    ? ipFamilies[0] === 'IPv6'
    : (clusterIP && clusterIP !== 'None' ? clusterIP : (pod.status?.podIP ?? '')).includes(':')
  const ip = (pod.status?.podIPs ?? []).map(({ ip }) => parseIPSloppy(ip ?? '')).find(ip => ip && (ip.family === 6) === isIPv6)
  if (!ip) return undefined
  const hostname = hostnameOf(pod, service)
  const { namespace, name, uid } = pod.metadata
  return {
    ip: formatIP(ip),
    ...(hostname && { hostname }),
    nodeName: pod.spec.nodeName ?? '',
    targetRef: { kind: 'Pod', namespace, name, uid },
  } as Address
}

/**
 * The shortest way to say the same: addresses that have the same ports, in the same state, are one subset. An address that is
 * ready by one subset and not by another is not. Everything is sorted.
 */
export function packSubsets(subsets: Iterable<Subset>): Subset[] {
  const portOf = new Map<string, Port | undefined>()
  const statesOf = new Map<string, Map<string, boolean>>()
  const addressOf = new Map<string, Address>()
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of subsets)
    for (const port of ports.length > 0 ? ports : [undefined]) {
      const portKey = port ? JSON.stringify([port.name ?? '', port.port, port.protocol, port.appProtocol]) : ''
      portOf.set(portKey, port)
      const states = statesOf.get(portKey) ?? new Map<string, boolean>()
      statesOf.set(portKey, states)
      for (const [list, isReady] of [
        [addresses, true],
        [notReadyAddresses, false],
      ] as const)
        for (const address of list) {
          const key = `${address.ip} ${address.targetRef?.uid ?? ''}`
          if (!addressOf.has(key)) addressOf.set(key, address)
          states.set(key, isReady && states.get(key) !== false)
        }
    }
  const packed = new Map<string, { readonly states: ReadonlyMap<string, boolean>; readonly ports: Port[] }>()
  for (const portKey of [...statesOf.keys()].sort()) {
    const states = new Map([...statesOf.get(portKey)!].sort(([a], [b]) => (a < b ? -1 : 1)))
    const key = JSON.stringify([...states])
    const known = packed.get(key) ?? { states, ports: [] }
    packed.set(key, known)
    const port = portOf.get(portKey)
    if (port) known.ports.push(port)
  }
  return [...packed.values()].map(({ states, ports }) => {
    const inState = (isReady: boolean) => [...states].filter(([, ready]) => ready === isReady).map(([key]) => addressOf.get(key)!)
    const [ready, notReady] = [inState(true), inState(false)]
    return {
      ...(ready.length > 0 && { addresses: ready }),
      ...(notReady.length > 0 && { notReadyAddresses: notReady }),
      ...(ports.length > 0 && { ports }),
    }
  })
}

const countOf = (subsets: readonly Subset[]) =>
  subsets.reduce((sum, { addresses = [], notReadyAddresses = [] }) => sum + addresses.length + notReadyAddresses.length, 0)

/** As many addresses as one object holds, ready ones first, each subset its share. */
function truncated(subsets: Subset[]): Subset[] {
  if (countOf(subsets) <= CAPACITY) return subsets
  const ready = subsets.reduce((sum, { addresses = [] }) => sum + addresses.length, 0)
  const list = ready > CAPACITY ? 'addresses' : 'notReadyAddresses'
  const room = ready > CAPACITY ? CAPACITY : CAPACITY - ready
  const total = ready > CAPACITY ? ready : countOf(subsets) - ready
  let left = room
  return subsets.map(({ addresses = [], notReadyAddresses = [], ports }) => {
    const all = list === 'addresses' ? addresses : notReadyAddresses
    const kept = all.slice(0, Math.min(Math.ceil((all.length / total) * room), left))
    left -= kept.length
    const lists = list === 'addresses' ? { addresses: kept } : { ...(addresses.length > 0 && { addresses }), notReadyAddresses: kept }
    return { ...lists, ...(ports && { ports }) }
  })
}
