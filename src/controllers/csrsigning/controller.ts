/** Issues certificates for requests that are approved, for the signers of Kubernetes. */
import { namedBy } from '../../client/change.ts'
import { CertificateSigningRequest } from '../../kinds/certificates/certificatesigningrequest.ts'
import type { Authority } from '../../lib/x509/authority.ts'
import { defineController, watch } from '../controller.ts'
import { signedStatus } from './reconcile.ts'
import type { SignerName } from './signers.ts'

/** The signing authorities, and the longest validity that they give. */
export type Signing = { readonly authorityFor: (signer: SignerName) => Authority | undefined; readonly durationMs: number }

export const csrSigningController = ({ authorityFor, durationMs }: Signing) =>
  defineController({
    name: 'certificatesigningrequest-signing-controller',
    identity: 'certificate-controller',
    workers: 5,
    backOff: { firstMs: 200, lastMs: 1_000_000, perSecond: 10, burst: 100 },
    create({ client }) {
      const requests = client.of(CertificateSigningRequest)
      return {
        watches: [watch(CertificateSigningRequest)],
        async reconcile(key) {
          const request = requests.get(namedBy(key))
          const status = request && signedStatus(request, { authorityFor, durationMs, now: client.now.getTime() })
          if (status) await requests.updateStatus({ ...request, status })
        },
      }
    },
  })
