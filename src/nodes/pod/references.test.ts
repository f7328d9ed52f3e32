import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import type { PodSpec } from '../../kinds/rules/pod/spec.ts'
import { type Lookup, missingForContainer, missingForVolumes, type VolumeSources } from './references.ts'
import { type ClaimReader, claimProblem } from './volume-claims.ts'

const THERE: Readonly<Record<string, string[]>> = { 'configmaps map': ['a'], 'secrets secret': ['k'] }
const lookup: Lookup = (plural, name) => THERE[`${plural} ${name}`] && new Set(THERE[`${plural} ${name}`])
const boundClaim = { metadata: {}, spec: { volumeName: 'v' }, status: { phase: 'Bound' } }
const reader = (claims: Record<string, object>, isAttached = true): ClaimReader => ({
  namespace: 'ns',
  node: 'n',
  claim: name => claims[name] as never,
  volume: () => ({ metadata: {}, spec: { csi: { driver: 'd', volumeHandle: 'h' } }, status: {} }) as never,
  isAttached: () => isAttached,
})
const sources: VolumeSources = {
  lookup,
  claimProblem: (volume, claim) => claimProblem(volume, claim, reader({ claim: boundClaim })),
  hasBundle: ({ name, signerName }) => name === 'bundle' || signerName === 'example.com/s',
  certificateProblem: (volume, index) => (volume === 'good' ? undefined : `no certificate ${volume} ${index}`),
}
const volumes = (...list: object[]) =>
  [...missingForVolumes({ volumes: list } as unknown as PodSpec, 'p', sources)].map(({ message }) => message)
const environment = (container: object) => missingForContainer(container as Container, 'ns', lookup)?.message

test('volumes need their config maps, secrets and claims, with their keys', () => {
  assert.deepEqual(
    volumes({ name: 'v', configMap: { name: 'map' } }, { name: 'w', secret: { secretName: 'secret', items: [{ key: 'k' }] } }),
    [],
  )
  assert.deepEqual(volumes({ name: 'v', persistentVolumeClaim: { claimName: 'claim' } }, { name: 'e', emptyDir: {} }), [])
  assert.deepEqual(volumes({ name: 'v', configMap: { name: 'none' } }), [
    'MountVolume.SetUp failed for volume "v" : configmap "none" not found',
  ])
  assert.deepEqual(volumes({ name: 'v', secret: { secretName: 'secret', items: [{ key: 'x' }] } }), [
    'MountVolume.SetUp failed for volume "v" : references non-existent secret key: x',
  ])
  assert.deepEqual(volumes({ name: 'v', projected: { sources: [{ secret: { name: 'none' } }, { configMap: { name: 'map' } }] } }), [
    'MountVolume.SetUp failed for volume "v" : secret "none" not found',
  ])
  assert.deepEqual(volumes({ name: 'v', ephemeral: {} }), ['persistentvolumeclaim "p-v" not found'])
  assert.deepEqual(volumes({ name: 'v', configMap: { name: 'none', optional: true } }), [])
})

test('projected volumes need their trust bundles and certificates, and say at once all that is missing', () => {
  const projected = (name: string, ...list: object[]) => volumes({ name, projected: { sources: list } })
  assert.deepEqual(projected('good', { podCertificate: {} }, { clusterTrustBundle: { name: 'bundle' } }), [])
  assert.deepEqual(projected('v', { clusterTrustBundle: { signerName: 'example.com/s' } }), [])
  assert.deepEqual(projected('v', { clusterTrustBundle: { name: 'x', optional: true } }), [])
  assert.deepEqual(projected('v', { clusterTrustBundle: { name: 'x' } }), [
    'MountVolume.SetUp failed for volume "v" : while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "x" not found',
  ])
  assert.deepEqual(projected('v', { secret: { name: 'none' } }, { podCertificate: {} }, { clusterTrustBundle: { signerName: 'a.b/c' } }), [
    'MountVolume.SetUp failed for volume "v" : [secret "none" not found, no certificate v 1, combination of signerName and labelSelector matched zero ClusterTrustBundles]',
  ])
})

test('the environment of a container needs what it names, unless that is optional', () => {
  const from = (valueFrom: object) => ({ env: [{ name: 'X', valueFrom }] })
  assert.equal(environment({}), undefined)
  assert.equal(environment(from({ configMapKeyRef: { name: 'map', key: 'a' } })), undefined)
  assert.equal(environment(from({ configMapKeyRef: { name: 'map', key: 'b' } })), "couldn't find key b in ConfigMap ns/map")
  assert.equal(environment(from({ secretKeyRef: { name: 'none', key: 'k' } })), 'secret "none" not found')
  assert.equal(environment(from({ secretKeyRef: { name: 'none', key: 'k', optional: true } })), undefined)
  assert.equal(environment({ envFrom: [{ configMapRef: { name: 'none' } }] }), 'configmap "none" not found')
  assert.equal(environment({ envFrom: [{ secretRef: { name: 'none', optional: true } }] }), undefined)
})

test('a claim is mounted once it is bound and its volume attached; waiting for the driver causes no event', () => {
  assert.equal(claimProblem('v', 'claim', reader({ claim: boundClaim })), undefined)
  const unbound = claimProblem('v', 'claim', reader({ claim: { ...boundClaim, status: { phase: 'Pending' } } }))
  assert.equal(
    unbound?.message,
    'Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[v], failed to process volumes=[v]: error processing PVC ns/claim: PVC is not bound',
  )
  const waits = claimProblem('v', 'claim', reader({ claim: boundClaim }, false))
  assert.deepEqual([waits?.message, waits?.objects[0]?.plural], ['', 'volumeattachments'])
})
