/** The trust bundle by which others know this server: one of a name that depends on its content, and no others of its signer. */
import { createHash } from 'node:crypto'
import type { ClusterTrustBundle } from '../../kinds/certificates/clustertrustbundle.ts'
import { encodePem, pemBlocks } from '../../lib/pem.ts'
import { readCertificate } from '../../lib/x509/certificate.ts'
import { DerError } from '../../lib/x509/der-reader.ts'

export type Bundle = ClusterTrustBundle

export const SIGNER = 'kubernetes.io/kube-apiserver-serving'

/** The bundles to create, replace and delete, given the stored ones of the signer. */
export function reconcileBundles(trustBundle: string, stored: readonly Bundle[]) {
  const name = bundleName(trustBundle)
  const current = stored.find(({ metadata }) => metadata.name === name)
  return {
    create: current ? undefined : { metadata: { name }, spec: { signerName: SIGNER, trustBundle } },
    update: current && current.spec.trustBundle !== trustBundle ? { ...current, spec: { ...current.spec, trustBundle } } : undefined,
    remove: stored.filter(each => each !== current),
  }
}

export const bundleName = (trustBundle: string): string =>
  `${SIGNER.replaceAll('/', ':')}:${createHash('sha256').update(trustBundle).digest('hex').slice(0, 24)}`

/** The authorities in a text, each once; a certificate of the server itself is none, and cannot be in a bundle. */
export function trustAnchors(text: string): string {
  const anchors = pemBlocks(text).blocks.flatMap(({ label, bytes }) => (label === 'CERTIFICATE' && isAuthority(bytes) ? [bytes] : []))
  return [...new Set(anchors.map(bytes => encodePem('CERTIFICATE', bytes)))].join('')
}

function isAuthority(bytes: Buffer): boolean {
  try {
    return readCertificate(bytes).isAuthority
  } catch (error) {
    if (error instanceof DerError) return false
    throw error
  }
}
