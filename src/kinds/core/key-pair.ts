/** Whether a certificate and a private key in PEM belong together, in the words of Go's TLS library. */
import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'

/** What is wrong with a pair; undefined when a TLS server could use it. */
export function keyPairProblem(certificatePem: Buffer, keyPem: Buffer): string | undefined {
  const certificates = pemTypes(certificatePem)
  if (!certificates.includes('CERTIFICATE')) return missingCertificate(certificates)
  const keys = pemTypes(keyPem)
  if (!keys.some(isKeyType)) return missingKey(keys)
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(certificatePem)
  } catch {
    return 'x509: malformed certificate'
  }
  let key: KeyObject
  try {
    key = createPrivateKey(keyPem)
  } catch {
    return 'tls: failed to parse private key'
  }
  if (createPublicKey(key).asymmetricKeyType !== certificate.publicKey.asymmetricKeyType)
    return 'tls: private key type does not match public key type'
  return certificate.checkPrivateKey(key) ? undefined : 'tls: private key does not match public key'
}

const isKeyType = (type: string) => type === 'PRIVATE KEY' || type.endsWith(' PRIVATE KEY')

function pemTypes(pem: Buffer): string[] {
  return [...pem.toString('latin1').matchAll(/^-----BEGIN ([^\r\n]*?)-----[^-]*-----END \1-----/gm)].map(([, type]) => type!)
}

function missingCertificate(found: readonly string[]): string {
  if (found.length === 0) return 'tls: failed to find any PEM data in certificate input'
  if (found.length === 1 && found[0]!.endsWith('PRIVATE KEY'))
    return 'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched'
  return `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [${found.join(' ')}]`
}

function missingKey(found: readonly string[]): string {
  if (found.length === 0) return 'tls: failed to find any PEM data in key input'
  if (found.length === 1 && found[0] === 'CERTIFICATE') return 'tls: found a certificate rather than a key in the PEM for the private key'
  return `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: [${found.join(' ')}]`
}
