/** Nobody gets a client certificate of the group that may do everything by asking for it. */

import { decodePem } from '../../lib/pem.ts'
import { readCertificateRequest } from '../../lib/x509/certificate-request.ts'
import { forbiddenRequest } from '../../schema/status-error.ts'
import type { Plugin } from '../plugin.ts'

const SIGNER = 'kubernetes.io/kube-apiserver-client'
const MASTERS = 'system:masters'

export const certificateSubjectRestriction = (groupDomain: string): Plugin => ({
  name: 'CertificateSubjectRestriction',
  plurals: ['certificatesigningrequests'],
  validate({ operation, resource, subresource, object, name }) {
    if (operation !== 'CREATE' || subresource !== '' || resource.plural !== 'certificatesigningrequests') return
    if (resource.group !== `certificates.${groupDomain}` || object?.['spec'].signerName !== SIGNER) return
    // The rules of the kind have checked that it can be read.
    const { block } = decodePem(Buffer.from(object['spec'].request, 'base64').toString('latin1'))
    if (block && readCertificateRequest(block.bytes).organizations().includes(MASTERS))
      throw forbiddenRequest(resource, name, `use of ${SIGNER} signer with ${MASTERS} group is not allowed`)
  },
})
