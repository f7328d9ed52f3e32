/** Deletes old requests for certificates: kubelets make new ones all the time. */
import { namedBy } from '../../client/change.ts'
import { CertificateSigningRequest } from '../../kinds/certificates/certificatesigningrequest.ts'
import { defineController, watch } from '../controller.ts'
import { remainingLife } from './reconcile.ts'

export const csrCleaner = defineController({
  name: 'certificatesigningrequest-cleaner-controller',
  identity: 'certificate-controller',
  create({ client }) {
    const requests = client.of(CertificateSigningRequest)
    return {
      watches: [watch(CertificateSigningRequest, ({ current, type }) => (type === 'deleted' ? undefined : current.name))],
      async reconcile(key) {
        const request = requests.get(namedBy(key))
        const ms = request && remainingLife(request, client.now.getTime())
        if (ms !== 0) return ms
        await requests.delete(request!)
        return undefined
      },
    }
  },
})
