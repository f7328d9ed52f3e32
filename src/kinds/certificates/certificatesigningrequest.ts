/** CertificateSigningRequest asks a signer for a certificate: it is approved or denied, then issued or failed. */
import { setOwn } from '../../lib/json-value.ts'
import { nameIsPathSegment } from '../../lib/names.ts'
import { humanDuration } from '../../lib/time.ts'
import { age } from '../../schema/columns.ts'
import { defineKind } from '../../schema/kind.ts'
import { atomic, bytes, int32, mapOf, message, type Static, string } from '../../schema/types.ts'
import type { User } from '../../schema/user.ts'
import { validateRequestSpec } from './request-rules.ts'
import { CertificateSigningRequestStatus, keepDecisions, stampConditions, validateStatusChange } from './request-status.ts'

const CertificateSigningRequestSpec = message('CertificateSigningRequestSpec', {
  request: [1, bytes.always(), 'A PKCS #10 request in a CERTIFICATE REQUEST block of PEM.'],
  signerName: [7, string.always(), 'Who is asked, as DOMAIN/NAME.'],
  expirationSeconds: [8, int32.optional(), 'How long the certificate should be valid, at least 600; the signer may decide otherwise.'],
  usages: [5, atomic(string), 'What the key is to be used for.'],
  username: [2, string, 'Who created the request; set by the server.'],
  uid: [3, string, 'The UID of that user; set by the server.'],
  groups: [4, atomic(string), 'The groups of that user; set by the server.'],
  extra: [6, mapOf(atomic(string)), 'Further attributes of that user; set by the server.'],
})
export type CertificateSigningRequestSpec = Static<typeof CertificateSigningRequestSpec>

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
    // Later the spec cannot be changed, and what is stored has been checked.
    if (old === undefined) yield* validateRequestSpec(spec, at)
  },

  subresources: {
    /** For signers: the certificate, or that there will be none. */
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

/** Who asks is what the server knows, whatever the request says. */
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
