/** Runs one migration: waits until its resource is served, writes all outdated objects again, and reports its progress and result. */
import type { Client, ResourceClient } from '../../client/client.ts'
import type { CustomResourceDefinition } from '../../kinds/apiextensions/customresourcedefinition.ts'
import { StorageVersionMigration } from '../../kinds/storagemigration/storageversionmigration.ts'
import { messageOf } from '../../lib/error-message.ts'
import { LIMITS } from '../../lib/limits.ts'
import { millisecondsAt } from '../../lib/time.ts'
import type { Resource } from '../../schema/resource.ts'
import { type MigrateResult, migrateAll } from './migrate-all.ts'
import { outdatedObjects } from './outdated-objects.ts'
import {
  failed,
  failedAfter,
  type GroupResource,
  isOver,
  isRunning,
  type Migration,
  obstacleOf,
  outcomeOf,
  running,
  SUCCEEDED,
} from './reconcile.ts'
import type { StatusWriter } from './status-writer.ts'

/** A resource may be defined shortly after its migration. */
const MAY_APPEAR_MS = 60_000
const LOOK_AGAIN_MS = 1000

export type MigrationRunnerParts = { readonly client: Client; readonly statuses: StatusWriter; readonly signal: AbortSignal }

export class MigrationRunner {
  readonly #parts: MigrationRunnerParts
  readonly #migrations: ResourceClient<StorageVersionMigration>

  constructor(parts: MigrationRunnerParts) {
    this.#parts = parts
    this.#migrations = parts.client.of(StorageVersionMigration)
  }

  /** Continues a migration that may run. Resolves to the milliseconds until it has to be tried again. */
  async advance(name: string): Promise<number | undefined> {
    const { client, statuses } = this.#parts
    const migration = this.#migrations.get({ name })
    if (!migration || !isRunning(migration) || isOver(migration)) return undefined
    const resource = this.#resourceOf(migration.spec.resource)
    if (!resource) {
      const age = client.now.getTime() - millisecondsAt(migration.metadata.creationTimestamp)
      if (age < MAY_APPEAR_MS) return LOOK_AGAIN_MS
      await statuses.setConditions(migration, [failed('resource does not exist in discovery')])
      return undefined
    }
    // A definition that has just been changed is not in force before its objects are read by it.
    const definition = statuses.definitionOf(migration.spec.resource)
    if (definition && resource.def.custom && !isInForce(definition, resource)) return LOOK_AGAIN_MS
    const obstacle = obstacleOf(resource)
    if (obstacle !== undefined) await statuses.setConditions(migration, [failed(obstacle)])
    else if (!migration.status.resourceVersion) await statuses.setConditions(migration, [], { resourceVersion: String(client.revision) })
    else await this.#migrate(migration, resource)
    return undefined
  }

  #resourceOf({ group, resource }: GroupResource): Resource | undefined {
    for (const each of this.#parts.client.resources()) if (each.group === group && each.plural === resource) return each
    return undefined
  }

  async #migrate(migration: Migration, resource: Resource): Promise<void> {
    const { client, statuses, signal } = this.#parts
    const objects = client.of(resource)
    const since = Number(migration.status.resourceVersion)
    const result = await migrateAll({
      candidates: () => outdatedObjects(objects, since),
      write: ({ revision, ...named }) => objects.patch(named, { metadata: { resourceVersion: String(revision) } }),
      outcomeOf,
      limits: LIMITS.migration,
      signal,
      report: async progress => {
        const current = this.#current(migration)
        return current !== undefined && (await statuses.setConditions(current, [running(progress)]))
      },
    })
    const current = this.#current(migration)
    if (current) await this.#conclude(current, result)
  }

  /** The migration as it is now; undefined when it is gone or over. */
  #current({ metadata: { name = '', uid } }: Migration): Migration | undefined {
    const found = this.#migrations.get({ name })
    return found && found.metadata.uid === uid && !isOver(found) ? found : undefined
  }

  /** Writes the result into the conditions. Throws an error after which the migration is to be continued. */
  async #conclude(migration: Migration, result: MigrateResult): Promise<void> {
    const { statuses } = this.#parts
    switch (result.type) {
      case 'stopped':
        return
      case 'done':
        await statuses.setConditions(migration, [running(result.progress), SUCCEEDED])
        return
      case 'again':
        await statuses.setConditions(migration, [running(result.progress, messageOf(result.error))])
        throw result.error
      case 'failed':
        await statuses.setConditions(migration, [running(result.progress), failedAfter(result.progress, messageOf(result.error))])
        return
    }
  }
}

/** Whether objects are stored in the version that the definition names. */
const isInForce = ({ spec }: CustomResourceDefinition, { version }: Resource): boolean =>
  spec.versions?.find(({ storage }) => storage)?.name === version
