/** Certificates and keys of clients, parsed once: to parse them for each connection costs more than the rest of it. */
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls'

/** More than one test uses; those of servers that have ended are forgotten. */
const MAX_KEPT = 100
const kept = new Map<string, SecureContext>()

/** Options that a parsed context must have been made with. */
const OTHERS = ['ciphers', 'ecdhCurve', 'maxVersion', 'minVersion', 'passphrase', 'pfx', 'secureOptions', 'secureProtocol', 'sigalgs']

/** Options of a TLS connection, with the context that Node would make of their certificates and key. */
export function withContext<T extends Pick<SecureContextOptions, 'ca' | 'cert' | 'key'>>(
  options: T,
): T & { secureContext?: SecureContext } {
  const { ca, cert, key } = options
  const texts = [ca, cert, key]
  if (!texts.every(text => text === undefined || typeof text === 'string') || OTHERS.some(name => name in options)) return options
  const name = texts.join('\n')
  const found = kept.get(name)
  if (found) return { ...options, secureContext: found }
  if (kept.size >= MAX_KEPT) kept.clear()
  const secureContext = createSecureContext({ ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) })
  kept.set(name, secureContext)
  return { ...options, secureContext }
}
