/** ClusterTrustBundle holds certificates of authorities, for all clients or for one signer. */

import { type PemBlock, pemBlocks } from '../../lib/pem.ts'
import { readCertificate } from '../../lib/x509/certificate.ts'
import { DerError } from '../../lib/x509/der-reader.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { type FieldError, invalid, invalidEach, type Ref, tooLong, withValue } from '../../schema/refs.ts'
import { message, string } from '../../schema/types.ts'
import { trustBundleNameFaults, validateSignerName } from '../rules/pod/volumes/signer-rules.ts'

const ClusterTrustBundleSpec = message('ClusterTrustBundleSpec', {
  signerName: [1, string, 'The signer that these trust anchors belong to, if any. Cannot change.'],
  trustBundle: [2, string.always(), 'Certificates of authorities in PEM, without headers, none of them twice.'],
})

const MAX_BUNDLE_BYTES = 1024 * 1024

export const ClusterTrustBundle = defineKind({
  group: 'certificates.{group_domain}',
  version: 'v1',
  kind: 'ClusterTrustBundle',
  scope: 'Cluster',
  names: { plural: 'clustertrustbundles' },
  doc: 'Certificates of authorities to trust.',
  lifecycle: { introduced: '1.37' },
  gate: 'ClusterTrustBundle',
  otherVersions: {
    v1beta1: { introduced: '1.33', deprecated: '1.37', removed: '1.40', replacement: 'v1' },
    v1alpha1: { introduced: '1.26', deprecated: '1.34', removed: '1.37' },
  },
  spec: ClusterTrustBundleSpec.expected(),
  storedAs: { version: 'v1beta1' },
  allowUnconditionalUpdate: false,
  // The rule for names depends on the signer, and is checked with it.
  name: () => [],

  *validate({ metadata: { name, generateName }, spec: { signerName = '', trustBundle } }, { metadata, spec: at }, { old }) {
    if (generateName) yield* invalidEach(metadata.generateName, trustBundleNameFaults(generateName, signerName, 'prefix'))
    if (name) yield* invalidEach(metadata.name, trustBundleNameFaults(name, signerName))
    if (signerName) yield* validateSignerName(signerName, at.signerName)
    if (trustBundle !== old?.spec.trustBundle) yield* validateBundle(trustBundle, withValue(at.trustBundle, '<value omitted>'))
    if (old && signerName !== (old.spec.signerName ?? '')) yield invalid(withValue(at.signerName, signerName), 'field is immutable')
  },

  selectable: { 'spec.signerName': o => o.spec.signerName },

  columns: {
    SignerName: [
      'string',
      o => o.spec.signerName ?? '<none>',
      `signerName indicates the associated signer, if any.

In order to create or update a ClusterTrustBundle that sets signerName, you must have the following cluster-scoped permission: group=certificates.k8s.io resource=signers resourceName=<the signer name> verb=attest.

If signerName is not empty, then the ClusterTrustBundle object must be named with the signer name as a prefix (translating slashes to colons). For example, for the signer name \`example.com/foo\`, valid ClusterTrustBundle object names include \`example.com:foo:abc\` and \`example.com:foo:v1\`.

If signerName is empty, then the ClusterTrustBundle object's name must not have such a prefix.

List/watch requests for ClusterTrustBundles can filter on this field using a \`spec.signerName=NAME\` field selector.`,
    ],
  },
})

/** An object of the kind ClusterTrustBundle. */
export type ClusterTrustBundle = ObjectOf<typeof ClusterTrustBundle>

/** At least one authority, without duplicates; missing and duplicate ones are only reported if all can be parsed. */
function* validateBundle(text: string, at: Ref<string>): Iterable<FieldError> {
  if (Buffer.byteLength(text) > MAX_BUNDLE_BYTES) return yield tooLong(at, MAX_BUNDLE_BYTES)
  const { blocks } = pemBlocks(text)
  const problems = blocks.flatMap((block, i) => anchorProblem(block, i) ?? [])
  if (problems.length > 0) return yield* invalidEach(at, problems)
  if (blocks.length === 0) yield invalid(at, 'at least one trust anchor must be provided')
  const indicesByKey = new Map<string, number[]>()
  for (const [i, { bytes }] of blocks.entries()) {
    const key = bytes.toString('base64')
    indicesByKey.set(key, [...(indicesByKey.get(key) ?? []), i])
  }
  for (const indices of indicesByKey.values())
    if (indices.length > 1) yield invalid(at, `duplicate trust anchor (indices [${indices.join(' ')}])`)
}

function anchorProblem({ label, headers, bytes }: PemBlock, i: number): string | undefined {
  if (label !== 'CERTIFICATE') return `entry ${i} has bad block type: ${label}`
  if (headers.size > 0) return `entry ${i} has PEM block headers`
  try {
    return readCertificate(bytes).isAuthority ? undefined : `entry ${i} does not have the CA bit set`
  } catch (error) {
    if (error instanceof DerError) return `entry ${i} does not parse as X.509`
    throw error
  }
}
