// Credentials of service accounts end with the account, the pod and the time that they were made for.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { stubRequest } from '../../src/lib/x509/certificate-request.ts'
import { ask, eventually, patient, type Scope, startInProcess } from '../kit.ts'
import { keelsonHere } from '../kits/command-here.ts'

const NAMESPACE = '/api/v1/namespaces/default'
const ACCOUNTS = `${NAMESPACE}/serviceaccounts`
const REQUESTS = '/apis/certificates.k8s.io/v1/namespaces/default/podcertificaterequests'

async function open(t: Scope) {
  const server = await startInProcess(t, { nodes: 1 })
  const create = async (path: string, body: object): Promise<any> => {
    const { status, json, text } = await ask(server, path, { method: 'POST', body })
    assert.equal(status, 201, text)
    return json
  }
  const remove = (path: string) => ask(server, `${path}?gracePeriodSeconds=0`, { method: 'DELETE' })
  const node = await eventually('a node', async () => {
    const { json } = await ask(server, '/api/v1/nodes/simulated-1')
    return json.spec?.podCIDRs ? json : undefined
  })
  const createPod = (name: string) =>
    create(`${NAMESPACE}/pods`, {
      metadata: { name },
      spec: { nodeName: 'simulated-1', serviceAccountName: 'robot', containers: [{ name: 'c', image: 'web:1' }] },
    })
  /** A certificate that the server issues to a pod. */
  const certify = async (pod: any, account: any) => {
    const pair = generateKeyPairSync('ed25519')
    const { metadata } = await create(REQUESTS, {
      metadata: { generateName: 'mine-' },
      spec: {
        signerName: 'kubernetes.io/kube-apiserver-client-pod',
        podName: pod.metadata.name,
        podUID: pod.metadata.uid,
        serviceAccountName: 'robot',
        serviceAccountUID: account.metadata.uid,
        nodeName: 'simulated-1',
        nodeUID: node.metadata.uid,
        stubPKCS10Request: stubRequest(pair).toString('base64'),
      },
    })
    const cert = await eventually('the certificate', async () => {
      const { status } = (await ask(server, `${REQUESTS}/${metadata.name}`)).json
      return status?.certificateChain as string | undefined
    })
    const key = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    return async () => {
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
      const { status, json } = await ask(server, '/apis/authentication.k8s.io/v1/selfsubjectreviews', { method: 'POST', body, cert, key })
      return status === 201 ? json.status.userInfo : status
    }
  }
  return { server, create, remove, createPod, certify }
}

test('the certificate of a pod does not serve an account that has its name by now', patient, async t => {
  const { create, remove, createPod, certify } = await open(t)
  const account = await create(ACCOUNTS, { metadata: { name: 'robot' } })
  const whoAmI = await certify(await createPod('web'), account)
  const { username, uid } = await whoAmI()
  assert.deepEqual([username, uid], ['system:serviceaccount:default:robot', account.metadata.uid])
  await remove(`${ACCOUNTS}/robot`)
  // At 6256f0f1 it went on to serve, also the account that was created after.
  assert.equal(await whoAmI(), 401)
  await create(ACCOUNTS, { metadata: { name: 'robot' } })
  assert.equal(await whoAmI(), 401)
})

test('the certificate of a pod ends with the pod, also when another has its name', patient, async t => {
  const { create, remove, createPod, certify } = await open(t)
  const account = await create(ACCOUNTS, { metadata: { name: 'robot' } })
  const whoAmI = await certify(await createPod('web'), account)
  assert.equal((await whoAmI()).username, 'system:serviceaccount:default:robot')
  await remove(`${NAMESPACE}/pods/web`)
  // At 6256f0f1 it served for up to a day.
  assert.equal(await whoAmI(), 401)
  const pod = await createPod('web')
  const next = await certify(pod, account)
  assert.equal(await whoAmI(), 401)
  const { username, extra } = await next()
  assert.equal(username, 'system:serviceaccount:default:robot')
  assert.deepEqual(extra['authentication.kubernetes.io/pod-name'], ['web'])
  assert.deepEqual(extra['authentication.kubernetes.io/pod-uid'], [pod.metadata.uid])
})

test('no token holds longer than the server allows', patient, async t => {
  const server = await startInProcess(t, { serviceAccountMaxTokenExpirationMs: 2 * 3600_000 })
  const request = async (expirationSeconds: number) => {
    const body = { spec: { expirationSeconds } }
    const { json, headers } = await ask(server, `${ACCOUNTS}/default/token`, { method: 'POST', body })
    const claims = JSON.parse(Buffer.from(json.status.token.split('.')[1], 'base64url').toString())
    return { spec: json.spec.expirationSeconds, seconds: claims.exp - claims.iat, warning: headers['warning'] }
  }
  await eventually('the account', async () => ((await ask(server, `${ACCOUNTS}/default`)).status === 200 ? true : undefined))
  assert.deepEqual(await request(3600), { spec: 3600, seconds: 3600, warning: undefined })
  // At 6256f0f1 there was no such flag, and this was a token for 136 years.
  const warning = '299 - "requested expiration of 4294967296 seconds shortened to 7200 seconds"'
  assert.deepEqual(await request(2 ** 32), { spec: 7200, seconds: 7200, warning })
})

test('only tokens that a pod may reload hold longer than they were requested for, and none if that is turned off', patient, async t => {
  for (const [options, seconds] of [
    [{}, 365 * 24 * 3600],
    [{ serviceAccountMaxTokenExpirationMs: 24 * 3600_000 }, 365 * 24 * 3600],
    [{ serviceAccountMaxTokenExpirationMs: 3600_000 }, 3600],
    [{ serviceAccountExtendTokenExpiration: false }, 3607],
  ] as const) {
    const server = await startInProcess(t, options)
    await eventually('the account', async () => ((await ask(server, `${ACCOUNTS}/default`)).status === 200 ? true : undefined))
    const pod = { metadata: { name: 'web' }, spec: { containers: [{ name: 'c', image: 'web:1' }] } }
    assert.equal((await ask(server, `${NAMESPACE}/pods`, { method: 'POST', body: pod })).status, 201)
    const body = { spec: { expirationSeconds: 3607, boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'web' } } }
    const { json } = await ask(server, `${ACCOUNTS}/default/token`, { method: 'POST', body })
    const claims = JSON.parse(Buffer.from(json.status.token.split('.')[1], 'base64url').toString())
    assert.equal(claims.exp - claims.iat, seconds, JSON.stringify(options))
    await server.close()
  }
})

test('the longest validity is between an hour and 2^32 seconds', patient, async () => {
  for (const value of ['59m59s', '4294967297s']) {
    const { code, stderr } = await keelsonHere('serve', '--store', 'memory', '--service-account-max-token-expiration', value)
    assert.notEqual(code, 0)
    assert.match(stderr, /the service-account-max-token-expiration must be between 1 hour and 2\^32 seconds/)
  }
})
