/** Answers questions about how much of the pools of a driver is left, once each, and deletes questions that are old. */
import { controllerIdentity } from '../../client/identity.ts'
import { DeviceTaintRule } from '../../kinds/resource/devicetaintrule.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { ResourcePoolStatusRequest } from '../../kinds/resource/resourcepoolstatusrequest.ts'
import { ResourceSlice } from '../../kinds/resource/resourceslice.ts'
import { timestampOf } from '../../lib/time.ts'
import { defineController, watch } from '../controller.ts'
import { answerOf, expiryOf } from './reconcile.ts'

/** How long it is waited for slices that are missing. */
const LOOK_AGAIN_MS = 1000

export const resourcePoolStatusRequestController = defineController({
  name: 'resourcepoolstatusrequest-controller',
  identity: controllerIdentity('resourcepoolstatusrequest-controller'),
  workers: 2,
  create({ client }) {
    const requests = client.of(ResourcePoolStatusRequest)
    return {
      watches: [watch(ResourcePoolStatusRequest, ({ type, current }) => (type === 'deleted' ? undefined : current.name))],
      async reconcile(name) {
        const request = requests.get({ name })
        if (!request) return undefined
        const now = client.now.getTime()
        const leftMs = expiryOf(request) - now
        if (leftMs <= 0) {
          await requests.delete(request)
          return undefined
        }
        if (request.status) return leftMs
        const observed = {
          slices: client.of(ResourceSlice).list(),
          claims: client.of(ResourceClaim).list(),
          rules: client.of(DeviceTaintRule).list(),
        }
        const status = answerOf(request, observed, timestampOf(now))
        if (status === 'incomplete') return LOOK_AGAIN_MS
        await requests.updateStatus({ ...request, status })
        return undefined
      },
    }
  },
})
