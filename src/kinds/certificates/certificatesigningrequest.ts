/** CertificateSigningRequest requests a certificate from a signer: it is approved or denied, then issued or failed. */

import { goQuote } from '../../lib/go-text.ts'
import { setOwn } from '../../lib/json-value.ts'
import { nameIsPathSegment } from '../../lib/names.ts'
import { decodePem, pemBlocks } from '../../lib/pem.ts'
import { humanDuration, timestampOf } from '../../lib/time.ts'
import { readCertificates } from '../../lib/x509/certificate.ts'
import { readCertificateRequest } from '../../lib/x509/certificate-request.ts'
import { DerError } from '../../lib/x509/der-reader.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { duplicate, type FieldError, forbidden, invalid, type Ref, required, unsupported, withValue } from '../../schema/refs.ts'
import { atomic, bytes, int32, keyed, mapOf, message, type Static, string, time } from '../../schema/types.ts'
import type { User } from '../../schema/user.ts'
import { CONDITION_STATUSES } from '../rules/meta.ts'
import { validateSignerName } from '../rules/pod/volumes/signer-rules.ts'

const CertificateSigningRequestCondition = message('CertificateSigningRequestCondition', {
  type: [1, string.always(), 'Approved, Denied, Failed or a type that the signer defines.'],
  status: [6, string.always(), 'Whether it holds: True, False or Unknown; the three built-in types can only be True.'],
  reason: [2, string, 'A short reason in CamelCase.'],
  message: [3, string, 'The same for people.'],
  lastUpdateTime: [4, time, 'When the condition was last written; defaults to now.'],
  lastTransitionTime: [5, time, 'When the status last changed; set by the server if unset.'],
})

const CertificateSigningRequestStatus = message('CertificateSigningRequestStatus', {
  conditions: [1, keyed(CertificateSigningRequestCondition, 'type'), 'The decisions; Approved, Denied and Failed stay once they are set.'],
  certificate: [2, bytes, 'The certificate that the signer issued in PEM, then the intermediate ones. Cannot change once set.'],
})
type CertificateSigningRequestStatus = Static<typeof CertificateSigningRequestStatus>

const DECISIONS: readonly string[] = ['Approved', 'Denied']
const FINAL: readonly string[] = [...DECISIONS, 'Failed']

/** Signers send back the decision as they read it; unless the number of conditions changes, the approver's conditions are kept. */
function keepDecisions(status: CertificateSigningRequestStatus, old: CertificateSigningRequestStatus): void {
  for (const type of DECISIONS) {
    const kept = ofType(old, type)
    if (kept.length === 0 || kept.length !== ofType(status, type).length) continue
    status.conditions = (status.conditions ?? []).map(condition => (condition.type === type ? { ...kept.shift()! } : condition))
  }
}

/** Sets the times that the client left to the server. */
function stampConditions(status: CertificateSigningRequestStatus, old: CertificateSigningRequestStatus, now: Date): void {
  const stamp = timestampOf(now)
  const times = new Map<string, string>()
  for (const { type, status: holds, lastTransitionTime } of old.conditions ?? []) {
    const key = JSON.stringify([type, holds])
    if (lastTransitionTime && !times.has(key)) times.set(key, lastTransitionTime)
  }
  for (const condition of status.conditions ?? []) {
    condition.lastUpdateTime ??= stamp
    condition.lastTransitionTime ??= times.get(JSON.stringify([condition.type, condition.status])) ?? stamp
  }
}

/** The permitted effects of a write beside changing conditions of other types. */
type StatusChange = { readonly old: CertificateSigningRequestStatus | undefined; readonly may: 'decide' | 'issue' }

/** Rules for a write of approvers, who decide, or of signers, who issue. */
function* validateStatusChange(
  status: CertificateSigningRequestStatus,
  at: Ref<CertificateSigningRequestStatus>,
  { old = {}, may }: StatusChange,
): Iterable<FieldError> {
  yield* validateConditions(status, at, old)
  if (status.certificate !== old.certificate && certificateProblem(old.certificate) === undefined) {
    const problem = certificateProblem(status.certificate)
    if (problem !== undefined) yield invalid(withValue(at.certificate, '<certificate data>'), problem)
  }
  for (const type of FINAL)
    if (ofType(status, type).length < ofType(old, type).length)
      yield forbidden(at.conditions, `updates may not remove a condition of type "${type}"`)
  if (may === 'issue')
    for (const type of DECISIONS)
      if (ofType(status, type).length > ofType(old, type).length)
        yield forbidden(at.conditions, `updates may not add a condition of type "${type}"`)
  if (old.certificate && status.certificate !== old.certificate)
    yield forbidden(at.certificate, 'updates may not modify existing certificate content')
  if (isTorn(status) && !isTorn(old)) yield invalid(withValue(at.conditions, `{${UNION.join(', ')}}`), TORN)
}

/** Errors of stored conditions are accepted. */
function* validateConditions(
  { conditions = [] }: CertificateSigningRequestStatus,
  at: Ref<CertificateSigningRequestStatus>,
  { conditions: old = [] }: CertificateSigningRequestStatus,
): Iterable<FieldError> {
  const mayBeUntyped = old.some(({ type }) => !type)
  const mayRepeat = new Set(old.map(({ type }) => type)).size < old.length
  const seen = new Set<string>()
  for (const [i, { type, status }] of conditions.entries()) {
    const here = at.conditions[i]!
    if (!type && !mayBeUntyped) yield required(here.type)
    const allowed = FINAL.includes(type) ? ['True'] : CONDITION_STATUSES
    if (!status) yield required(here.status)
    else if (!allowed.includes(status)) yield unsupported(here.status, ...allowed)
    if (seen.has(type) && !mayRepeat) yield duplicate(here.type)
    seen.add(type)
  }
}

/** One or more certificates in PEM without headers, with text around them. */
function certificateProblem(base64: string | undefined): string | undefined {
  if (!base64) return undefined
  const { blocks } = pemBlocks(Buffer.from(base64, 'base64').toString('latin1'))
  for (const { label, headers, bytes } of blocks) {
    if (label !== 'CERTIFICATE') return `only CERTIFICATE PEM blocks are allowed, found ${goQuote(label)}`
    if (headers.size > 0) return 'no PEM block headers are permitted'
    try {
      if (readCertificates(bytes).length === 0) return 'found CERTIFICATE PEM block containing 0 certificates'
    } catch (error) {
      if (error instanceof DerError) return error.message
      throw error
    }
  }
  return blocks.length === 0 ? 'must contain at least one CERTIFICATE PEM block' : undefined
}

const ofType = ({ conditions = [] }: CertificateSigningRequestStatus, type: string) => conditions.filter(c => c.type === type)

/** Both approved and denied. */
const isTorn = (status: CertificateSigningRequestStatus) => DECISIONS.every(type => ofType(status, type).length > 0)
const UNION = DECISIONS.map(type => `conditions[{"type": "${type}"}]`)
const TORN = `must specify at most one of: ${UNION.map(member => `\`${member}\``).join(', ')}`

/** The known key usages. */
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

const CertificateSigningRequestSpec = message('CertificateSigningRequestSpec', {
  request: [1, bytes.always(), 'A PKCS #10 request in a CERTIFICATE REQUEST block of PEM.'],
  signerName: [7, string.always(), 'The requested signer, as DOMAIN/NAME.'],
  expirationSeconds: [8, int32.optional(), 'How long the certificate should be valid, at least 600; the signer may decide otherwise.'],
  usages: [5, atomic(string.listed(...USAGES)), 'The intended uses of the key.'],
  username: [2, string, 'The user who created the request; set by the server.'],
  uid: [3, string, 'The UID of that user; set by the server.'],
  groups: [4, atomic(string), 'The groups of that user; set by the server.'],
  extra: [6, mapOf(atomic(string)), 'Further attributes of that user; set by the server.'],
})
type CertificateSigningRequestSpec = Static<typeof CertificateSigningRequestSpec>

export const CertificateSigningRequest = defineKind({
  group: 'certificates.{group_domain}',
  version: 'v1',
  kind: 'CertificateSigningRequest',
  scope: 'Cluster',
  names: { plural: 'certificatesigningrequests', short: ['csr'] },
  doc: 'Asks a signer for a certificate.',
  spec: CertificateSigningRequestSpec.expected(),
  status: CertificateSigningRequestStatus,
  name: nameIsPathSegment,
  resetFields: ['spec', 'status'],

  prepareForCreate: ({ spec }, { user }) => recordUser(spec, user),
  prepareForUpdate(o, old) {
    o.spec = old.spec
  },
  *validate({ spec }, { spec: at }, { old }) {
    // The spec is immutable, and the stored one has been checked.
    if (old === undefined) yield* validateRequestSpec(spec, at)
  },

  subresources: {
    /** For signers: the certificate, or the failure. */
    status: {
      resetFields: ['spec', 'status.conditions'],
      prepareForUpdate(o, old, { now }) {
        keepDecisions(o.status, old.status)
        stampConditions(o.status, old.status, now)
      },
      *validate({ status }, { status: at }, { old }) {
        yield* validateStatusChange(status, at, { old: old?.status, may: 'issue' })
      },
    },
    updates: {
      /** For approvers: the decision. */
      approval: {
        resetFields: ['spec', 'status.certificate'],
        merge({ status: { conditions } }, stored) {
          const { conditions: _, ...rest } = stored.status
          return { ...stored, status: { ...(conditions && { conditions }), ...rest } }
        },
        prepareForUpdate: (o, old, { now }) => stampConditions(o.status, old.status, now),
        *validate({ status }, { status: at }, { old }) {
          yield* validateStatusChange(status, at, { old: old?.status, may: 'decide' })
        },
      },
    },
  },

  selectable: { 'spec.signerName': o => o.spec.signerName },

  columns: {
    Age: age,
    SignerName: [
      'string',
      o => o.spec.signerName || '<none>',
      `Requested signer for the request. It is a qualified name in the form: \`scope-hostname.io/name\`. If empty, it will be defaulted:
 1. If it's a kubelet client certificate, it is assigned
    "kubernetes.io/kube-apiserver-client-kubelet".
 2. If it's a kubelet serving certificate, it is assigned
    "kubernetes.io/kubelet-serving".
 3. Otherwise, it is assigned "kubernetes.io/legacy-unknown".
Distribution of trust for signers happens out of band. You can select on this field using \`spec.signerName\`.`,
    ],
    Requestor: ['string', o => o.spec.username ?? '', 'Base64-encoded PKCS#10 CSR data'],
    RequestedDuration: [
      'string',
      ({ spec: { expirationSeconds: seconds } }) => (seconds === undefined ? '<none>' : humanDuration(seconds * 1000)),
      `expirationSeconds is the requested duration of validity of the issued certificate. The certificate signer may issue a certificate with a different validity duration so a client must check the delta between the notBefore and and notAfter fields in the issued certificate to determine the actual duration.

The v1.22+ in-tree implementations of the well-known Kubernetes signers will honor this field as long as the requested duration is not greater than the maximum duration they will honor per the --cluster-signing-duration CLI flag to the Kubernetes controller manager.

Certificate signers may not honor this field for various reasons:

  1. Old signer that is unaware of the field (such as the in-tree
     implementations prior to v1.22)
  2. Signer whose configured maximum is shorter than the requested duration
  3. Signer whose configured minimum is longer than the requested duration

The minimum valid value for expirationSeconds is 600, i.e. 10 minutes.`,
    ],
    Condition: ['string', o => stateOf(o.status), 'Conditions applied to the request, such as approval or denial.'],
  },
})

/** An object of the kind CertificateSigningRequest. */
export type CertificateSigningRequest = ObjectOf<typeof CertificateSigningRequest>

/** The server sets the requesting user, and overwrites the one in the request. */
function recordUser(spec: CertificateSigningRequestSpec, { name, uid, groups, extra = {} }: User): void {
  for (const field of ['username', 'uid', 'groups', 'extra'] as const) delete spec[field]
  if (name) spec.username = name
  if (uid) spec.uid = uid
  if (groups.length > 0) spec.groups = [...groups]
  const attributes: Record<string, string[]> = {}
  for (const [key, values] of Object.entries(extra)) setOwn(attributes, key, [...values])
  if (Object.keys(attributes).length > 0) spec.extra = attributes
}

function stateOf({ conditions = [], certificate }: Static<typeof CertificateSigningRequestStatus>): string {
  const has = (type: string) => conditions.some(condition => condition.type === type)
  const decision = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending'
  return `${decision}${has('Failed') ? ',Failed' : ''}${certificate ? ',Issued' : ''}`
}

const MIN_EXPIRATION_SECONDS = 600
/** The signer of old requests that named none. */
const LEGACY_SIGNER = 'kubernetes.io/legacy-unknown'

/** The request is signed with its own key, for supported usages, to a signer with a qualified name. */
function* validateRequestSpec(
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

function requestProblem(base64: string | null): string | undefined {
  const { block } = decodePem(Buffer.from(base64 ?? '', 'base64').toString('latin1'))
  if (block?.label !== 'CERTIFICATE REQUEST') return 'PEM block type must be CERTIFICATE REQUEST'
  try {
    return readCertificateRequest(block.bytes).signatureProblem()
  } catch (error) {
    if (error instanceof DerError) return error.message
    throw error
  }
}
