/** The quality of service of a pod, from its requests and limits. */
import { getOwn } from '../../../../lib/json-value.ts'
import { compareQuantity, parseQuantity, quantitySign } from '../../../../lib/quantity.ts'
import type { PodSpec } from '../spec.ts'
import { isPodLevelResource } from './resource-rules.ts'
import type { ResourceRequirements } from './resources.ts'

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort'

/**
 * Guaranteed when everything has equal requests and limits, BestEffort when nothing has any, Burstable otherwise. Gates that are not
 * given are on.
 */
export function qosClassOf(spec: PodSpec, gate: (name: string) => boolean = () => true): QosClass {
  const { resources } = spec
  // Empty resources of the pod counted before they were told apart from none.
  const counts = !gate('PodLevelResourcesFixKubeletQOSClass') || namesPodLevelResources(resources)
  if (resources && counts && gate('PodLevelResources')) return classOf(resources)
  const classes = [...(spec.initContainers ?? []), ...(spec.containers ?? [])].map(({ resources }) => classOf(resources ?? {}))
  return agreed(classes)
}

const namesPodLevelResources = (resources: ResourceRequirements | undefined): boolean =>
  [...Object.keys(resources?.requests ?? {}), ...Object.keys(resources?.limits ?? {})].some(isPodLevelResource)

const classOf = (resources: ResourceRequirements): QosClass => agreed(['cpu', 'memory'].map(name => classOfResource(resources, name)))

function classOfResource({ requests = {}, limits = {} }: ResourceRequirements, name: string): QosClass {
  const requested = getOwn(requests, name)
  const limited = getOwn(limits, name)
  if (requested === undefined && limited === undefined) return 'BestEffort'
  const request = parseQuantity(requested ?? '0')
  const limit = parseQuantity(limited ?? '0')
  if (compareQuantity(request, limit) !== 0) return 'Burstable'
  return quantitySign(request) === 0 ? 'BestEffort' : 'Guaranteed'
}

/** The common class, or Burstable where they differ. */
const agreed = (classes: readonly QosClass[]): QosClass => {
  const [first = 'BestEffort', ...others] = classes
  return others.every(other => other === first) ? first : 'Burstable'
}
