/**
 * A snapshot of all stored records over HTTP, for `keelson snapshot save`. It holds every Secret, so it requires a permission of its own,
 * to `get` this nonResourceURL. It is made as fast as the client reads; one that stops reading is dropped.
 */
import type { EndpointRule } from '../../http/endpoints.ts'
import { LIMITS } from '../../lib/limits.ts'
import { methodNotAllowed, notImplemented, tooManyRequests } from '../../schema/status-error.ts'
import type { Holds } from '../../storage/holds.ts'
import { VERSION } from '../../version.ts'
import { type RecordSource, snapshotOf } from '../data/save-snapshot.ts'

export const SNAPSHOT_PATH = '/keelson/v1/store/snapshot'

export type SnapshotEndpointParts = {
  readonly source: RecordSource
  readonly holds: Holds
  /** Whether the records are in etcd, which makes snapshots itself. */
  readonly isInEtcd: boolean
  readonly now: () => Date
}

export function snapshotEndpoint({ source, holds, isInEtcd, now }: SnapshotEndpointParts): EndpointRule {
  // Counted from the request on: the revision of a snapshot is held only when it begins, and others may have come by then.
  let saving = 0
  return {
    path: SNAPSHOT_PATH,
    hidden: true,
    describe: async () => (await import('./own-api.ts')).SERVER_API,
    answer({ method }) {
      if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed()
      if (isInEtcd) throw notImplemented(IN_ETCD)
      if (saving >= LIMITS.snapshotsAtOnce) throw tooManyRequests(`${saving} snapshots are being saved already`, RETRY_SECONDS)
      saving++
      const pieces = snapshotOf({ source, now, writtenBy: `keelson ${VERSION}`, hold: revision => holds.hold(revision) })
      return {
        status: 200,
        headers: { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment; filename="keelson.snapshot"' },
        body: { type: 'pieces', length: undefined, pieces },
        taken: () => saving--,
      }
    },
  }
}

const RETRY_SECONDS = 5
const IN_ETCD =
  'the data of this server is in etcd: save it with etcdctl snapshot save FILE; keelson migrate copies it to a data directory, which can be saved with this command'
