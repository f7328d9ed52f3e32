/** Issues client certificates to pods that ask the signer of Kubernetes for them, which Kubernetes names and does not have. */

import { namedBy, queueKey } from '../../client/change.ts'
import { serverIdentity } from '../../client/identity.ts'
import { PodCertificateRequest } from '../../kinds/certificates/podcertificaterequest.ts'
import { PodCertificateRequestV1 } from '../../kinds/certificates/podcertificaterequest-v1.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { ServiceAccount } from '../../kinds/core/serviceaccount.ts'
import { defineController, watch } from '../controller.ts'
import type { Signing } from '../csrsigning/controller.ts'
import { SIGNERS } from '../csrsigning/signers.ts'
import { decidedStatus, isWaiting, POD_CLIENT_SIGNER } from './reconcile.ts'

/** It signs as the server itself: no account of Kubernetes has the right to. */
export const podCertificateSigner = ({ authorityFor }: Pick<Signing, 'authorityFor'>) =>
  defineController({
    name: 'podcertificaterequest-signing-controller',
    identity: serverIdentity(),
    workers: 5,
    create({ client }) {
      const [requests, pods, accounts] = [client.of(PodCertificateRequest), client.of(Pod), client.of(ServiceAccount)]
      return {
        watches: [
          watch(PodCertificateRequest, ({ current }) =>
            current.fields['spec.signerName'] === POD_CLIENT_SIGNER ? queueKey(current) : undefined,
          ),
        ],
        async reconcile(key) {
          const { namespace, name } = namedBy(key)
          const request = requests.get({ namespace, name })
          // Whoever signs for clients of the server signs for pods that are clients of it.
          const authority = authorityFor(SIGNERS.client)
          if (!request || !authority || !isWaiting(request)) return
          const pod = pods.get({ namespace, name: request.spec.podName }) as Pod | undefined
          const account = accounts.get({ namespace, name: request.spec.serviceAccountName })
          const status = decidedStatus(request, { authority, pod, account, now: client.now.getTime() })
          const written = client.of(PodCertificateRequestV1)
          await written.updateStatus({ ...request, apiVersion: written.resource.apiVersion, status })
        },
      }
    },
  })
