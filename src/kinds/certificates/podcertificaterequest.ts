/** PodCertificateRequest asks a signer, on behalf of a node, for a certificate for a pod that runs there. */
import { formatLabels } from '../../schema/columns.ts'
import { defineKind } from '../../schema/kind.ts'
import { bytes, int32, keyed, mapOf, message, type Static, string, time } from '../../schema/types.ts'
import { Condition } from '../shapes/meta.ts'
import { validatePodRequestSpec, validateSpecUnchanged } from './pod-request-rules.ts'
import { validatePodRequestStatus } from './pod-request-status-rules.ts'

const PodCertificateRequestSpec = message('PodCertificateRequestSpec', {
  signerName: [1, string.always(), 'Who is asked, as DOMAIN/NAME.'],
  podName: [2, string.always(), 'The pod that gets the certificate.'],
  podUID: [3, string.always(), 'The UID of that pod.'],
  serviceAccountName: [4, string.always(), 'The service account that the pod runs as.'],
  serviceAccountUID: [5, string.always(), 'The UID of that service account.'],
  nodeName: [6, string.always(), 'The node that the pod runs on.'],
  nodeUID: [7, string.always(), 'The UID of that node.'],
  maxExpirationSeconds: [8, int32.optional().toldDefault(86400), 'How long the certificate may be valid at most.'],
  stubPKCS10Request: [12, bytes.always(), 'A PKCS #10 request that shows the key and that the pod has it; all else in it is ignored.'],
  unverifiedUserAnnotations: [11, mapOf(string), 'What the author of the pod tells the signer; nobody has checked it.'],
})
export type PodCertificateRequestSpec = Static<typeof PodCertificateRequestSpec>

const PodCertificateRequestStatus = message('PodCertificateRequestStatus', {
  conditions: [1, keyed(Condition, 'type').mergedBy('type'), 'One of Issued, Denied and Failed ends the request.'],
  certificateChain: [2, string, 'What was issued, in PEM: the certificate, then intermediate ones.'],
  notBefore: [4, time.optional(), 'When the certificate begins to be valid.'],
  beginRefreshAt: [5, time.optional(), 'When the node should begin to ask for the next one.'],
  notAfter: [6, time.optional(), 'When the certificate ends to be valid.'],
})
export type PodCertificateRequestStatus = Static<typeof PodCertificateRequestStatus>

export const PodCertificateRequest = defineKind({
  group: 'certificates.{group_domain}',
  version: 'v1',
  kind: 'PodCertificateRequest',
  scope: 'Namespaced',
  names: { plural: 'podcertificaterequests' },
  doc: 'Asks a signer for a certificate for a pod.',
  spec: PodCertificateRequestSpec.expected(),
  status: PodCertificateRequestStatus,
  storedAs: { version: 'v1beta1' },
  allowUnconditionalUpdate: false,

  *validate({ spec }, { spec: at }, { old }) {
    if (old === undefined) yield* validatePodRequestSpec(spec, at)
  },
  *validateUpdate({ spec }, old, { spec: at }) {
    yield* validateSpecUnchanged(spec, at, old.spec)
  },

  subresources: {
    status: {
      keepsMetadata: true,
      *validate({ spec, status }, { status: at }, { old, now }) {
        yield* validatePodRequestStatus(status, at, { old: old?.status ?? {}, spec, now })
      },
      *validateUpdate() {},
    },
  },

  selectable: {
    'spec.signerName': o => o.spec.signerName,
    'spec.podName': o => o.spec.podName,
    'spec.nodeName': o => o.spec.nodeName,
  },
  fieldSelectors: { withoutNamespace: true },

  columns: {
    PodName: ['string', o => o.spec.podName, 'podName is the name of the pod into which the certificate will be mounted.'],
    ServiceAccountName: [
      'string',
      o => o.spec.serviceAccountName,
      'serviceAccountName is the name of the service account the pod is running as.',
    ],
    NodeName: ['string', o => o.spec.nodeName, 'nodeName is the name of the node the pod is assigned to.'],
    SignerName: ['string', o => o.spec.signerName, 'The signer that is asked'],
    State: ['string', ({ status }) => stateOf(status), 'Is the request Pending, Issued, Denied, or Failed?'],
    UnverifiedUserAnnotations: [
      'string',
      o => formatLabels(o.spec.unverifiedUserAnnotations),
      'What the author of the pod tells the signer, unchecked',
    ],
  },
})

const stateOf = ({ conditions = [] }: PodCertificateRequestStatus) =>
  conditions.findLast(({ type }) => type === 'Issued' || type === 'Denied' || type === 'Failed')?.type ?? 'Pending'
