/** Rules for endpoint addresses: some types of addresses are invalid there. */
import { type IPAddress, isLinkLocalMulticast, isLinkLocalUnicast, isLoopback, isUnspecified, parseIPSloppy } from '../../lib/ip.ts'
import { type FieldError, invalid, type Ref } from '../../schema/refs.ts'

const SPECIAL: readonly (readonly [test: (ip: IPAddress) => boolean, message: string])[] = [
  [isLoopback, 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  [isLinkLocalUnicast, 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
  [isLinkLocalMulticast, 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
]

/** Whether a string is an ordinary IPv4 address, which has no errors; there can be tens of thousands. */
export const isOrdinaryIPv4 = (text: string): boolean => ORDINARY.test(text)
const ORDINARY = /^(?:[1-9]\d?|1[01]\d|12[0-689]|1[3-5]\d|16[0-8]|1[7-9]\d|2[01]\d|22[0-3])(?:\.(?:0|[1-9]\d?|1\d\d|2[0-4]\d|25[0-5])){3}$/

export function* validateEndpointIP(text: string, at: Ref<string>): Iterable<FieldError> {
  const ip = parseIPSloppy(text)
  if (!ip) return yield invalid(at, 'must be a valid IP address')
  if (isUnspecified(ip)) yield invalid(at, `may not be unspecified (${text})`)
  for (const [test, message] of SPECIAL) if (test(ip)) yield invalid(at, message)
}
