import assert from 'node:assert/strict'
import test from 'node:test'
import type { Release } from '../schema/lifecycle.ts'
import { resourcesOf } from '../schema/resource.ts'
import { type ServingSettings, servedKinds } from './served-kinds.ts'

const settings = (runtimeConfig: string, emulated: Release = '1.37', others: Partial<ServingSettings> = {}): ServingSettings => ({
  groupDomain: 'k8s.io',
  api: 'all',
  runtimeConfig,
  releases: { emulated, oldest: '1.36' },
  gate: () => true,
  emulationForwardCompatible: false,
  runtimeConfigEmulationForwardCompatible: false,
  ...others,
})

/** The served versions of a resource. */
async function versionsOf(plural: string, given: ServingSettings): Promise<string[]> {
  const { served } = await servedKinds(given)
  return served.filter(({ def }) => def.names.plural === plural).map(({ def }) => def.version)
}

test('a release serves the versions that were introduced and not yet removed in it', async () => {
  const all = (release: Release) => settings('api/all=true', release)
  assert.deepEqual(await versionsOf('clustertrustbundles', all('1.37')), ['v1', 'v1beta1'])
  assert.deepEqual(await versionsOf('clustertrustbundles', all('1.36')), ['v1beta1', 'v1alpha1'])
  assert.deepEqual(await versionsOf('servicecidrs', all('1.37')), ['v1'])
  assert.deepEqual(await versionsOf('servicecidrs', all('1.36')), ['v1', 'v1beta1'])
  assert.deepEqual(await versionsOf('mutatingadmissionpolicies', all('1.35')), ['v1beta1', 'v1alpha1'])
})

test('newer versions are served to those who ask for them and may', async () => {
  const forward = { emulationForwardCompatible: true }
  assert.deepEqual(await versionsOf('devicetaintrules', settings('resource.k8s.io/v1beta2=true', '1.36', forward)), ['v1', 'v1beta2'])
  const named = { runtimeConfigEmulationForwardCompatible: true }
  assert.deepEqual(await versionsOf('devicetaintrules', settings('resource.k8s.io/v1=true', '1.36', named)), ['v1'])
  const advice = 'Consider setting --runtime-config-emulation-forward-compatible=true'
  await assert.rejects(servedKinds(settings('resource.k8s.io/v1/devicetaintrules=true', '1.36')), {
    message: `cannot enable resource resource.k8s.io/v1, Resource=devicetaintrules in runtime-config because it is introduced at 1.37 after the current version 1.36. ${advice}`,
  })
  await assert.rejects(servedKinds(settings('storagemigration.k8s.io/v1=true', '1.36')), {
    message: `cannot enable version storagemigration.k8s.io/v1 in runtime-config because all the resources have been introduced after the current version 1.36. ${advice}`,
  })
})

test('a kind without its gate is not served, and still known to the server', async () => {
  const { served, unserved } = await servedKinds(settings('', '1.37', { gate: name => name !== 'ClusterTrustBundle' }))
  const isBundle = ({ def }: { def: { kind: string } }) => def.kind === 'ClusterTrustBundle'
  assert.deepEqual([served.some(isBundle), unserved.some(isBundle)], [false, true])
})

test('records name the first version that the oldest release can read', async () => {
  const stored = async (plural: string, oldest: Release) => {
    const { served } = await servedKinds(settings('', '1.37'))
    const found = resourcesOf(served, 'k8s.io', { emulated: '1.37', oldest }).find(each => each.plural === plural)!
    return found.def.storedAs?.version ?? found.version
  }
  assert.equal(await stored('mutatingadmissionpolicies', '1.36'), 'v1')
  assert.equal(await stored('mutatingadmissionpolicies', '1.35'), 'v1beta1')
  // Fixed, whatever the release.
  assert.equal(await stored('clustertrustbundles', '1.37'), 'v1beta1')
})
