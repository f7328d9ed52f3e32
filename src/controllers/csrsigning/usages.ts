/** Maps the usages of keys in requests to the extensions of certificates. */
import type { KeyUsage } from '../../lib/x509/write-certificate.ts'

const KEY_USAGES: Readonly<Record<string, KeyUsage>> = {
  signing: 'digitalSignature',
  'digital signature': 'digitalSignature',
  'content commitment': 'contentCommitment',
  'key encipherment': 'keyEncipherment',
  'key agreement': 'keyAgreement',
  'data encipherment': 'dataEncipherment',
  'cert sign': 'certSign',
  'crl sign': 'crlSign',
  'encipher only': 'encipherOnly',
  'decipher only': 'decipherOnly',
}

export const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2'

/** In the order in which Go writes them. */
const PURPOSES: Readonly<Record<string, string>> = {
  any: '2.5.29.37.0',
  'server auth': '1.3.6.1.5.5.7.3.1',
  'client auth': CLIENT_AUTH,
  'code signing': '1.3.6.1.5.5.7.3.3',
  'email protection': '1.3.6.1.5.5.7.3.4',
  's/mime': '1.3.6.1.5.5.7.3.4',
  'ipsec end system': '1.3.6.1.5.5.7.3.5',
  'ipsec tunnel': '1.3.6.1.5.5.7.3.6',
  'ipsec user': '1.3.6.1.5.5.7.3.7',
  timestamping: '1.3.6.1.5.5.7.3.8',
  'ocsp signing': '1.3.6.1.5.5.7.3.9',
  'microsoft sgc': '1.3.6.1.4.1.311.10.3.3',
  'netscape sgc': '2.16.840.1.113730.4.1',
}

/** The extensions of a certificate for some usages. */
export function usagesOf(usages: readonly string[]): { readonly keyUsages: readonly KeyUsage[]; readonly purposes: readonly string[] } {
  const named = (table: Readonly<Record<string, string>>) =>
    Object.entries(table).flatMap(([usage, value]) => (usages.includes(usage) ? [value] : []))
  return { keyUsages: [...new Set(named(KEY_USAGES))] as KeyUsage[], purposes: [...new Set(named(PURPOSES))] }
}
