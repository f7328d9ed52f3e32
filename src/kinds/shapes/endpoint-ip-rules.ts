/** The rules on addresses at which something can be reached: some kinds of address make no sense there. */
import { type IPAddress, isLinkLocalMulticast, isLinkLocalUnicast, isLoopback, isUnspecified, parseIPSloppy } from '../../lib/ip.ts'
import { type FieldError, invalid, type Ref } from '../../schema/refs.ts'

const SPECIAL: readonly (readonly [test: (ip: IPAddress) => boolean, message: string])[] = [
  [isLoopback, 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  [isLinkLocalUnicast, 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
  [isLinkLocalMulticast, 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
]

export function* validateEndpointIP(text: string, at: Ref<string>): Iterable<FieldError> {
  const ip = parseIPSloppy(text)
  if (!ip) return yield invalid(at, 'must be a valid IP address')
  if (isUnspecified(ip)) yield invalid(at, `may not be unspecified (${text})`)
  for (const [test, message] of SPECIAL) if (test(ip)) yield invalid(at, message)
}
