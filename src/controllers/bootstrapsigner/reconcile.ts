/** The signatures of the ConfigMap cluster-info, one for each bootstrap token, so that joining nodes can verify it. */
import { createHmac } from 'node:crypto'
import type { Secret } from '../../kinds/core/secret.ts'
import { TOKEN_PREFIX, TOKEN_TYPE, tokenExpiry, tokenValue } from '../../lib/bootstrap-token.ts'

type Token = Secret

const CONTENT = 'kubeconfig'
const SIGNATURE = 'jws-kubeconfig-'

/** The data with the signatures that it should have; undefined when it has them, or there is nothing to sign. */
export function signedData(
  data: Readonly<Record<string, string>>,
  tokens: Iterable<Token>,
  now: number,
): Record<string, string> | undefined {
  if (!Object.hasOwn(data, CONTENT)) return undefined
  const signatures = new Map<string, string>()
  for (const token of tokens) {
    const signer = signerOf(token, now)
    if (signer) signatures.set(SIGNATURE + signer.id, signature(data[CONTENT]!, signer))
  }
  const stored = Object.keys(data).filter(key => key.startsWith(SIGNATURE))
  if (stored.length === signatures.size && stored.every(key => signatures.get(key) === data[key])) return undefined
  const kept = Object.entries(data).filter(([key]) => !key.startsWith(SIGNATURE))
  return Object.fromEntries([...kept, ...signatures])
}

/** When the first of the tokens that sign now ends. */
export function firstExpiry(tokens: Iterable<Token>, now: number): number | undefined {
  const ends = Array.from(tokens, token => (signerOf(token, now) && tokenExpiry(token.data)) || Number.POSITIVE_INFINITY)
  const first = Math.min(...ends)
  return Number.isFinite(first) ? first : undefined
}

type Signer = { readonly id: string; readonly secret: string }

/** Whether a token may sign: its name is valid, it is meant for signing, and it has not expired. */
function signerOf({ metadata, type, data }: Token, now: number): Signer | undefined {
  const [id, secret] = [tokenValue(data, 'token-id'), tokenValue(data, 'token-secret')]
  const isNamed = /^[a-z0-9]{6}$/.test(id) && metadata.name === TOKEN_PREFIX + id
  if (type !== TOKEN_TYPE || !isNamed || secret === '' || tokenValue(data, 'usage-bootstrap-signing') !== 'true') return undefined
  return (tokenExpiry(data) ?? Number.POSITIVE_INFINITY) > now ? { id, secret } : undefined
}

/** A JSON Web Signature without its content, as RFC 7515 has it in appendix F. */
export function signature(content: string, { id, secret }: Signer): string {
  const header = Buffer.from(JSON.stringify({ alg: 'HS256', kid: id })).toString('base64url')
  const signed = `${header}.${Buffer.from(content).toString('base64url')}`
  return `${header}..${createHmac('sha256', secret).update(signed).digest('base64url')}`
}
