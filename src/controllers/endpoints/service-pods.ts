/** Finds the pods of a Service and their endpoints, for the controllers of Endpoints and EndpointSlices. */

import { type Change, queueKey } from '../../client/change.ts'
import type { ResourceClient } from '../../client/client.ts'
import type { IndexDefinition } from '../../client/informer.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import type { Service } from '../../kinds/core/service/service.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { millisecondsAt, timestampOf } from '../../lib/time.ts'
import type { ObjectRevision } from '../../schema/object-revision.ts'
import { type Watch, watch } from '../controller.ts'
import { isReady, isTerminal, podCondition } from '../pods/pod-state.ts'

type ServicePort = NonNullable<Service['spec']['ports']>[number]

/** Marks what belongs to a Service without an address of its own. */
export const HEADLESS = 'service.kubernetes.io/headless'
export const TRIGGER_TIME = 'endpoints.kubernetes.io/last-change-trigger-time'

/** Whether endpoints of a Service follow from its selector. Those of others are managed by users. */
export const selectsPods = ({ spec }: Service): boolean => spec.type !== 'ExternalName' && Object.keys(spec.selector ?? {}).length > 0

export const isHeadless = ({ spec }: Service): boolean => !spec.clusterIP || spec.clusterIP === 'None'

/** The pods that a Service selects. */
export function podsOf(pods: ResourceClient<Pod>, { metadata, spec }: Service): Iterable<Pod> {
  const labels = Object.entries(spec.selector ?? {}).map(([key, value]) => ({ key, operator: '=' as const, values: [value] }))
  return pods.list({ namespace: metadata.namespace!, labels })
}

/** Turns changes of pods that endpoints depend on into the keys of the services that select them, now or before. */
export const watchServingPods = (services: ResourceClient<Service>): Watch =>
  watch(Pod, ({ type, current, previous }: Change<Pod>) => {
    const keys = new Set(servicesSelecting(services, current))
    const sameLabels = !previous || deepEqual(current.labels, previous.labels)
    if (!sameLabels) for (const key of servicesSelecting(services, previous)) keys.add(key)
    if (keys.size === 0) return undefined
    const isSame = type === 'updated' && sameLabels && previous?.object && current.object && servesAlike(previous.object, current.object)
    return isSame ? undefined : keys
  })

/** Services by one of the labels that they ask of pods: few are looked at for one pod. */
const BY_SELECTOR: IndexDefinition<Service> = {
  name: 'selector',
  valuesOf: ({ namespace, object }) =>
    Object.entries(object?.spec.selector ?? {})
      .slice(0, 1)
      .map(label => labelKey(namespace, label)),
}
const labelKey = (namespace: string, [key, value]: readonly [string, string]) => `${namespace}/${key}=${value}`

function* servicesSelecting(services: ResourceClient<Service>, { namespace, labels }: ObjectRevision<Pod>): Iterable<string> {
  for (const label of Object.entries(labels))
    for (const service of services.byIndex(BY_SELECTOR, labelKey(namespace, label)))
      if (Object.entries(service.spec.selector!).every(([key, value]) => labels[key] === value)) yield queueKey(service.metadata)
}

/** Whether endpoints say the same about both states of a pod. */
function servesAlike(a: Pod, b: Pod): boolean {
  const shown = (pod: Pod) => [
    pod.metadata.deletionTimestamp,
    pod.spec.hostname,
    pod.spec.subdomain,
    pod.spec.nodeName,
    isReady(pod),
    isTerminal(pod),
    pod.status.podIPs,
  ]
  return deepEqual(shown(a), shown(b))
}

/** Whether a pod can serve at all: it has an address and has not ended. */
export const canServe = (pod: Pod): boolean => !isTerminal(pod) && Boolean(pod.status?.podIP || pod.status?.podIPs?.length)

/** The number that a port of a Service has in a pod; undefined when the pod has none of that name. */
export function portNumber({ spec }: Pod, { targetPort, protocol }: ServicePort): number | undefined {
  if (typeof targetPort !== 'string') return targetPort
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always')
  for (const { ports = [] } of [...(spec.containers ?? []), ...sidecars]) {
    const found = ports.find(port => port.name === targetPort && port.protocol === protocol)
    if (found) return found.containerPort
  }
  return undefined
}

/** The host name under which a headless Service publishes a pod. */
export const hostnameOf = ({ metadata, spec }: Pod, service: Service): string | undefined =>
  spec.hostname && spec.subdomain === service.metadata.name && metadata.namespace === service.metadata.namespace ? spec.hostname : undefined

/** Remembers when the pods of a service last changed, for the annotation that shows how far endpoints lag behind. */
export class TriggerTimes {
  readonly #known = new Map<string, { readonly service: number; readonly pods: ReadonlyMap<string, number> }>()

  /** When the earliest of the changes since the last question happened; undefined when nothing tells. */
  since(service: Service, pods: Iterable<Pod>): string | undefined {
    const key = queueKey(service.metadata)
    const known = this.#known.get(key)
    const created = millisecondsAt(service.metadata.creationTimestamp)
    const times = new Map<string, number>()
    let earliest = known && created > known.service ? created : Number.POSITIVE_INFINITY
    for (const pod of pods) {
      const time = millisecondsAt(podCondition(pod, 'Ready')?.lastTransitionTime)
      if (time === 0) continue
      times.set(pod.metadata.name!, time)
      if (time > (known?.pods.get(pod.metadata.name!) ?? 0)) earliest = Math.min(earliest, time)
    }
    this.#known.set(key, { service: created, pods: times })
    const found = known ? earliest : created
    return Number.isFinite(found) && found > 0 ? timestampOf(found) : undefined
  }

  forget(key: string): void {
    this.#known.delete(key)
  }
}
