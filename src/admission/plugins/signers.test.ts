import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { openBench } from '../../../test/kits/registry.ts'
import { certificateRequest } from '../../../test/kits/x509.ts'
import { CertificateSigningRequest } from '../../kinds/certificates/certificatesigningrequest.ts'
import { ClusterTrustBundle } from '../../kinds/certificates/clustertrustbundle.ts'
import { waitFor } from '../../lib/step.ts'
import { issueAuthority } from '../../lib/x509/issue.ts'
import { certificateSubjectRestriction } from './certificate-subject-restriction.ts'
import { certificateApproval, certificateSigning, clusterTrustBundleAttest } from './signers.ts'

const key = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const pem = (der: Buffer) => `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`
const request = (name: string, signerName: string, organizations: readonly string[] = []) => ({
  metadata: { name },
  spec: {
    request: Buffer.from(pem(certificateRequest(key, { organizations }))).toString('base64'),
    signerName,
    usages: ['client auth'],
  },
})

async function open(...may: string[]) {
  const parts = {
    groupDomain: 'k8s.io',
    may: (_: unknown, { verb, resource }: { verb: string; resource?: { group: string; plural: string; name: string } }) =>
      waitFor(may.includes(`${verb} ${resource!.plural}.${resource!.group} ${resource!.name}`)),
  }
  const plugins = [
    certificateApproval(parts),
    certificateSigning(parts),
    clusterTrustBundleAttest(parts),
    certificateSubjectRestriction('k8s.io'),
  ]
  const bench = await openBench([CertificateSigningRequest, ClusterTrustBundle], { plugins })
  const send = async (...args: Parameters<typeof bench.send>) => {
    const { code, body } = await bench.send(...args)
    return code < 300 ? code : `${code} ${body.message}`
  }
  return { send, close: bench.close }
}
const condition = (type: string) => ({ status: { conditions: [{ type, status: 'True', reason: 'x', message: 'y' }] } })
const REFUSED = '403 certificatesigningrequests.certificates.k8s.io "r" is forbidden: user not permitted to'

test('approving a request needs permission for the signer, or for its whole domain', async () => {
  for (const granted of [
    [],
    ['approve signers.certificates.k8s.io example.com/x'],
    ['approve signers.certificates.k8s.io example.com/*'],
  ]) {
    const { send, close } = await open(...granted)
    assert.equal(await send('POST certificatesigningrequests', request('r', 'example.com/x')), 201)
    assert.equal(
      await send('PATCH certificatesigningrequests/r/approval', condition('Approved')),
      granted.length > 0 ? 200 : `${REFUSED} approve requests with signerName "example.com/x"`,
    )
    await close()
  }
})

test('writing the status of a request needs the verb sign, unless nothing changes', async () => {
  const { send, close } = await open()
  assert.equal(await send('POST certificatesigningrequests', request('r', 'example.com/x')), 201)
  const refused = `${REFUSED} sign requests with signerName "example.com/x"`
  assert.equal(await send('PATCH certificatesigningrequests/r/status', condition('Failed')), refused)
  assert.equal(await send('PATCH certificatesigningrequests/r/status', { metadata: { labels: { a: 'b' } } }), 200)
  await close()
  const signer = await open('sign signers.certificates.k8s.io example.com/x')
  await signer.send('POST certificatesigningrequests', request('r', 'example.com/x'))
  assert.equal(await signer.send('PATCH certificatesigningrequests/r/status', condition('Failed')), 200)
  await signer.close()
})

test('trust bundles of a signer need the verb attest; those without a signer do not', async () => {
  const validity = { notBefore: new Date('2026-01-01'), notAfter: new Date('2027-01-01') }
  const trustBundle = issueAuthority('ca', validity).cert
  const bundle = (name: string, signerName?: string) => ({ metadata: { name }, spec: { trustBundle, ...(signerName && { signerName }) } })
  const { send, close } = await open('attest signers.certificates.k8s.io good.com/x')
  assert.equal(await send('POST clustertrustbundles', bundle('plain')), 201)
  assert.equal(await send('POST clustertrustbundles', bundle('good.com:x:a', 'good.com/x')), 201)
  assert.equal(
    await send('POST clustertrustbundles', bundle('evil.com:x:a', 'evil.com/x')),
    '403 clustertrustbundles.certificates.k8s.io "evil.com:x:a" is forbidden: user not permitted to attest for signerName "evil.com/x"',
  )
  await close()
})

test('requests for client certificates of system:masters are rejected', async () => {
  const { send, close } = await open()
  const client = 'kubernetes.io/kube-apiserver-client'
  assert.equal(await send('POST certificatesigningrequests', request('a', client, ['devs'])), 201)
  assert.equal(
    await send('POST certificatesigningrequests', request('b', client, ['devs', 'system:masters'])),
    `403 certificatesigningrequests.certificates.k8s.io "b" is forbidden: use of ${client} signer with system:masters group is not allowed`,
  )
  assert.equal(await send('POST certificatesigningrequests', request('c', 'example.com/x', ['system:masters'])), 201)
  await close()
})
