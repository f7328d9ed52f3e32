/** Which requests are approved without anybody being asked: those of kubelets for their own certificates, if they may ask for them. */
import { isDecided } from '../csrsigning/reconcile.ts'
import { certificateRequestOf, kubeletClientProblem, SIGNERS, type SigningRequest } from '../csrsigning/signers.ts'

/** A right by which a request is approved, as a subresource that its requester may create, and what is said then. */
export type Recognition = { readonly subresource: string; readonly message: string }

const SELF = {
  subresource: 'selfnodeclient',
  message: 'Auto approving self kubelet client certificate after SubjectAccessReview.',
}
const ANY = { subresource: 'nodeclient', message: 'Auto approving kubelet client certificate after SubjectAccessReview.' }

/** The rights that would do, in the order in which they are asked about. */
export function recognitionsOf(request: SigningRequest): readonly Recognition[] {
  const { spec, status } = request
  if (status.certificate || isDecided(request) || spec.signerName !== SIGNERS.kubeletClient) return []
  const asked = certificateRequestOf(request)
  if (kubeletClientProblem(asked, spec.usages ?? []) !== undefined) return []
  return spec.username === asked.commonName() ? [SELF, ANY] : [ANY]
}

export function approvedStatus({ status }: SigningRequest, message: string): SigningRequest['status'] {
  const approved = { type: 'Approved', status: 'True', reason: 'AutoApproved', message }
  return { ...status, conditions: [...(status.conditions ?? []), approved] }
}
