// Service account tokens that an external signer signs.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import test from 'node:test'
import type { StartOptions } from '../src/index.ts'
import { ask, patient, startInProcess, type Target, temporaryDirectory } from './kit.ts'
import { TokenSigner } from './kits/token-signer.ts'

const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts'
const options = (path: string): StartOptions => ({
  controllers: ['none'],
  nodes: 0,
  store: 'memory',
  serviceAccountSigningEndpoint: path,
})

const request = (server: Target, expirationSeconds = 3600) =>
  ask(server, `${ACCOUNTS}/robot/token`, {
    method: 'POST',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds } },
  })

const review = async (server: Target, token: string) => {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } }
  return (await ask(server, '/apis/authentication.k8s.io/v1/tokenreviews', { method: 'POST', body })).json.status
}

test('tokens are signed and verified with the keys of the signer, which may change', patient, async t => {
  const signer = await TokenSigner.start(join(temporaryDirectory(t), 'signer.sock'))
  t.after(() => signer.stop())
  const server = await startInProcess(t, options(signer.path))
  await ask(server, ACCOUNTS, { method: 'POST', body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot' } } })
  const first = (await request(server)).json.status.token
  assert.equal((await review(server, first)).user.username, 'system:serviceaccount:default:robot')
  assert.deepEqual(
    (await ask(server, '/openid/v1/jwks')).json.keys.map(({ kid }: any) => kid),
    ['first'],
  )

  const long = await request(server, 100_000)
  const { exp, iat } = JSON.parse(Buffer.from(long.json.status.token.split('.')[1], 'base64url').toString())
  assert.equal(exp - iat, 7200, 'no token lives longer than the signer permits')

  // A key that is not known yet is fetched; one that is gone no longer verifies.
  signer.addKey('second')
  const second = (await request(server)).json.status.token
  assert.equal((await review(server, second)).authenticated, true)
  signer.keys.shift()
  signer.addKey('third')
  assert.equal((await review(server, (await request(server)).json.status.token)).authenticated, true)
  assert.equal((await review(server, first)).authenticated, undefined)

  signer.keys.at(-1)!.isExcluded = true
  signer.addKey('fourth').isExcluded = true
  signer.type = 'jwt'
  const refused = await request(server)
  assert.equal(refused.status, 500)
})

test('a signer that is of no use ends the start', patient, async t => {
  const signer = await TokenSigner.start(join(temporaryDirectory(t), 'signer.sock'))
  t.after(() => signer.stop())
  signer.mostSeconds = 60
  await assert.rejects(
    startInProcess(t, options(signer.path)),
    /max token life supported by external-jwt-signer \(60s\) is less than acceptable \(min 600s\)/,
  )
  await assert.rejects(
    startInProcess(t, { ...options(signer.path), serviceAccountSigningKeyFile: 'x.pem' }),
    /can't set `serviceAccountSigningKeyFile` and\/or `serviceAccountKeyFiles` with `serviceAccountSigningEndpoint`/,
  )
})
