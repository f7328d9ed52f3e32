/** OpenID Connect discovery: the issuer and the keys with which others verify this server's tokens. */
import { keySet, type VerificationKey } from '../../authn/verification-keys.ts'
import type { EndpointRule } from '../endpoints.ts'
import { bytesResponse, type Response } from '../message.ts'

export type OpenId = {
  readonly issuer: string
  readonly keys: readonly VerificationKey[]
  /** HOST:PORT at which clients reach the server. */
  readonly address: () => string
}

const KEYS = '/openid/v1/jwks'
const MAX_AGE_SECONDS = 3600

/** The two documents of OpenID Connect Discovery; none when the issuer is not an https URL. */
export function openIdEndpoints({ issuer, keys, address }: OpenId): EndpointRule[] {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined
  if (url?.protocol !== 'https:' || url.search !== '' || url.hash !== '') return []
  const configuration = () => ({
    issuer,
    jwks_uri: `https://${address()}${KEYS}`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [...new Set(keys.map(({ algorithm }) => algorithm))].sort(),
  })
  return [
    { path: '/.well-known/openid-configuration', strict: true, answer: () => document('application/json', configuration()) },
    { path: KEYS, strict: true, answer: () => document('application/jwk-set+json', keySet(keys)) },
  ]
}

function document(mediaType: string, content: object): Response {
  const response = bytesResponse(200, mediaType, Buffer.from(JSON.stringify(content)))
  return { ...response, headers: { ...response.headers, 'cache-control': `public, max-age=${MAX_AGE_SECONDS}` } }
}
