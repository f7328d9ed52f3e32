/** Whether the server of an APIService is available, as far as objects tell, and the condition Available. */

import type { Slice } from '../controllers/endpointslice/service-endpoints.ts'
import { standInOf } from '../nodes/connect/stand-in.ts'
import { conditionOf, isSameCondition, transitionTime, withCondition } from '../schema/conditions.ts'
import type { ServiceReference } from './endpoint.ts'

export type Finding = { readonly status: 'True' | 'False'; readonly reason: string; readonly message: string }

export const PASSED: Finding = { status: 'True', reason: 'Passed', message: 'all checks passed' }
export const LOCAL: Finding = { status: 'True', reason: 'Local', message: 'Local APIServices are always available' }
export const failedCheck = (message: string): Finding => unavailable('FailedDiscoveryCheck', message)

type AnnotatedService = {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | undefined }
  readonly spec: { readonly type?: string; readonly ports?: readonly { readonly port: number; readonly name?: string }[] }
}

/** The problem with the Service or its endpoints; undefined when a request to its server makes sense. */
export function findingAbout(
  { namespace, name, port }: ServiceReference,
  service: AnnotatedService | undefined,
  slices: readonly Slice[],
): Finding | undefined {
  const named = `service/${name} in ${JSON.stringify(namespace)}`
  if (!service) return unavailable('ServiceNotFound', `${named} is not present`)
  const { metadata, spec } = service
  if ((spec.type ?? 'ClusterIP') !== 'ClusterIP') return undefined
  const served = spec.ports?.find(each => each.port === port)
  if (!served) return unavailable('ServicePortError', `${named} is not listening on port ${port}`)
  // A Service that stands for a process needs no endpoints.
  if (standInOf(metadata, port)) return undefined
  if (slices.length === 0) return unavailable('EndpointsNotFound', `cannot find endpointslices for ${named}`)
  const portName = served.name ?? ''
  if (slices.some(slice => hasReady(slice, portName))) return undefined
  return unavailable('MissingEndpoints', `endpointslices for ${named} have no addresses with port name ${JSON.stringify(portName)}`)
}

const hasReady = ({ endpoints, ports }: Slice, portName: string): boolean =>
  (endpoints ?? []).some(({ conditions }) => conditions?.ready !== false) &&
  (ports ?? []).some(each => (each.name ?? '') === portName && each.port !== undefined)

const unavailable = (reason: string, message: string): Finding => ({ status: 'False', reason, message })

export type Condition = {
  readonly type: string
  readonly status: string
  readonly lastTransitionTime?: string
  readonly reason?: string
  readonly message?: string
}

/** The conditions with the new result; undefined when they do not change. */
export function conditionsAfter(shown: readonly Condition[], { status, reason, message }: Finding, now: string): Condition[] | undefined {
  const before = conditionOf(shown, 'Available')
  if (isSameCondition(before, { status, reason, message })) return undefined
  const lastTransitionTime = transitionTime(before, status, now)
  return withCondition(shown, { type: 'Available', status, lastTransitionTime, reason, message })
}
