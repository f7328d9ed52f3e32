import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { StorageVersion } from '../../kinds/apiserverinternal/storageversion.ts'
import { withoutServers } from './reconcile.ts'

const NOW = new Date('2026-01-01T00:00:00Z')
const server = (apiServerID: string, encodingVersion: string) => ({ apiServerID, encodingVersion, decodableVersions: [encodingVersion] })
const version = (status: object) => withDefaults(StorageVersion, { metadata: { name: 'apps.deployments' }, status })

test('servers that are gone are removed, and the versions of the others compared', () => {
  const both = version({ storageVersions: [server('a', 'apps/v1'), server('b', 'apps/v1beta1')] })
  assert.equal(
    withoutServers(both, () => false, NOW),
    undefined,
  )
  assert.equal(
    withoutServers(both, () => true, NOW),
    'nobody',
  )
  assert.deepEqual(
    withoutServers(both, name => name === 'b', NOW),
    {
      storageVersions: [server('a', 'apps/v1')],
      commonEncodingVersion: 'apps/v1',
      conditions: [
        {
          type: 'AllEncodingVersionsEqual',
          status: 'True',
          observedGeneration: 0,
          lastTransitionTime: '2026-01-01T00:00:00Z',
          reason: 'CommonEncodingVersionSet',
          message: 'Common encoding version set',
        },
      ],
    },
  )
})
