/**
 * Decides about a request to the signer of pods' client certificates. The certificate says that its bearer is the service account of
 * the pod, as a token of the account would, and names the pod that it ends with. Requests to other signers are for others.
 */

import { type PodCertificateRequest, requestedKey } from '../../kinds/certificates/podcertificaterequest.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { ServiceAccount } from '../../kinds/core/serviceaccount.ts'
import { podUnit } from '../../lib/pod-unit.ts'
import { accountGroups, accountUser } from '../../lib/service-account-name.ts'
import { timestampOf } from '../../lib/time.ts'
import { type Authority, certify } from '../../lib/x509/authority.ts'
import { ATTRIBUTE } from '../../lib/x509/distinguished-name.ts'
import { CLIENT_AUTH } from '../csrsigning/usages.ts'

export type PodRequest = PodCertificateRequest
type Status = PodRequest['status']

export const POD_CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client-pod'

export type PodSigningParts = {
  readonly authority: Authority
  /** The pod and the account that have the names in the request, if they are there. */
  readonly pod: Pod | undefined
  readonly account: ServiceAccount | undefined
  readonly now: number
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const MAX_VALIDITY_MS = 24 * HOUR_MS
const MIN_VALIDITY_MS = HOUR_MS
const BACKDATE_MS = 2 * MINUTE_MS
/** The share of its life after which a certificate is to be replaced: before the last third there is time enough for outages. */
const REFRESH_AFTER = 2 / 3

/** Whether a request is for this signer and waits for it. */
export const isWaiting = ({ spec, status }: PodRequest): boolean =>
  spec.signerName === POD_CLIENT_SIGNER && (status.conditions ?? []).length === 0

/** The status that ends a request. Throws when nothing can be signed now. */
export function decidedStatus(request: PodRequest, { authority, pod, account, now }: PodSigningParts): Status {
  const { spec, metadata } = request
  const denial = denialOf(request, { pod, account })
  if (denial) return { conditions: [condition('Denied', denial, now)] }
  // Certificates tell times in seconds.
  const begin = Math.floor((now - BACKDATE_MS) / 1000) * 1000
  const wanted = Math.min(spec.maxExpirationSeconds * 1000, MAX_VALIDITY_MS)
  const end = Math.min(begin + wanted, authority.notAfter.getTime())
  if (end - begin < MIN_VALIDITY_MS) throw new Error('the authority that signs for pods ends too soon for a certificate of an hour')
  const { namespace = '' } = metadata
  const certificateChain = certify(authority, {
    subject: new Map([
      [ATTRIBUTE.organization, accountGroups(namespace)],
      [ATTRIBUTE.organizationalUnit, [podUnit({ name: spec.podName, uid: spec.podUID })]],
      [ATTRIBUTE.commonName, [accountUser({ namespace, name: spec.serviceAccountName })]],
      [ATTRIBUTE.userUid, [spec.serviceAccountUID]],
    ]),
    publicKeyInfo: requestedKey(spec)!,
    keyUsages: ['digitalSignature'],
    purposes: [CLIENT_AUTH],
    validity: { notBefore: new Date(begin), notAfter: new Date(end) },
  })
  return {
    conditions: [condition('Issued', { reason: 'Issued', message: 'The certificate was issued' }, now)],
    certificateChain,
    notBefore: timestampOf(begin),
    beginRefreshAt: timestampOf(begin + (end - begin) * REFRESH_AFTER),
    notAfter: timestampOf(end),
  }
}

type Denial = { readonly reason: string; readonly message: string }

/** The node has checked the request; whatever can be checked here is checked again, since the certificate authenticates as the account. */
function denialOf({ spec }: PodRequest, { pod, account }: Pick<PodSigningParts, 'pod' | 'account'>): Denial | undefined {
  const annotations = Object.keys(spec.unverifiedUserAnnotations ?? {})
  if (annotations.length > 0)
    return { reason: 'InvalidUnverifiedUserAnnotations', message: `This signer knows no annotations, such as ${annotations.sort()[0]}` }
  const invalid = (message: string): Denial => ({ reason: 'InvalidPod', message })
  if (!pod || pod.metadata.uid !== spec.podUID) return invalid('The pod does not exist')
  if (pod.spec.nodeName !== spec.nodeName) return invalid('The pod does not run on the node')
  if (pod.spec.serviceAccountName !== spec.serviceAccountName) return invalid('The pod does not run as the service account')
  return account?.metadata.uid === spec.serviceAccountUID ? undefined : invalid('The service account does not exist')
}

const condition = (type: string, { reason, message }: Denial, now: number) => ({
  type,
  status: 'True',
  reason,
  message,
  lastTransitionTime: timestampOf(now),
})
