/** Rules on what a request for a pod's certificate asks. */
import { type CertificateRequest, readCertificateRequest } from '../../lib/certificate-request.ts'
import { DerError } from '../../lib/der-reader.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { nameIsDNSSubdomain } from '../../lib/names.ts'
import { type FieldError, invalid, invalidEach, invalidUnshown, type Ref, tooLong, withValue } from '../../schema/refs.ts'
import { isKubernetesSigner, validateSignerName, validateUserAnnotations } from '../shapes/pod/volumes/signer-rules.ts'
import type { PodCertificateRequestSpec } from './podcertificaterequest.ts'

const MAX_UID_BYTES = 128
const MAX_STUB_BYTES = 10 * 1024
const HOUR = 60 * 60
const DAY = 24 * HOUR
/** Certificates are good for an hour at least, and at most for this long; those of Kubernetes' own signers for a day. */
const MAX_EXPIRATION = 91 * DAY

/** Everything about a new request. */
export function* validatePodRequestSpec(spec: PodCertificateRequestSpec, at: Ref<PodCertificateRequestSpec>): Iterable<FieldError> {
  const { signerName, unverifiedUserAnnotations = {}, maxExpirationSeconds, stubPKCS10Request } = spec
  yield* validateSignerName(signerName, at.signerName)
  yield* validateUserAnnotations(unverifiedUserAnnotations, at.unverifiedUserAnnotations)
  for (const owner of ['pod', 'serviceAccount', 'node'] as const) {
    yield* invalidEach(at[`${owner}Name`], nameIsDNSSubdomain(spec[`${owner}Name`]))
    yield* validateUid(spec[`${owner}UID`], at[`${owner}UID`])
  }
  const longest = isKubernetesSigner(signerName) ? DAY : MAX_EXPIRATION
  if (maxExpirationSeconds < HOUR || maxExpirationSeconds > longest)
    yield invalid(at.maxExpirationSeconds, `must be in the range [${HOUR}, ${longest}]`)
  if (stubPKCS10Request) yield* validateStub(stubPKCS10Request, at.stubPKCS10Request)
  else yield invalidUnshown(at, 'exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set')
}

/** Nothing of the spec can change. */
export function* validateSpecUnchanged(
  spec: PodCertificateRequestSpec,
  at: Ref<PodCertificateRequestSpec>,
  old: PodCertificateRequestSpec,
): Iterable<FieldError> {
  // Clients are shown the spec under the names it has inside a Kubernetes server.
  if (!deepEqual(spec, old)) yield invalid(withValue(at, internalForm(spec)), 'field is immutable')
}

/** Reads the request inside a stored spec, which has been checked. */
export function readStub(base64: string): CertificateRequest | undefined {
  try {
    return readCertificateRequest(Buffer.from(base64, 'base64'))
  } catch (error) {
    if (error instanceof DerError) return undefined
    throw error
  }
}

function* validateUid(uid: string, at: Ref<string>): Iterable<FieldError> {
  if (!uid) yield invalid(at, 'must not be empty')
  if (Buffer.byteLength(uid) > MAX_UID_BYTES) yield tooLong(at, MAX_UID_BYTES)
}

/** Of the request only the key and the signature count; they show that whoever asks has the key. */
function* validateStub(base64: string, at: Ref<string>): Iterable<FieldError> {
  if (Buffer.from(base64, 'base64').length > MAX_STUB_BYTES) return yield tooLong(at, MAX_STUB_BYTES)
  const request = readStub(base64)
  if (request === undefined) return yield invalidUnshown(at, 'must be a valid PKCS#10 CSR')
  const { publicKey } = request
  if (publicKey === undefined) return yield invalidUnshown(at, 'unknown public key type; supported types are Ed25519, ECDSA, and RSA')
  if (publicKey.type === 'ec' && !CURVES.includes(publicKey.curve!))
    return yield invalid(withValue(at, `curve ${publicKey.curve}`), 'elliptic public keys must use curve P256, P384, or P521')
  const bits = Math.ceil((publicKey.key.asymmetricKeyDetails?.modulusLength ?? 0) / 8) * 8
  if (publicKey.type === 'rsa' && !RSA_BITS.includes(bits))
    return yield invalid(withValue(at, `${bits}-bit modulus`), 'RSA keys must have modulus size 3072 or 4096')
  if (request.signatureProblem() !== undefined) yield invalidUnshown(at, 'invalid signature')
}

const CURVES: readonly string[] = ['P-256', 'P-384', 'P-521']
const RSA_BITS: readonly number[] = [3072, 4096]

const internalForm = (spec: PodCertificateRequestSpec) => ({
  SignerName: spec.signerName,
  PodName: spec.podName,
  PodUID: spec.podUID,
  ServiceAccountName: spec.serviceAccountName,
  ServiceAccountUID: spec.serviceAccountUID,
  NodeName: spec.nodeName,
  NodeUID: spec.nodeUID,
  MaxExpirationSeconds: spec.maxExpirationSeconds,
  PKIXPublicKey: null,
  ProofOfPossession: null,
  StubPKCS10Request: spec.stubPKCS10Request || null,
  UnverifiedUserAnnotations: spec.unverifiedUserAnnotations ?? null,
})
