/** Mirrors Endpoints of services without a selector to EndpointSlices. */
import { namedBy, queueKey } from '../../client/change.ts'
import { DEFAULT_BACK_OFF } from '../../client/work-queue.ts'
import { Endpoints } from '../../kinds/core/endpoints.ts'
import { Service } from '../../kinds/core/service/service.ts'
import { EndpointSlice } from '../../kinds/discovery/endpointslice.ts'
import { isNamespaceTerminating } from '../../schema/status-error.ts'
import { defineController, watch } from '../controller.ts'
import { managedSlices } from '../endpointslice/slices.ts'
import { watchSlices, writeSlices } from '../endpointslice/writing.ts'
import { isMirrored, PER_SUBSET, reconcileMirror } from './reconcile.ts'

export const endpointSliceMirroringController = defineController({
  name: 'endpointslice-mirroring-controller',
  identity: 'endpointslicemirroring-controller',
  component: 'endpoint-slice-mirroring-controller',
  workers: 5,
  backOff: { ...DEFAULT_BACK_OFF, firstMs: 1000, lastMs: 100_000 },
  create({ client, recorder, groupDomain }) {
    const manager = `endpointslicemirroring-controller.${groupDomain}`
    const [services, endpoints, slices] = [client.of(Service), client.of(Endpoints), client.of(EndpointSlice)]
    return {
      watches: [
        watch(Endpoints, ({ current, previous }) =>
          [current, previous].some(each => each?.object && isMirrored(each.object)) ? queueKey(current) : undefined,
        ),
        watch(Service, ({ type, current, previous }) => {
          const selects = [current, previous].map(each => each?.object?.spec.selector !== undefined)
          return (type === 'updated' ? selects[0] !== selects[1] : !selects[0]) ? queueKey(current) : undefined
        }),
        watchSlices(manager),
      ],
      async reconcile(key) {
        const { namespace, name } = namedBy(key)
        const [source, service] = [endpoints.get({ namespace, name }), services.get({ namespace, name })]
        const existing = [...slices.list({ namespace, labels: managedSlices(name, manager) })]
        if (!source || !isMirrored(source) || !service || service.spec.selector) {
          for (const slice of existing) await slices.delete(slice)
          return
        }
        const { invalid, skipped, ...plan } = reconcileMirror(source, existing, manager)
        const warn = (reason: string, message: string) => recorder.event(source, 'Warning', reason, message)
        if (invalid > 0) warn('InvalidIPAddress', `Skipped ${invalid} invalid IP addresses when mirroring to EndpointSlices`)
        if (skipped > invalid)
          warn(
            'TooManyAddressesToMirror',
            `A max of ${PER_SUBSET} addresses can be mirrored to EndpointSlices per Endpoints subset. ${skipped} addresses were skipped`,
          )
        try {
          await writeSlices(slices, plan, { mayCreate: !source.metadata.deletionTimestamp })
        } catch (error) {
          if (!isNamespaceTerminating(error)) throw error
        }
      },
    }
  },
})
