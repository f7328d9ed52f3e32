// Coordinated leader election: the server chooses the holder of a lease among candidates.
import assert from 'node:assert/strict'
import test from 'node:test'
import { ask, eventually, patient, serverOfFile } from './kit.ts'

const server = serverOfFile({
  controllers: ['none'],
  nodes: 0,
  store: 'memory',
  runtimeConfig: 'coordination.k8s.io/v1beta1=true',
  featureGates: 'CoordinatedLeaderElection=true',
})
const CANDIDATES = '/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates'
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/default/leases/work'
const micro = () => new Date().toISOString().replace('Z', '000Z')

const offer = (name: string, emulationVersion: string) =>
  ask(server, CANDIDATES, {
    method: 'POST',
    body: {
      apiVersion: 'coordination.k8s.io/v1beta1',
      kind: 'LeaseCandidate',
      metadata: { name },
      spec: { leaseName: 'work', binaryVersion: '1.37.0', emulationVersion, strategy: 'OldestEmulationVersion', renewTime: micro() },
    },
  })

/** Candidates answer when they are asked. */
async function answer(): Promise<void> {
  for (const { metadata, spec } of (await ask(server, CANDIDATES)).json.items)
    if (spec.pingTime && spec.renewTime < spec.pingTime)
      await ask(server, `${CANDIDATES}/${metadata.name}`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/merge-patch+json' },
        body: { spec: { renewTime: micro() } },
      })
}

test('a candidate gets the lease, and a better one is preferred', patient, async () => {
  assert.equal((await offer('first', '1.37.0')).status, 201)
  const held = await eventually('the lease is held', async () => {
    await answer()
    const { status, json } = await ask(server, LEASE)
    return status === 200 ? json.spec : undefined
  })
  assert.deepEqual([held.holderIdentity, held.strategy, held.leaseDurationSeconds], ['first', 'OldestEmulationVersion', 5])

  // The holder renews for long, so that only a better candidate is a reason for another election.
  const patched = await ask(server, LEASE, {
    method: 'PATCH',
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { spec: { renewTime: micro(), leaseDurationSeconds: 3600 } },
  })
  assert.equal(patched.status, 200)
  assert.equal((await offer('older', '1.36.0')).status, 201)
  await eventually('the older one is preferred', async () => {
    await answer()
    const { json } = await ask(server, LEASE)
    return json.spec.preferredHolder === 'older' ? true : undefined
  })
  assert.equal((await ask(server, LEASE)).json.spec.holderIdentity, 'first')
})
