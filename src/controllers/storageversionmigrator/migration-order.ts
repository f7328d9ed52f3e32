/** Lets the migrations of a resource run one after the other, the oldest first. */
import type { Client, ResourceClient } from '../../client/client.ts'
import { StorageVersionMigration } from '../../kinds/storagemigration/storageversionmigration.ts'
import {
  endOfMigration,
  finished,
  type GroupResource,
  hasSucceeded,
  type Migration,
  nextMigrations,
  running,
  startOfMigration,
} from './reconcile.ts'
import type { StatusWriter } from './status-writer.ts'

export class MigrationOrder {
  readonly #migrations: ResourceClient<StorageVersionMigration>
  readonly #statuses: StatusWriter

  constructor(client: Client, statuses: StatusWriter) {
    this.#migrations = client.of(StorageVersionMigration)
    this.#statuses = statuses
  }

  /** Marks migrations of the resource that have ended as finished, and the next one as running. */
  async advance({ group, resource }: GroupResource): Promise<void> {
    const all = [...this.#migrations.list()].filter(({ spec }) => spec.resource.group === group && spec.resource.resource === resource)
    const { finish, start } = nextMigrations(all)
    for (const migration of finish) await this.#finish(migration)
    // A condition that is already set is not set again.
    if (start && !start.status.conditions?.some(({ type }) => type === 'Running')) await this.#start(start)
  }

  async #finish(migration: Migration): Promise<void> {
    const definition = this.#statuses.definitionOf(migration.spec.resource)
    if (definition) await this.#statuses.setMigrating(definition, endOfMigration(definition, hasSucceeded(migration)))
    await this.#statuses.setConditions(migration, [finished(migration.metadata.generation)])
  }

  async #start(migration: Migration): Promise<void> {
    const definition = this.#statuses.definitionOf(migration.spec.resource)
    if (definition) await this.#statuses.setMigrating(definition, startOfMigration(migration.metadata.name ?? ''))
    await this.#statuses.setConditions(migration, [running()])
  }
}
