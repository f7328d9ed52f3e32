/** Publishes in StorageVersions in which version this server writes the records of each resource, and which versions it reads. */
import type { Client } from '../../client/client.ts'
import { serverIdentity } from '../../client/identity.ts'
import { type Controller, defineController } from '../../controllers/controller.ts'
import { withServers } from '../../controllers/storageversiongc/reconcile.ts'
import { StorageVersion } from '../../kinds/apiserverinternal/storageversion.ts'
import { deepEqual } from '../../lib/json-value.ts'
import type { Catalog } from '../../registry/catalog.ts'

type ServerVersion = NonNullable<StorageVersion['status']['storageVersions']>[number]

/** `server` is the name of the Lease by which others know this server. */
export const storageVersionPublisher = (catalog: Catalog, server: string): Controller =>
  defineController({
    name: 'storage-version-updater',
    identity: serverIdentity(),
    create({ client, enqueue }) {
      const all = versionsOf(catalog, server)
      for (const name of all.keys()) enqueue(name)
      return {
        // The stored objects have to be known before one is written.
        watches: [{ start: (by, _, signal) => by.of(StorageVersion).watch(() => {}, signal) }],
        reconcile: name => publish(client, name, all.get(name)!),
      }
    },
  })

async function publish(client: Client, name: string, version: ServerVersion): Promise<void> {
  const versions = client.of(StorageVersion)
  const stored = versions.get({ name }) ?? (await versions.create({ metadata: { name }, spec: {} }))?.object
  if (!stored) return
  const before = stored.status.storageVersions ?? []
  const known = before.find(({ apiServerID }) => apiServerID === version.apiServerID)
  if (known && deepEqual(known, version)) return
  const servers = known ? before.map(each => (each === known ? version : each)) : [...before, version]
  await versions.updateStatus({ ...stored, status: withServers(stored, servers, client.now) })
}

/** The versions by the names of StorageVersions, which have the group first. */
function versionsOf(catalog: Catalog, apiServerID: string): ReadonlyMap<string, ServerVersion> {
  const found = new Map<string, ServerVersion>()
  for (const { group, version, plural, def } of catalog.storedResources()) {
    if (def.custom || def.virtual) continue
    const stored = { group, version, ...def.storedAs }
    const encodingVersion = stored.group === '' ? stored.version : `${stored.group}/${stored.version}`
    const servedVersions = [...catalog].flatMap(each => (each.group === group && each.plural === plural ? [each.apiVersion] : []))
    const decodableVersions = [...new Set([...servedVersions, encodingVersion])]
    found.set(`${group === '' ? 'core' : group}.${plural}`, { apiServerID, encodingVersion, decodableVersions, servedVersions })
  }
  return found
}
