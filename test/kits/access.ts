// Servers for tests of access control: webhooks that answer reviews, and OpenID providers.
import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { issueAuthority, issueClient, issueServer } from '../../src/lib/x509/issue.ts'
import { type Scope, temporaryDirectory } from '../kit.ts'
import type { Issued } from './webhooks.ts'

export const validity = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 3_600_000) }

/**
 * A webhook over HTTPS that requires a client certificate. It records the reviews it receives; `decide` returns their status, which may be
 * null, or a code to fail with.
 */
export async function reviewWebhook(t: Scope, decide: (spec: any) => object | number | null, issued?: Issued) {
  const authority = issueAuthority('reviews', validity)
  const server = issued ?? { ca: authority.cert, ...issueServer(authority, 'reviews', { names: ['127.0.0.1'], ...validity }) }
  const client = issueClient(authority, { commonName: 'keelson' }, validity)
  const reviews: any[] = []
  const state = { decide }
  const webhook = createServer(
    { cert: server.cert, key: server.key, ca: authority.cert, requestCert: true, rejectUnauthorized: true },
    (request, response) => {
      let text = ''
      request.setEncoding('utf8')
      request.on('data', part => (text += part))
      request.on('end', () => {
        const review = JSON.parse(text)
        reviews.push(review)
        const status = state.decide(review.spec)
        response.statusCode = typeof status === 'number' ? status : 200
        response.end(typeof status === 'number' ? 'broken' : JSON.stringify({ ...review, status }))
      })
    },
  )
  await new Promise<void>(resolve => webhook.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    webhook.close()
    webhook.closeAllConnections()
  })
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const kubeconfig = join(temporaryDirectory(t), 'webhook.kubeconfig')
  writeFileSync(
    kubeconfig,
    `apiVersion: v1
kind: Config
current-context: webhook
contexts: [{ name: webhook, context: { cluster: webhook, user: server } }]
clusters:
- name: webhook
  cluster: { server: "https://127.0.0.1:${(webhook.address() as AddressInfo).port}/reviews", certificate-authority-data: ${base64(server.ca)} }
users:
- name: server
  user: { client-certificate-data: ${base64(client.cert)}, client-key-data: ${base64(client.key)} }
`,
  )
  return { kubeconfig, reviews, state }
}

/** An OpenID provider with one key; its discovery document is also served at `discovery`. */
export async function openProvider(t: Scope, { discovery = '', issued }: { discovery?: string; issued?: Issued } = {}) {
  const authority = issueAuthority('id', validity)
  const { ca, cert, key } = issued ?? { ca: authority.cert, ...issueServer(authority, 'id', { names: ['127.0.0.1'], ...validity }) }
  const signer = generateKeyPairSync('rsa', { modulusLength: 2048 })
  // Read again: to export a JWK of a key just generated may deadlock (`src/lib/x509/new-key.ts`).
  const publicKey = createPublicKey(signer.publicKey.export({ type: 'spki', format: 'pem' }))
  const provider = createServer({ cert, key }, (request, response) => {
    const keys = [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', use: 'sig' }]
    const found = discovery === '' || request.url !== '/.well-known/openid-configuration'
    response.statusCode = found ? 200 : 404
    response.end(JSON.stringify(request.url === '/keys' ? { keys } : { issuer, jwks_uri: `${issuer}/keys` }))
  })
  await new Promise<void>(resolve => provider.listen(0, '127.0.0.1', resolve))
  t.after(() => provider.close())
  const issuer = `https://127.0.0.1:${(provider.address() as AddressInfo).port}`
  const token = (claims: object) => {
    const input = [
      { alg: 'RS256', kid: 'k' },
      { iss: issuer, aud: 'keelson', sub: 'jane', exp: Math.floor(Date.now() / 1000) + 600, ...claims },
    ]
      .map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    return `${input}.${sign('sha256', Buffer.from(input), signer.privateKey).toString('base64url')}`
  }
  return { issuer, ca, token }
}
