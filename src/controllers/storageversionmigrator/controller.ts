/**
 * Writes the stored objects of a resource again, so that all of them are stored in the version of today. Nothing is remembered
 * beside the migration itself: migrated objects have a newer revision than the one that it started from, so that after a restart
 * only the others are left.
 */
import { StorageVersionMigration } from '../../kinds/storagemigration/storageversionmigration.ts'
import { defineController, watch } from '../controller.ts'
import { MigrationOrder } from './migration-order.ts'
import { MigrationRunner } from './migration-runner.ts'
import type { GroupResource } from './reconcile.ts'
import { StatusWriter } from './status-writer.ts'

const NAME = 'storage-version-migrator-controller'
/** Keys of resources, whose migrations run one after the other, and of migrations. */
const [RESOURCE, MIGRATE] = ['resource/', 'migrate/']
const resourceKey = ({ group, resource }: GroupResource): string => `${RESOURCE}${group}/${resource}`

export const storageVersionMigrator = defineController({
  name: NAME,
  identity: NAME,
  workers: 5,
  create(context) {
    const client = context.client.as({ ...context.client.identity, manager: NAME })
    const statuses = new StatusWriter(client)
    const order = new MigrationOrder(client, statuses)
    const runner = new MigrationRunner({ client, statuses, signal: context.signal })
    return {
      watches: [
        watch(StorageVersionMigration, ({ current }) => {
          const resource = current.object?.spec.resource
          return resource ? [resourceKey(resource), `${MIGRATE}${current.name}`] : []
        }),
      ],
      async reconcile(key) {
        if (key.startsWith(MIGRATE)) return runner.advance(key.slice(MIGRATE.length))
        const [group = '', resource = ''] = key.slice(RESOURCE.length).split('/')
        return order.advance({ group, resource })
      },
    }
  },
})
