/** Keeps the EndpointSlices of every Service that selects pods. */
import { namedBy, queueKey } from '../../client/change.ts'
import { DEFAULT_BACK_OFF } from '../../client/work-queue.ts'
import { Node } from '../../kinds/core/node.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { Service } from '../../kinds/core/service/service.ts'
import { EndpointSlice } from '../../kinds/discovery/endpointslice.ts'
import { isNamespaceTerminating } from '../../schema/status-error.ts'
import { defineController, watch } from '../controller.ts'
import { podsOf, selectsPods, TRIGGER_TIME, TriggerTimes, watchServingPods } from '../endpoints/service-pods.ts'
import { hintsEnabled } from './hints.ts'
import { reconcileSlices } from './reconcile.ts'
import { managedSlices, type SliceContent } from './slices.ts'
import { watchSlices, writeSlices } from './writing.ts'
import { isNodeReady, ZONE, zoneRatiosOf } from './zones.ts'

export const endpointSliceController = defineController({
  name: 'endpointslice-controller',
  identity: 'endpointslice-controller',
  component: 'endpoint-slice-controller',
  workers: 5,
  backOff: { ...DEFAULT_BACK_OFF, firstMs: 1000 },
  create({ client, recorder, groupDomain }) {
    const manager = `endpointslice-controller.${groupDomain}`
    const [services, pods, nodes, slices] = [client.of(Service), client.of(Pod), client.of(Node), client.of(EndpointSlice)]
    const triggerTimes = new TriggerTimes()
    return {
      watches: [
        watch(Service),
        watchServingPods(services),
        watchSlices(manager),
        watch(Node, ({ type, current, previous }) => {
          const isSame =
            type === 'updated' &&
            current.labels[ZONE] === previous?.labels[ZONE] &&
            isNodeReady(current.object) === isNodeReady(previous?.object)
          return isSame
            ? undefined
            : Array.from(services.list())
                .filter(hintsEnabled)
                .map(({ metadata }) => queueKey(metadata))
        }),
      ],
      async reconcile(key) {
        const service = services.get(namedBy(key))
        if (!service) return triggerTimes.forget(key)
        if (!selectsPods(service)) return
        const { namespace, name } = service.metadata
        const selected = [...podsOf(pods, service)]
        const triggerTime = triggerTimes.since(service, selected)
        const existing = [...slices.list({ namespace: namespace!, labels: managedSlices(name!, manager) })]
        const { events, waiting, ...plan } = reconcileSlices({
          service,
          pods: selected,
          zoneOf: name => {
            const node = nodes.revision({ name })
            return node && (node.labels[ZONE] ?? '')
          },
          slices: existing.filter(({ metadata }) => !metadata.deletionTimestamp),
          manager,
          zoneRatios: () => zoneRatiosOf(nodes.list()),
        })
        try {
          await writeSlices(slices, plan, { mayCreate: !service.metadata.deletionTimestamp, change: slice => withTime(slice, triggerTime) })
          for (const { type, reason, message } of events) recorder.event(service, type, reason, message)
          const missing = waiting.map(([pod, node]) => `skipping Pod ${pod} for Service ${key}: Node ${node} Not Found`)
          if (missing.length > 0) throw new Error(missing.length === 1 ? missing[0] : `[${missing.join(', ')}]`)
        } catch (error) {
          if (isNamespaceTerminating(error)) return
          const message = `Error updating Endpoint Slices for Service ${key}: ${(error as Error).message}`
          recorder.event(service, 'Warning', 'FailedToUpdateEndpointSlices', message)
          throw error
        }
      },
    }
  },
})

function withTime(slice: SliceContent, time: string | undefined): SliceContent {
  const { [TRIGGER_TIME]: _, ...others } = slice.metadata.annotations ?? {}
  return { ...slice, metadata: { ...slice.metadata, annotations: { ...others, ...(time && { [TRIGGER_TIME]: time }) } } }
}
