/** Writes the conditions of migrations, and of the definitions whose objects are migrated. */
import type { Client, ResourceClient } from '../../client/client.ts'
import { CustomResourceDefinition } from '../../kinds/apiextensions/customresourcedefinition.ts'
import { StorageVersionMigration } from '../../kinds/storagemigration/storageversionmigration.ts'
import { timestampOf } from '../../lib/time.ts'
import { type DefinitionStep, type GroupResource, type Migration, type Statement, withConditions } from './reconcile.ts'

/** The field manager of the status of definitions. */
const RUNNER = 'migration-runner-controller'

export class StatusWriter {
  readonly #client: Client
  readonly #migrations: ResourceClient<StorageVersionMigration>
  readonly #definitions: ResourceClient<CustomResourceDefinition>

  constructor(client: Client) {
    this.#client = client
    this.#migrations = client.of(StorageVersionMigration)
    this.#definitions = client.of(CustomResourceDefinition)
  }

  /** Sets conditions and other fields of the status of a migration. False when the migration is gone. */
  async setConditions(migration: Migration, statements: readonly Statement[], fields: Partial<Migration['status']> = {}): Promise<boolean> {
    const status = withConditions({ ...migration.status, ...fields }, statements, this.#client.now)
    if (!status && Object.keys(fields).length === 0) return true
    return (await this.#migrations.updateStatus({ ...migration, status: status ?? { ...migration.status, ...fields } })) !== undefined
  }

  /** The definition of a resource; undefined for built-in ones. */
  definitionOf({ group, resource }: GroupResource): CustomResourceDefinition | undefined {
    return this.#definitions.get({ name: `${resource}.${group}` })
  }

  /** Writes to the status of a definition that its objects are migrated, on the condition that it is as it was read. */
  async setMigrating({ metadata }: CustomResourceDefinition, { condition, storedVersions }: DefinitionStep): Promise<void> {
    const { name, resourceVersion, generation } = metadata
    const lastTransitionTime = timestampOf(this.#client.now)
    const migrating = { type: 'StorageMigrating', ...condition, lastTransitionTime, observedGeneration: generation }
    const status = { conditions: [migrating], ...(storedVersions && { storedVersions: [...storedVersions] }) }
    await this.#definitions.apply({ metadata: { name, resourceVersion }, status }, { manager: RUNNER, subresource: 'status' })
  }
}
