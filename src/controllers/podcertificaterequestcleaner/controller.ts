/** Deletes requests of pods for certificates, whatever became of them: nodes have read the answer long before. */
import { namedBy } from '../../client/change.ts'
import { PodCertificateRequest } from '../../kinds/certificates/podcertificaterequest.ts'
import { millisecondsAt } from '../../lib/time.ts'
import { defineController, watch } from '../controller.ts'

const KEPT_MS = 15 * 60_000

export const podCertificateRequestCleaner = defineController({
  name: 'podcertificaterequest-cleaner-controller',
  identity: 'podcertificaterequestcleaner',
  create({ client }) {
    const requests = client.of(PodCertificateRequest)
    return {
      watches: [watch(PodCertificateRequest)],
      async reconcile(key) {
        const request = requests.get(namedBy(key))
        if (!request?.metadata.creationTimestamp) return undefined
        const ms = millisecondsAt(request.metadata.creationTimestamp) + KEPT_MS - client.now.getTime()
        if (ms > 0) return ms
        await requests.delete(request)
        return undefined
      },
    }
  },
})
