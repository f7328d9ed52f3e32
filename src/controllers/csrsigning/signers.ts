/** The signers of Kubernetes: what requests to each of them must be like. */
import type { CertificateSigningRequest } from '../../kinds/certificates/certificatesigningrequest.ts'
import { decodePem } from '../../lib/pem.ts'
import { type CertificateRequest, readCertificateRequest } from '../../lib/x509/certificate-request.ts'

export type SigningRequest = CertificateSigningRequest

export const SIGNERS = {
  client: 'kubernetes.io/kube-apiserver-client',
  kubeletClient: 'kubernetes.io/kube-apiserver-client-kubelet',
  kubeletServing: 'kubernetes.io/kubelet-serving',
  legacy: 'kubernetes.io/legacy-unknown',
} as const
export type SignerName = (typeof SIGNERS)[keyof typeof SIGNERS]

/** The PKCS#10 request in a CertificateSigningRequest. Validation has checked that it can be parsed. */
export function certificateRequestOf({ spec, metadata }: SigningRequest): CertificateRequest {
  const { block } = decodePem(Buffer.from(spec.request, 'base64').toString('latin1'))
  if (block?.label !== 'CERTIFICATE REQUEST')
    throw new Error(`unable to parse csr "${metadata.name}": PEM block type must be CERTIFICATE REQUEST`)
  return readCertificateRequest(block.bytes)
}

/** Why a signer does not sign a request; undefined when it does. */
export function signerProblem(signer: SignerName, request: CertificateRequest, usages: readonly string[]): string | undefined {
  if (signer === SIGNERS.kubeletServing) return kubeletServingProblem(request, usages)
  if (signer === SIGNERS.kubeletClient) return kubeletClientProblem(request, usages)
  return signer === SIGNERS.client ? clientUsagesProblem(usages) : undefined
}

const NODES = 'system:nodes'
const NODE_USER = 'system:node:'

/** The client certificate of a kubelet. */
export function kubeletClientProblem(request: CertificateRequest, usages: readonly string[]): string | undefined {
  const { dnsNames, emailAddresses, addresses, uris } = request.names
  if (!isOfNodes(request)) return NOT_OF_NODES
  if (dnsNames.length > 0) return 'DNS subjectAltNames are not allowed'
  if (emailAddresses.length > 0) return 'Email subjectAltNames are not allowed'
  if (addresses.length > 0) return 'IP subjectAltNames are not allowed'
  if (uris.length > 0) return 'URI subjectAltNames are not allowed'
  if (!request.commonName().startsWith(NODE_USER)) return NOT_A_NODE
  return usagesProblem(usages, 'client auth')
}

/** The serving certificate of a kubelet. */
function kubeletServingProblem(request: CertificateRequest, usages: readonly string[]): string | undefined {
  const { dnsNames, emailAddresses, addresses, uris } = request.names
  if (!isOfNodes(request)) return NOT_OF_NODES
  if (dnsNames.length === 0 && addresses.length === 0) return 'DNS or IP subjectAltName is required'
  if (emailAddresses.length > 0) return 'Email subjectAltNames are not allowed'
  if (uris.length > 0) return 'URI subjectAltNames are not allowed'
  const problem = usagesProblem(usages, 'server auth')
  return problem ?? (request.commonName().startsWith(NODE_USER) ? undefined : NOT_A_NODE)
}

const NOT_OF_NODES = 'subject organization is not system:nodes'
const NOT_A_NODE = 'subject common name does not begin with system:node:'

function isOfNodes(request: CertificateRequest): boolean {
  const [organization, ...more] = request.organizations()
  return organization === NODES && more.length === 0
}

/** Key encipherment makes sense with RSA alone, and may be left out. */
function usagesProblem(usages: readonly string[], purpose: string): string | undefined {
  const requested = new Set(usages)
  const permitted = ['digital signature', purpose, ...(requested.has('key encipherment') ? ['key encipherment'] : [])]
  const isRight = requested.size === permitted.length && permitted.every(usage => requested.has(usage))
  return isRight ? undefined : `usages did not match [${['digital signature', 'key encipherment', purpose].sort().join(' ')}]`
}

function clientUsagesProblem(usages: readonly string[]): string | undefined {
  const odd = usages.find(usage => usage !== 'digital signature' && usage !== 'key encipherment' && usage !== 'client auth')
  if (odd !== undefined) return `invalid usage for client certificate: ${odd}`
  return usages.includes('client auth') ? undefined : 'missing required usage for client certificate: client auth'
}
