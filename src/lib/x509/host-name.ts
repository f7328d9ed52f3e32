/** Verifies a certificate's host name: alternative names decide, as in Go's VerifyHostname, never the common name. */
import { isIP } from 'node:net'
import { formatIP, type IPAddress, parseIPSloppy, sameIP } from '../ip.ts'
import { addressOf } from './alternative-names.ts'
import type { Certificate } from './certificate.ts'
import { ATTRIBUTE } from './distinguished-name.ts'

/** Names and addresses of a certificate that a message lists. */
const MAX_LISTED = 100

/** Why a certificate is not valid for a host, a name or an address; undefined when it is. */
export function hostProblem(certificate: Certificate, host: string): string | undefined {
  const address = addressIn(host)
  if (address) return certificate.addresses.some(own => sameIP(addressOf(own), address)) ? undefined : mismatch(certificate, host, address)
  const name = lowerCase(host)
  const isHost = isHostName(withoutDot(name))
  const labels = withoutDot(name).split('.')
  const isFor = (own: string) => (isHost && isHostName(own, { isPattern: true }) ? matches(own, labels) : matchesExactly(own, name))
  return certificate.dnsNames.some(isFor) ? undefined : mismatch(certificate, host, undefined)
}

/** The address of a host, also in brackets or with a zone. */
function addressIn(host: string): IPAddress | undefined {
  const plain = host.replace(/^\[(.+)\]$/, '$1')
  return isIP(plain) === 0 ? undefined : parseIPSloppy(plain.replace(/%.*$/, ''))
}

function mismatch(certificate: Certificate, host: string, address: IPAddress | undefined): string {
  const { dnsNames, addresses, alternativeNames, subjectName } = certificate
  const commonName = subjectName.get(ATTRIBUTE.commonName)?.at(-1) ?? ''
  if (alternativeNames === undefined && matches(commonName, withoutDot(lowerCase(host)).split('.')))
    return 'x509: certificate relies on legacy Common Name field, use SANs instead'
  const shown = host.replace(/^\[(.+)\]$/, '$1')
  if (address && addresses.length === 0) return `x509: cannot validate certificate for ${shown} because it doesn't contain any IP SANs`
  if (address && addresses.length >= MAX_LISTED)
    return `x509: certificate is valid for ${addresses.length} IP SANs, but none matched ${shown}`
  if (!address && dnsNames.length >= MAX_LISTED) return `x509: certificate is valid for ${dnsNames.length} names, but none matched ${shown}`
  const valid = (address ? addresses.map(own => formatIP(addressOf(own))) : dnsNames).join(', ')
  return valid === ''
    ? `x509: certificate is not valid for any names, but wanted to match ${shown}`
    : `x509: certificate is valid for ${valid}, not ${shown}`
}

/** Only the whole first label may be a wildcard, and it stands for one label. */
function matches(pattern: string, labels: readonly string[]): boolean {
  if (pattern === '') return false
  const own = lowerCase(pattern).split('.')
  return own.length === labels.length && own.every((label, i) => (i === 0 && label === '*') || label === labels[i])
}

function matchesExactly(own: string, name: string): boolean {
  const isName = (text: string) => text !== '' && text !== '.'
  return isName(own) && isName(name) && lowerCase(own) === name
}

/** Underscores are not valid in host names, but common. */
function isHostName(name: string, { isPattern = false } = {}): boolean {
  const isLabel = (label: string, i: number) => (isPattern && i === 0 && label === '*') || /^[A-Za-z0-9_][A-Za-z0-9_-]*$/.test(label)
  return name !== '*' && name.split('.').every(isLabel)
}

const withoutDot = (name: string) => name.replace(/\.$/, '')
/** Lower-cases ASCII only: other letters would become another name. */
const lowerCase = (text: string) => text.replace(/[A-Z]+/g, letters => letters.toLowerCase())
