/**
 * Writes the stored objects of a resource again, so that all of them are stored in the version of today. Nothing is remembered
 * beside the migration itself: migrated objects have a newer revision than the one that it started from, so that after a restart
 * only the others are left.
 */
import type { ResourceClient } from '../../client/client.ts'
import type { Identity } from '../../client/identity.ts'
import { CustomResourceDefinition } from '../../kinds/apiextensions/customresourcedefinition.ts'
import { StorageVersionMigration } from '../../kinds/storagemigration/storageversionmigration.ts'
import { LIMITS } from '../../lib/limits.ts'
import { millisecondsAt, timestampOf } from '../../lib/time.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import { type ControllerContext, defineController, watch } from '../controller.ts'
import { type Candidates, migrateAll } from './migrate-all.ts'
import {
  type DefinitionStep,
  endOfMigration,
  failed,
  failedAfter,
  finished,
  type GroupResource,
  hasSucceeded,
  isOver,
  isRunning,
  type Migration,
  nextMigrations,
  obstacleOf,
  outcomeOf,
  running,
  type Statement,
  SUCCEEDED,
  startOfMigration,
  withConditions,
} from './reconcile.ts'

const NAME = 'storage-version-migrator-controller'
/** The field manager of the status of definitions. */
const RUNNER = 'migration-runner-controller'
const [RESOURCE, MIGRATE] = ['resource/', 'migrate/']
const resourceKey = ({ group, resource }: GroupResource): string => `${RESOURCE}${group}/${resource}`

/** A resource may be defined shortly after its migration. */
const MAY_APPEAR_MS = 60_000
const LOOK_AGAIN_MS = 1000

type Definition = CustomResourceDefinition

export const storageVersionMigrator = defineController({
  name: NAME,
  identity: NAME,
  workers: 5,
  create({ client: as, signal }: ControllerContext) {
    const identity: Identity = { ...as.identity, manager: NAME }
    const client = as.as(identity)
    const [migrations, definitions] = [client.of(StorageVersionMigration), client.of(CustomResourceDefinition)]

    // Which migration runs

    async function startAndFinish(group: string, resource: string): Promise<void> {
      const all = [...migrations.list()].filter(({ spec }) => spec.resource.group === group && spec.resource.resource === resource)
      const { finish, start } = nextMigrations(all)
      for (const migration of finish) {
        const definition = definitionOf(migration.spec.resource)
        if (definition) await tell(definition, endOfMigration(definition, hasSucceeded(migration)))
        await say(migration, [finished(migration.metadata.generation)])
      }
      // A condition that is already set is not set again.
      if (!start || start.status.conditions?.some(({ type }) => type === 'Running')) return
      const definition = definitionOf(start.spec.resource)
      if (definition) await tell(definition, startOfMigration(start.metadata.name ?? ''))
      await say(start, [running()])
    }

    const definitionOf = ({ group, resource }: GroupResource): Definition | undefined => definitions.get({ name: `${resource}.${group}` })

    /** Only while the definition is as it was read. */
    async function tell({ metadata }: Definition, { condition, storedVersions }: DefinitionStep): Promise<void> {
      const { name, resourceVersion, generation } = metadata
      const lastTransitionTime = timestampOf(client.now)
      const stated = { type: 'StorageMigrating', ...condition, lastTransitionTime, observedGeneration: generation }
      const status = { conditions: [stated], ...(storedVersions && { storedVersions: [...storedVersions] }) }
      await definitions.apply({ metadata: { name, resourceVersion }, status }, { manager: RUNNER, subresource: 'status' })
    }

    async function say(migration: Migration, statements: readonly Statement[], more: Partial<Migration['status']> = {}): Promise<boolean> {
      const now = client.now
      const status = withConditions({ ...migration.status, ...more }, statements, now)
      if (!status && Object.keys(more).length === 0) return true
      return (await migrations.updateStatus({ ...migration, status: status ?? { ...migration.status, ...more } })) !== undefined
    }

    // Migrations

    async function advance(name: string): Promise<number | undefined> {
      const migration = migrations.get({ name })
      if (!migration || !isRunning(migration) || isOver(migration)) return undefined
      const resource = resourceOf(migration.spec.resource)
      if (!resource) {
        const age = client.now.getTime() - millisecondsAt(migration.metadata.creationTimestamp)
        if (age < MAY_APPEAR_MS) return LOOK_AGAIN_MS
        await say(migration, [failed('resource does not exist in discovery')])
        return undefined
      }
      // A definition that has just been changed is not in force before its objects are read by it.
      const definition = definitionOf(migration.spec.resource)
      if (definition && resource.def.custom && !isInForce(definition, resource)) return LOOK_AGAIN_MS
      const obstacle = obstacleOf(resource)
      if (obstacle !== undefined) {
        await say(migration, [failed(obstacle)])
        return undefined
      }
      if (!migration.status.resourceVersion) await say(migration, [], { resourceVersion: String(client.revision) })
      else await migrate(migration, resource)
      return undefined
    }

    function resourceOf({ group, resource }: GroupResource): Resource | undefined {
      for (const each of client.resources()) if (each.group === group && each.plural === resource) return each
      return undefined
    }

    async function migrate(migration: Migration, resource: Resource): Promise<void> {
      const { name = '', uid } = migration.metadata
      const objects = client.of(resource)
      const since = Number(migration.status.resourceVersion)
      const current = () => {
        const found = migrations.get({ name })
        return found && found.metadata.uid === uid && !isOver(found) ? found : undefined
      }
      const result = await migrateAll({
        candidates: () => outdated(objects, since),
        write: ({ revision, ...named }) => objects.patch(named, { metadata: { resourceVersion: String(revision) } }),
        outcomeOf,
        limits: LIMITS.migration,
        signal,
        async report(progress) {
          const found = current()
          return found !== undefined && (await say(found, [running(progress)]))
        },
      })
      const found = current()
      if (result.type === 'stopped' || !found) return
      const { progress } = result
      switch (result.type) {
        case 'done':
          await say(found, [running(progress), SUCCEEDED])
          return
        case 'again':
          await say(found, [running(progress, messageOf(result.error))])
          throw result.error
        case 'failed':
          await say(found, [running(progress), failedAfter(progress, messageOf(result.error))])
          return
      }
    }

    return {
      watches: [
        watch(StorageVersionMigration, ({ current }) => {
          const resource = current.object?.spec.resource
          return resource ? [resourceKey(resource), `${MIGRATE}${current.name}`] : []
        }),
      ],
      async reconcile(key) {
        if (key.startsWith(MIGRATE)) return advance(key.slice(MIGRATE.length))
        const [group = '', resource = ''] = key.slice(RESOURCE.length).split('/')
        await startAndFinish(group, resource)
        return undefined
      },
    }
  },
})

const isInForce = ({ spec }: Definition, { version }: Resource): boolean => spec.versions?.find(({ storage }) => storage)?.name === version

/** The objects that have not been written since, and any that are known to be stored otherwise than they would be today. */
function outdated(objects: ResourceClient<AnyObject>, since: number): Candidates<Written> {
  const { apiVersion, def } = objects.resource
  const left: Written[] = []
  let total = 0
  for (const each of objects.revisions()) {
    total++
    // Only of a custom kind the cache may have objects in another version than the stored one.
    const isOther = each.stale || (def.custom !== undefined && each.object !== undefined && each.object.apiVersion !== apiVersion)
    const { namespace, name, revision } = each
    if (revision <= since || isOther) left.push({ namespace, name, revision, isOther })
  }
  return { total, left }
}
type Written = { readonly namespace: string; readonly name: string; readonly revision: number; readonly isOther: boolean }

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
