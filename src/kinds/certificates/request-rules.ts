/** Rules on what a request for a certificate asks. */
import { readCertificateRequest } from '../../lib/certificate-request.ts'
import { DerError } from '../../lib/der-reader.ts'
import { decodePem } from '../../lib/pem.ts'
import { duplicate, type FieldError, invalid, type Ref, required, unsupported } from '../../schema/refs.ts'
import { validateSignerName } from '../shapes/pod/volumes/signer-rules.ts'
import type { CertificateSigningRequestSpec } from './certificatesigningrequest.ts'

const MIN_EXPIRATION_SECONDS = 600
/** The signer of requests that named none, when that was possible. */
const LEGACY_SIGNER = 'kubernetes.io/legacy-unknown'

const USAGES: readonly string[] = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
]

/** A request that is signed with its own key, for known usages, to a signer that has a full name. */
export function* validateRequestSpec(
  { request, usages = [], signerName, expirationSeconds }: CertificateSigningRequestSpec,
  at: Ref<CertificateSigningRequestSpec>,
): Iterable<FieldError> {
  const problem = requestProblem(request)
  if (problem !== undefined) yield invalid(at.request, problem)
  if (usages.length === 0) yield required(at.usages)
  for (const [i, usage] of usages.entries()) if (!USAGES.includes(usage)) yield unsupported(at.usages[i]!, ...USAGES)
  const seen = new Set<string>()
  for (const [i, usage] of usages.entries()) {
    if (seen.has(usage)) yield duplicate(at.usages[i]!)
    seen.add(usage)
  }
  if (signerName === LEGACY_SIGNER) yield invalid(at.signerName, 'the legacy signerName is not allowed via this API version')
  else yield* validateSignerName(signerName, at.signerName)
  if (expirationSeconds !== undefined && expirationSeconds < MIN_EXPIRATION_SECONDS)
    yield invalid(at.expirationSeconds, 'may not specify a duration less than 600 seconds (10 minutes)')
}

function requestProblem(base64: string): string | undefined {
  const { block } = decodePem(Buffer.from(base64, 'base64').toString('latin1'))
  if (block?.label !== 'CERTIFICATE REQUEST') return 'PEM block type must be CERTIFICATE REQUEST'
  try {
    return readCertificateRequest(block.bytes).signatureProblem()
  } catch (error) {
    if (error instanceof DerError) return error.message
    throw error
  }
}
