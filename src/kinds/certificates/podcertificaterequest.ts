/**
 * PodCertificateRequest requests a certificate from a signer, on behalf of a node, for a pod that runs there. The stored version is v1beta1,
 * as in kube-apiserver: v1 has no fields for a key with a proof of its own.
 */

import { createPublicKey } from 'node:crypto'
import { deepEqual } from '../../lib/json-value.ts'
import { nameIsDNSSubdomain } from '../../lib/names.ts'
import { pemBlocks } from '../../lib/pem.ts'
import { millisecondsAt } from '../../lib/time.ts'
import { type Certificate, readCertificate } from '../../lib/x509/certificate.ts'
import { type CertificateRequest, readCertificateRequest } from '../../lib/x509/certificate-request.ts'
import { DerError } from '../../lib/x509/der-reader.ts'
import { isSignedBy, type PublicKey, readPublicKeyInfo } from '../../lib/x509/public-key.ts'
import { formatLabels } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import {
  type FieldError,
  invalid,
  invalidEach,
  invalidUnshown,
  type Ref,
  refTo,
  required,
  tooLong,
  unsupported,
  withValue,
} from '../../schema/refs.ts'
import { bytes, int32, keyed, mapOf, message, type Static, string, time } from '../../schema/types.ts'
import { internalRepresentation } from '../rules/internal-representation.ts'
import { Condition, validateConditions } from '../rules/meta.ts'
import { isKubernetesSigner, validateSignerName, validateUserAnnotations } from '../rules/pod/volumes/signer-rules.ts'

/** The fields of the spec before those that show the key, which differ between versions. */
export const SUBJECT_FIELDS = {
  signerName: [1, string.always(), 'The requested signer, as DOMAIN/NAME.'],
  podName: [2, string.always(), 'The pod that gets the certificate.'],
  podUID: [3, string.always(), 'The UID of that pod.'],
  serviceAccountName: [4, string.always(), 'The service account that the pod runs as.'],
  serviceAccountUID: [5, string.always(), 'The UID of that service account.'],
  nodeName: [6, string.always(), 'The node that the pod runs on.'],
  nodeUID: [7, string.always(), 'The UID of that node.'],
  maxExpirationSeconds: [8, int32.optional().publishedDefault(86400), 'How long the certificate may be valid at most.'],
} as const

/** The fields of the spec from the request on, in every version. */
export const REQUEST_FIELDS = {
  stubPKCS10Request: [12, bytes.always(), 'A PKCS #10 request that shows the key and that the pod has it; all else in it is ignored.'],
  unverifiedUserAnnotations: [11, mapOf(string), 'Annotations from the author of the pod to the signer; not verified.'],
} as const

const PodCertificateRequestSpec = message('PodCertificateRequestSpec', {
  ...SUBJECT_FIELDS,
  pkixPublicKey: [9, bytes.always().omittable(), 'Deprecated: the key, as PKIX encodes it; stubPKCS10Request replaces it.'],
  proofOfPossession: [10, bytes.always().omittable(), 'Deprecated: a signature of the UID of the pod by that key.'],
  ...REQUEST_FIELDS,
})
type PodCertificateRequestSpec = Static<typeof PodCertificateRequestSpec>

export const PodCertificateRequestStatus = message('PodCertificateRequestStatus', {
  conditions: [1, keyed(Condition, 'type').mergedBy('type'), 'One of Issued, Denied and Failed ends the request.'],
  certificateChain: [2, string, 'The issued certificate in PEM, then the intermediate ones.'],
  notBefore: [4, time.optional(), 'When the certificate begins to be valid.'],
  beginRefreshAt: [5, time.optional(), 'When the node should begin to request the next one.'],
  notAfter: [6, time.optional(), 'When the certificate ends to be valid.'],
})
export type PodCertificateRequestStatus = Static<typeof PodCertificateRequestStatus>

export const PodCertificateRequest = defineKind({
  group: 'certificates.{group_domain}',
  version: 'v1beta1',
  kind: 'PodCertificateRequest',
  scope: 'Namespaced',
  names: { plural: 'podcertificaterequests' },
  doc: 'Asks a signer for a certificate for a pod.',
  lifecycle: { introduced: '1.35', deprecated: '1.37', removed: '1.40', replacement: 'v1' },
  gate: 'PodCertificateRequest',
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
    SignerName: [
      'string',
      o => o.spec.signerName,
      'signerName indicates the requested signer.\n\nAll signer names beginning with `kubernetes.io` are reserved for use by the Kubernetes project.  There is currently one well-known signer documented by the Kubernetes project, `kubernetes.io/kube-apiserver-client-pod`, which will issue client certificates understood by kube-apiserver.  It is currently unimplemented.',
    ],
    State: ['string', ({ status }) => stateOf(status), 'Is the request Pending, Issued, Denied, or Failed?'],
    UnverifiedUserAnnotations: [
      'string',
      o => formatLabels(o.spec.unverifiedUserAnnotations),
      'unverifiedUserAnnotations allow pod authors to pass additional information to the signer implementation.  Kubernetes does not restrict or validate this metadata in any way.\n\nEntries are subject to the same validation as object metadata annotations, with the addition that all keys must be domain-prefixed. No restrictions are placed on values, except an overall size limitation on the entire field.\n\nSigners should document the keys and values they support.  Signers should deny requests that contain keys they do not recognize.',
    ],
  },
})

/** An object of the kind PodCertificateRequest. */
export type PodCertificateRequest = ObjectOf<typeof PodCertificateRequest>

const stateOf = ({ conditions = [] }: PodCertificateRequestStatus) =>
  conditions.findLast(({ type }) => type === 'Issued' || type === 'Denied' || type === 'Failed')?.type ?? 'Pending'

const MAX_UID_BYTES = 128
/** The limit of a request, of a key and of a proof. */
const MAX_PROOF_BYTES = 10 * 1024
const HOUR = 60 * 60
const DAY = 24 * HOUR
/** Certificates are valid for an hour at least, and at most for this long; those of Kubernetes' own signers for a day. */
const MAX_EXPIRATION = 91 * DAY

/** All rules for a new request. */
function* validatePodRequestSpec(spec: PodCertificateRequestSpec, at: Ref<PodCertificateRequestSpec>): Iterable<FieldError> {
  const { signerName, unverifiedUserAnnotations = {}, maxExpirationSeconds } = spec
  yield* validateSignerName(signerName, at.signerName)
  yield* validateUserAnnotations(unverifiedUserAnnotations, at.unverifiedUserAnnotations)
  for (const owner of ['pod', 'serviceAccount', 'node'] as const) {
    yield* invalidEach(at[`${owner}Name`], nameIsDNSSubdomain(spec[`${owner}Name`]))
    yield* validateUid(spec[`${owner}UID`], at[`${owner}UID`])
  }
  const longest = isKubernetesSigner(signerName) ? DAY : MAX_EXPIRATION
  if (maxExpirationSeconds < HOUR || maxExpirationSeconds > longest)
    yield invalid(at.maxExpirationSeconds, `must be in the range [${HOUR}, ${longest}]`)
  yield* validateKey(spec, at)
}

/** The key is shown in one of two ways. */
function* validateKey(spec: PodCertificateRequestSpec, at: Ref<PodCertificateRequestSpec>): Iterable<FieldError> {
  const { stubPKCS10Request, pkixPublicKey, proofOfPossession } = spec
  if (stubPKCS10Request && !pkixPublicKey && !proofOfPossession) yield* validateStub(stubPKCS10Request, at.stubPKCS10Request)
  else if (!stubPKCS10Request && pkixPublicKey && proofOfPossession) yield* validateProof(spec, at)
  else yield invalidUnshown(at, 'exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set')
}

/** The spec is immutable. */
function* validateSpecUnchanged(
  spec: PodCertificateRequestSpec,
  at: Ref<PodCertificateRequestSpec>,
  old: PodCertificateRequestSpec,
): Iterable<FieldError> {
  if (deepEqual(comparable(spec), comparable(old))) return
  // kube-apiserver shows the spec with the field names of its internal type.
  yield invalid(withValue(at, internalRepresentation(PodCertificateRequestSpec, spec)), 'field is immutable')
}

/** Bytes that are empty and bytes that are absent are the same to kube-apiserver. */
const comparable = ({ pkixPublicKey, proofOfPossession, stubPKCS10Request, ...spec }: PodCertificateRequestSpec) => ({
  ...spec,
  key: [pkixPublicKey, proofOfPossession, stubPKCS10Request].map(bytes => bytes || null),
})

/** The key that a certificate is requested for, as certificates hold it; undefined if the spec was never checked. */
export function requestedKey({ stubPKCS10Request, pkixPublicKey }: PodCertificateRequestSpec): Buffer | undefined {
  return stubPKCS10Request ? readStub(stubPKCS10Request)?.publicKeyInfo : Buffer.from(pkixPublicKey ?? '', 'base64')
}

/** Parses the request of a stored spec, which has been checked. */
function readStub(base64: string): CertificateRequest | undefined {
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

/** Only the key and the signature of the request count; they prove possession of the private key. */
function* validateStub(base64: string, at: Ref<string>): Iterable<FieldError> {
  if (Buffer.from(base64, 'base64').length > MAX_PROOF_BYTES) return yield tooLong(at, MAX_PROOF_BYTES)
  const request = readStub(base64)
  if (request === undefined) return yield invalidUnshown(at, 'must be a valid PKCS#10 CSR')
  const { publicKey } = request
  if (publicKey === undefined) return yield invalidUnshown(at, UNKNOWN_KEY)
  const wrong = [...validateStrength(publicKey, at, 'P256, P384, or P521')]
  if (wrong.length > 0) return yield* wrong
  if (request.signatureProblem() !== undefined) yield invalidUnshown(at, 'invalid signature')
}

/** The older way to prove possession: a signature of the pod's UID beside the key. */
function* validateProof(
  { pkixPublicKey, proofOfPossession, podUID }: PodCertificateRequestSpec,
  { pkixPublicKey: at, proofOfPossession: proofAt }: Ref<PodCertificateRequestSpec>,
): Iterable<FieldError> {
  const [info, signature] = [Buffer.from(pkixPublicKey, 'base64'), Buffer.from(proofOfPossession, 'base64')]
  if (info.length > MAX_PROOF_BYTES) return yield tooLong(at, MAX_PROOF_BYTES)
  if (signature.length > MAX_PROOF_BYTES) return yield tooLong(proofAt, MAX_PROOF_BYTES)
  const publicKey = readKey(info)
  if (publicKey === undefined) return yield invalid(at, isOtherKey(info) ? UNKNOWN_KEY : 'must be a valid PKIX-serialized public key')
  const wrong = [...validateStrength(publicKey, at, 'P256 or P384')]
  if (wrong.length > 0) return yield* wrong
  if (!isSignedBy(publicKey, { body: Buffer.from(podUID), signature }))
    yield invalidUnshown(proofAt, 'could not verify proof-of-possession signature')
}

function readKey(info: Buffer): PublicKey | undefined {
  try {
    return readPublicKeyInfo(info)
  } catch (error) {
    if (error instanceof DerError) return undefined
    throw error
  }
}

/** Whether Go can read the key although it verifies no signature of a request. */
function isOtherKey(info: Buffer): boolean {
  try {
    return OTHER_KEYS.includes(createPublicKey({ key: info, format: 'der', type: 'spki' }).asymmetricKeyType!)
  } catch {
    return false
  }
}

function* validateStrength({ type, curve, key }: PublicKey, at: Ref<string>, curves: string): Iterable<FieldError> {
  if (type === 'ec' && !CURVES.includes(curve!))
    yield invalid(withValue(at, `curve ${curve}`), `elliptic public keys must use curve ${curves}`)
  const bits = Math.ceil((key.asymmetricKeyDetails?.modulusLength ?? 0) / 8) * 8
  if (type === 'rsa' && !RSA_BITS.includes(bits))
    yield invalid(withValue(at, `${bits}-bit modulus`), 'RSA keys must have modulus size 3072 or 4096')
}

const UNKNOWN_KEY = 'unknown public key type; supported types are Ed25519, ECDSA, and RSA'
const CURVES: readonly string[] = ['P-256', 'P-384', 'P-521']
const RSA_BITS: readonly number[] = [3072, 4096]
const OTHER_KEYS: readonly string[] = ['x25519', 'dsa']

const MAX_CHAIN_BYTES = 100 * 1024
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Tolerated error of a signer's clock. */
const SKEW = 5 * MINUTE_MS
/** The minimum time between the ends of a certificate's validity and its refresh time. */
const MARGIN = 10 * MINUTE_MS

const ENDS: readonly string[] = ['Issued', 'Denied', 'Failed']

type PodRequestChange = {
  readonly old: PodCertificateRequestStatus
  readonly spec: PodCertificateRequestSpec
  readonly now: Date
}

/** Rules for a write of the status. Each depends on the one before, so the first error ends it. */
function* validatePodRequestStatus(
  status: PodCertificateRequestStatus,
  at: Ref<PodCertificateRequestStatus>,
  { old, spec, now }: PodRequestChange,
): Iterable<FieldError> {
  const wrong = [...validateEnds(status.conditions ?? []), ...validateConditions(status.conditions, at.conditions)]
  if (wrong.length > 0) return yield* wrong
  const unchanged = deepEqual(status, old)
  if (endOf(old)) {
    if (!unchanged) yield invalidUnshown(at, 'immutable after PodCertificateRequest is issued, denied, or failed')
    return
  }
  switch (endOf(status)) {
    case 'Issued':
      return yield* firstOf(validateIssue(status, at, { spec, now }))
    case 'Denied':
    case 'Failed':
      if (status.certificateChain || status.notBefore || status.beginRefreshAt || status.notAfter)
        yield invalidUnshown(at, 'non-condition status fields must be empty when denying or failing the PodCertificateRequest')
      return
    default:
      if (!unchanged) yield invalidUnshown(at, 'status is immutable unless transitioning to "Issued", "Denied", or "Failed"')
  }
}

const endOf = ({ conditions = [] }: PodCertificateRequestStatus) => conditions.find(({ type }) => ENDS.includes(type))?.type

/** Exactly one terminal condition, with status True. The unusual paths are those of kube-apiserver. */
function* validateEnds(conditions: readonly Condition[]): Iterable<FieldError> {
  let ends = 0
  for (const [i, { type, status }] of conditions.entries()) {
    const field = (name: 'type' | 'status') => refTo(conditions[i]![name], `status.conditions.[${i}].${name}`)
    if (!ENDS.includes(type)) {
      yield unsupported(field('type'), ...ENDS)
      continue
    }
    ends++
    if (ends > 1) yield invalid(field('type'), 'There may be at most one condition with type "Issued", "Denied", or "Failed"')
    if (status !== 'True') yield unsupported(field('status'), 'True')
  }
}

type Findings = readonly FieldError[]

/** The errors of the first step that has any. */
function* firstOf(steps: Iterable<Findings>): Iterable<FieldError> {
  for (const found of steps) if (found.length > 0) return yield* found
}

function* validateIssue(
  status: PodCertificateRequestStatus,
  at: Ref<PodCertificateRequestStatus>,
  { spec, now }: Omit<PodRequestChange, 'old'>,
): Iterable<Findings> {
  const { certificateChain = '', notBefore, notAfter, beginRefreshAt } = status
  const chain = withValue(at.certificateChain, certificateChain)
  if (Buffer.byteLength(certificateChain) > MAX_CHAIN_BYTES) yield [tooLong(chain, MAX_CHAIN_BYTES)]
  const [leaf, ...intermediates] = pemBlocks(certificateChain).blocks
  if (!leaf) return yield [invalid(chain, 'issued certificate chain must contain at least one certificate')]
  if (leaf.label !== 'CERTIFICATE') yield [invalid(chain, 'issued certificate chain must consist entirely of CERTIFICATE PEM blocks')]
  const certificate = certificateIn(leaf.bytes)
  if (!certificate) return yield [invalid(chain, 'leaf certificate does not parse as valid X.509')]
  const names = [...validateNames(certificate, at.certificateChain)]
  if (!requestedKey(spec)?.equals(certificate.publicKeyInfo))
    yield [...names, invalid(chain, 'leaf certificate was not issued to the requested public key')]
  if (!notBefore || !notAfter || !beginRefreshAt) return yield [...names, ...missingTimes(status, at)]
  yield names
  yield* validateTimes({ notBefore, notAfter, beginRefreshAt }, at, { certificate, spec, now })
  for (const { label, bytes } of intermediates) {
    // The misspelling is that of kube-apiserver.
    if (label !== 'CERTIFICATE') yield [invalid(chain, 'issued certificate chain must consist entirely of CERTFICATE PEM blocks')]
    if (!certificateIn(bytes)) yield [invalid(chain, 'intermediate certificate does not parse as valid X.509')]
  }
}

function* missingTimes(
  { notBefore, notAfter, beginRefreshAt }: PodCertificateRequestStatus,
  at: Ref<PodCertificateRequestStatus>,
): Iterable<FieldError> {
  if (!notBefore) yield required(at.notBefore, 'must be present and consistent with the issued certificate')
  if (!notAfter) yield required(at.notAfter, 'must be present and consistent with the issued certificate')
  if (!beginRefreshAt) yield required(at.beginRefreshAt, 'must be present and in the range [notbefore+10min, notafter-10min]')
}

type Times = { readonly notBefore: string; readonly notAfter: string; readonly beginRefreshAt: string }
type Issue = { readonly certificate: Certificate; readonly spec: PodCertificateRequestSpec; readonly now: Date }

/**
 * The status repeats the certificate's times, the certificate is valid from now for the requested time, and the refresh begins within that
 * time.
 */
function* validateTimes(times: Times, at: Ref<PodCertificateRequestStatus>, { certificate, spec, now }: Issue): Iterable<Findings> {
  const [begin, end, refresh] = [times.notBefore, times.notAfter, times.beginRefreshAt].map(text => millisecondsAt(text)) as [
    number,
    number,
    number,
  ]
  if (begin !== certificate.notBefore.getTime())
    yield [invalid(at.notBefore, 'must be set to the NotBefore time encoded in the leaf certificate')]
  if (Math.abs(begin - now.getTime()) >= SKEW)
    yield [invalid(at.notBefore, "must be set to within 5 minutes of kube-apiserver's current time")]
  if (end !== certificate.notAfter.getTime())
    yield [invalid(at.notAfter, 'must be set to the NotAfter time encoded in the leaf certificate')]
  const lifetime = certificate.notAfter.getTime() - certificate.notBefore.getTime()
  const shown = withValue(at.certificateChain, lifetime * 1e6)
  if (lifetime < HOUR_MS) yield [invalid(shown, 'leaf certificate lifetime must be >= 1 hour')]
  if (lifetime > spec.maxExpirationSeconds * 1000)
    yield [invalid(shown, `leaf certificate lifetime must be <= spec.maxExpirationSeconds (${spec.maxExpirationSeconds})`)]
  if (refresh < begin + MARGIN) yield [invalid(at.beginRefreshAt, 'must be at least 10 minutes after status.notBefore')]
  if (refresh > end - MARGIN) yield [invalid(at.beginRefreshAt, 'must be at least 10 minutes before status.notAfter')]
}

/** Names that some libraries would interpret in a dangerous way. */
function* validateNames({ dnsNames, emailAddresses }: Certificate, at: Ref<string>): Iterable<FieldError> {
  for (const name of dnsNames) {
    const here = withValue(at, name)
    if (name === '') yield invalid(here, 'leaf certificate should not contain empty DNSName')
    if (name.includes('..')) yield invalid(here, "leaf certificate's DNSName should not contain '..'")
    if (name.startsWith('.') || name.endsWith('.')) yield invalid(here, "leaf certificate's DNSName should not start or end with '.'")
  }
  for (const address of emailAddresses)
    if (!EMAIL_ADDRESS.test(address)) yield invalid(withValue(at, address), 'leaf certificate should not contain invalid EmailAddress')
}

const EMAIL_ADDRESS = /^(?:[^\s@<>()[\]:;,\\".]+(?:\.[^\s@<>()[\]:;,\\".]+)*|"(?:[^"\\]|\\.)*")@[^\s@<>()[\]:;,\\"]+$/

function certificateIn(der: Buffer): Certificate | undefined {
  try {
    return readCertificate(der)
  } catch (error) {
    if (error instanceof DerError) return undefined
    throw error
  }
}
