// Tricks with requests for certificates: none makes an administrator, a node or another user of its requestor.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { ask, eventually, freshServer, patient } from '../kit.ts'
import { type Attack, NS, runAttacks, startArena } from '../kits/attacks.ts'
import { encodedRequest, type RequestOptions } from '../kits/x509.ts'

const GROUP = '/apis/certificates.k8s.io/v1'
const REQUESTS = `${GROUP}/certificatesigningrequests`
const CLIENT = 'kubernetes.io/kube-apiserver-client'
const KUBELET_CLIENT = 'kubernetes.io/kube-apiserver-client-kubelet'
const KUBELET_SERVING = 'kubernetes.io/kubelet-serving'
const USAGES = ['digital signature', 'key encipherment', 'client auth']
const SERVING = ['digital signature', 'key encipherment', 'server auth']
const MERGE = 'application/merge-patch+json'
const KIND = 'certificatesigningrequests.certificates.k8s.io'
const SIGNERS = 'signers.certificates.k8s.io'

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const other = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const csr = (options: RequestOptions, spec: object = {}, more: object = {}) => ({
  metadata: { name: `csr-${NS}` },
  spec: { request: encodedRequest(pair, options), signerName: CLIENT, usages: USAGES, ...spec },
  ...more,
})
const PATH = `${REQUESTS}/csr-${NS}`
const create = (body: object) => ({ mayAnywhere: [`create,get ${KIND}`], send: `POST ${REQUESTS}`, body })
const approved = { status: { conditions: [{ type: 'Approved', status: 'True', reason: 'Mine', message: 'm' }] } }
const given = [[REQUESTS, csr({})] as const]
const approve = { given, send: `PATCH ${PATH}/approval`, type: MERGE, body: approved, unchanged: [PATH] }
const sign = {
  given,
  send: `PATCH ${PATH}/status`,
  type: MERGE,
  body: { status: { conditions: [{ type: 'Failed', status: 'True', reason: 'Mine', message: 'm' }] } },
  unchanged: [PATH],
}
const garbled = (request: string) => Buffer.from(request, 'base64').toString()

const ROWS: readonly Attack[] = [
  {
    name: 'administrators are asked for',
    ...create(csr({ organizations: ['system:masters'] })),
    answer: 403,
    says: 'system:masters group is not allowed',
    absent: [PATH],
  },
  {
    name: 'administrators are asked for beside others',
    ...create(csr({ organizations: ['devs', 'system:masters'] })),
    answer: 403,
    says: 'system:masters group is not allowed',
    absent: [PATH],
  },
  {
    name: 'administrators are asked for in another alphabet',
    ...create(csr({ organizations: ['system:masters'], alphabet: 'bmp' })),
    answer: 403,
    says: 'system:masters group is not allowed',
    absent: [PATH],
  },
  {
    name: 'the older signer, which has no rules',
    ...create(csr({}, { signerName: 'kubernetes.io/legacy-unknown' })),
    answer: 422,
    absent: [PATH],
  },
  {
    name: 'the name of the requestor is forged',
    ...create(csr({}, { username: 'admin', groups: ['system:masters'], uid: 'u', extra: { a: ['b'] } })),
    answer: 201,
    says: '"username":"mallory-',
    hides: /"username":"admin"|system:masters/,
  },
  { name: 'it is created as approved', ...create(csr({}, {}, approved)), answer: 201, hides: /Approved/ },
  {
    name: 'it is created with a certificate',
    ...create(csr({}, {}, { status: { certificate: 'eA==' } })),
    answer: 201,
    hides: /"certificate"/,
  },
  { name: 'it is signed with another key', ...create(csr({ signer: other.privateKey })), answer: 422, absent: [PATH] },
  {
    name: 'it is no request at all',
    ...create(
      csr(
        {},
        { request: Buffer.from('-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n').toString('base64') },
      ),
    ),
    answer: 422,
    absent: [PATH],
  },
  {
    name: 'a second request follows the first',
    ...create(
      csr(
        {},
        {
          request: Buffer.from(
            garbled(encodedRequest(pair)) + garbled(encodedRequest(pair, { organizations: ['system:masters'] })),
          ).toString('base64'),
        },
      ),
    ),
    answer: [201, 403, 422],
    hides: /Approved/,
  },
  {
    name: 'the block has headers',
    ...create(csr({}, { request: Buffer.from(garbled(encodedRequest(pair)).replace('-----\n', '-----\nA: b\n\n')).toString('base64') })),
    answer: [201, 422],
  },
  { name: 'a signer without a domain', ...create(csr({}, { signerName: 'signer' })), answer: 422, absent: [PATH] },
  { name: 'usages that do not exist', ...create(csr({}, { usages: ['everything'] })), answer: 422, absent: [PATH] },
  { name: 'a validity of a second', ...create(csr({}, { expirationSeconds: 1 })), answer: 422, absent: [PATH] },
  {
    name: 'what was asked for is exchanged before it is approved',
    mayAnywhere: [`patch,get ${KIND}`],
    given,
    send: `PATCH ${PATH}`,
    type: MERGE,
    body: { spec: { request: encodedRequest(pair, { commonName: 'admin' }), username: 'admin', signerName: KUBELET_CLIENT } },
    answer: [200, 422],
    unchanged: [PATH],
  },
  {
    name: 'it is approved without a right on its signer',
    mayAnywhere: [`patch ${KIND}/approval`],
    ...approve,
    answer: 403,
    says: 'not permitted to approve',
  },
  {
    name: 'it is approved with the right on another signer',
    mayAnywhere: [`patch ${KIND}/approval`, `approve ${SIGNERS} ${KUBELET_CLIENT}`],
    ...approve,
    answer: 403,
    says: 'not permitted to approve',
  },
  {
    name: 'it is approved with the right on another domain',
    mayAnywhere: [`patch ${KIND}/approval`, `approve ${SIGNERS} example.com/*`],
    ...approve,
    answer: 403,
    says: 'not permitted to approve',
  },
  {
    name: 'it is approved with the right to sign',
    mayAnywhere: [`patch ${KIND}/approval`, `sign ${SIGNERS}`],
    ...approve,
    answer: 403,
    says: 'not permitted to approve',
  },
  {
    name: 'it is approved with the signer exchanged on the way',
    mayAnywhere: [`patch ${KIND}/approval`, `approve ${SIGNERS} example.com/mine`],
    ...approve,
    body: { spec: { signerName: 'example.com/mine' }, ...approved },
    answer: 403,
    says: 'not permitted to approve',
  },
  {
    name: 'it is signed with the right to approve',
    mayAnywhere: [`patch ${KIND}/status`, `approve ${SIGNERS}`],
    ...sign,
    answer: 403,
    says: 'not permitted to sign',
  },
  {
    name: 'it is signed with the signer exchanged on the way',
    mayAnywhere: [`patch ${KIND}/status`, `sign ${SIGNERS} example.com/mine`],
    ...sign,
    body: { ...sign.body, spec: { signerName: 'example.com/mine' } },
    answer: 403,
    says: 'not permitted to sign',
  },
  {
    name: 'it is signed with something that is no certificate',
    mayAnywhere: [`patch ${KIND}/status`, `sign ${SIGNERS}`],
    ...sign,
    body: { status: { certificate: Buffer.from('x').toString('base64') } },
    answer: 422,
  },
  {
    name: 'it is denied and approved at once',
    mayAnywhere: [`patch ${KIND}/approval`, `approve ${SIGNERS}`],
    ...approve,
    body: { status: { conditions: [...approved.status.conditions, { ...approved.status.conditions[0], type: 'Denied' }] } },
    answer: 422,
  },
  {
    name: 'a trust bundle of a signer without the right to attest',
    mayAnywhere: ['create clustertrustbundles.certificates.k8s.io'],
    send: 'POST /apis/certificates.k8s.io/v1beta1/clustertrustbundles',
    body: { metadata: { name: `example.com:mine:${NS}` }, spec: { signerName: 'example.com/mine', trustBundle: 'x' } },
    answer: [403, 404, 422],
  },
]

test('a request for a certificate gives its sender nothing by itself', patient, async t => {
  await runAttacks(t, await startArena(t, ROWS, { controllers: ['none'] }), ROWS)
})

type RequestDraft = {
  readonly name: string
  readonly signerName: string
  readonly usages: readonly string[]
  readonly options: RequestOptions
}
const node = { commonName: 'system:node:n1', organizations: ['system:nodes'] }
/** Requests that were approved by mistake: the signer still does not sign them. */
const UNSIGNED: readonly RequestDraft[] = [
  { name: 'server authentication from the signer of clients', signerName: CLIENT, usages: SERVING, options: {} },
  { name: 'any use from the signer of clients', signerName: CLIENT, usages: ['any', 'client auth'], options: {} },
  { name: 'signing of certificates from the signer of clients', signerName: CLIENT, usages: ['cert sign', 'client auth'], options: {} },
  {
    name: 'a kubelet that is also an administrator',
    signerName: KUBELET_CLIENT,
    usages: USAGES,
    options: { ...node, organizations: ['system:nodes', 'system:masters'] },
  },
  { name: 'a kubelet of no group', signerName: KUBELET_CLIENT, usages: USAGES, options: { ...node, organizations: [] } },
  { name: 'a kubelet with the name of a user', signerName: KUBELET_CLIENT, usages: USAGES, options: { ...node, commonName: 'admin' } },
  {
    name: 'a kubelet client with alternative names',
    signerName: KUBELET_CLIENT,
    usages: USAGES,
    options: { ...node, names: { dnsNames: ['kubernetes.default'] } },
  },
  { name: 'a kubelet client that serves', signerName: KUBELET_CLIENT, usages: SERVING, options: node },
  {
    name: 'a kubelet server that is a client',
    signerName: KUBELET_SERVING,
    usages: USAGES,
    options: { ...node, names: { dnsNames: ['n1'] } },
  },
  { name: 'a kubelet server without names', signerName: KUBELET_SERVING, usages: SERVING, options: node },
  {
    name: 'a kubelet server of another group',
    signerName: KUBELET_SERVING,
    usages: SERVING,
    options: { ...node, organizations: ['system:masters'], names: { dnsNames: ['n1'] } },
  },
]

test('a signer keeps its rules for requests that were approved', patient, async t => {
  const server = await freshServer(t, { controllers: ['*'] })
  for (const [i, { name, signerName, usages, options }] of UNSIGNED.entries())
    await t.test(name, async () => {
      const path = `${REQUESTS}/r${i}`
      const body = { metadata: { name: `r${i}` }, spec: { request: encodedRequest(pair, options), signerName, usages } }
      const created = await ask(server, REQUESTS, { method: 'POST', body })
      if (created.status === 422) return
      assert.equal(created.status, 201, created.text)
      await ask(server, `${path}/approval`, { method: 'PATCH', body: approved, headers: { 'content-type': MERGE } })
      const { certificate, conditions } = await eventually(`the end of ${name}`, async () => {
        const { status } = (await ask(server, path)).json
        return status.certificate || status.conditions?.some(({ type }: { type: string }) => type === 'Failed') ? status : undefined
      })
      assert.equal(certificate, undefined)
      assert.ok(conditions.some(({ type }: { type: string }) => type === 'Failed'))
    })
})
