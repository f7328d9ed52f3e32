/** Removes servers that are gone from StorageVersions, and StorageVersions without servers. */
import { namedBy } from '../../client/change.ts'
import { isServerLease, SERVER_LEASES } from '../../client/server-leases.ts'
import { StorageVersion } from '../../kinds/apiserverinternal/storageversion.ts'
import { Lease } from '../../kinds/coordination/lease.ts'
import { defineController, watch } from '../controller.ts'
import { withoutServers } from './reconcile.ts'

export const storageVersionCollector = defineController({
  name: 'storageversion-garbage-collector-controller',
  identity: 'storage-version-garbage-collector',
  create({ client }) {
    const [versions, leases] = [client.of(StorageVersion), client.of(Lease)]
    const isGone = (server: string) => {
      const lease = leases.revision({ namespace: SERVER_LEASES, name: server })
      return !lease || !isServerLease(lease)
    }
    return {
      watches: [
        watch(StorageVersion, ({ current, type }) => (type === 'deleted' ? undefined : current.name)),
        watch(Lease, ({ current, type }) =>
          type === 'deleted' && isServerLease(current) ? [...versions.revisions()].map(({ name }) => name) : undefined,
        ),
      ],
      async reconcile(key) {
        const version = versions.get(namedBy(key))
        const status = version && withoutServers(version, isGone, client.now)
        if (status === 'nobody') await versions.delete(version!)
        else if (status) await versions.updateStatus({ ...version!, status })
      },
    }
  },
})
