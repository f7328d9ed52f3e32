/** PodCertificateRequest in v1, which shows the key only as a PKCS #10 request. A key that was shown otherwise is absent in this version. */
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { message } from '../../schema/types.ts'
import { PodCertificateRequest, PodCertificateRequestStatus, REQUEST_FIELDS, SUBJECT_FIELDS } from './podcertificaterequest.ts'

const PodCertificateRequestSpec = message('PodCertificateRequestSpec', { ...SUBJECT_FIELDS, ...REQUEST_FIELDS })

export const PodCertificateRequestV1 = defineKind({
  group: 'certificates.{group_domain}',
  version: 'v1',
  kind: 'PodCertificateRequest',
  scope: 'Namespaced',
  names: PodCertificateRequest.def.names,
  doc: 'Asks a signer for a certificate for a pod.',
  lifecycle: { introduced: '1.37' },
  gate: 'PodCertificateRequest',
  spec: PodCertificateRequestSpec.expected(),
  status: PodCertificateRequestStatus,

  conversion: {
    storedVersion: PodCertificateRequest,
    toStored: object => object,
    fromStored({ spec: { pkixPublicKey: _, proofOfPossession: __, ...spec }, ...object }: PodCertificateRequest) {
      return { ...object, spec }
    },
  },
})

/** An object of the kind PodCertificateRequestV1. */
export type PodCertificateRequestV1 = ObjectOf<typeof PodCertificateRequestV1>
