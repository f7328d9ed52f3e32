/** Keeps the Endpoints of every Service that selects pods. */
import { namedBy, queueKey } from '../../client/change.ts'
import { Endpoints } from '../../kinds/core/endpoints.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { Service } from '../../kinds/core/service/service.ts'
import { isNamespaceTerminating } from '../../schema/status-error.ts'
import { defineController, watch } from '../controller.ts'
import { reconcileEndpoints } from './reconcile.ts'
import { podsOf, selectsPods, TriggerTimes, watchServingPods } from './service-pods.ts'

/** Such Endpoints are a lock, not endpoints. */
const LEADER = 'control-plane.alpha.kubernetes.io/leader'

export const endpointsController = defineController({
  name: 'endpoints-controller',
  identity: 'endpoint-controller',
  component: 'endpoint-controller',
  workers: 5,
  create({ client, recorder, enqueue }) {
    const [services, pods, endpoints] = [client.of(Service), client.of(Pod), client.of(Endpoints)]
    const triggerTimes = new TriggerTimes()
    // Left over from Services that were deleted while the controller did not run.
    for (const { metadata } of endpoints.list()) if (!metadata.annotations?.[LEADER]) enqueue(queueKey(metadata))
    return {
      watches: [
        watch(Service),
        watchServingPods(services),
        watch(Endpoints, ({ type, current }) => (type === 'deleted' ? queueKey(current) : undefined)),
      ],
      async reconcile(key) {
        const named = namedBy(key)
        const service = services.get(named)
        const current = endpoints.get(named)
        if (!service) {
          triggerTimes.forget(key)
          if (current) await endpoints.delete(current)
          return
        }
        if (!selectsPods(service)) return
        const selected = [...podsOf(pods, service)]
        const wanted = reconcileEndpoints(service, selected, current, triggerTimes.since(service, selected))
        if (!wanted) return
        try {
          if (current) await endpoints.update({ ...current, ...wanted })
          else await endpoints.create(wanted)
        } catch (error) {
          if (isNamespaceTerminating(error)) return
          const about = { apiVersion: 'v1', kind: 'Endpoints', metadata: wanted.metadata }
          const [reason, text] = current
            ? ['FailedToUpdateEndpoint', `Failed to update endpoint ${key}`]
            : ['FailedToCreateEndpoint', `Failed to create endpoint for service ${key}`]
          recorder.event(about, 'Warning', reason, `${text}: ${(error as Error).message}`)
          throw error
        }
      },
    }
  },
})
