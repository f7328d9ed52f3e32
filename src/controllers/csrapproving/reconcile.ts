/** Decides which requests are approved automatically: those of kubelets for their own certificates, if RBAC permits it. */
import { isDecided } from '../csrsigning/reconcile.ts'
import { certificateRequestOf, kubeletClientProblem, SIGNERS, type SigningRequest } from '../csrsigning/signers.ts'

/** A permission that approves a request, as a subresource that the requester may create, with the message of the approval. */
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
  const certificate = certificateRequestOf(request)
  if (kubeletClientProblem(certificate, spec.usages ?? []) !== undefined) return []
  return spec.username === certificate.commonName() ? [SELF, ANY] : [ANY]
}

export function approvedStatus({ status }: SigningRequest, message: string): SigningRequest['status'] {
  const approved = { type: 'Approved', status: 'True', reason: 'AutoApproved', message }
  return { ...status, conditions: [...(status.conditions ?? []), approved] }
}
