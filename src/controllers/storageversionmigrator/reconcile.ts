/** Decides about migrations: which of them runs, their conditions, and which objects they write again. */

import type { StorageVersionMigration } from '../../kinds/storagemigration/storageversionmigration.ts'
import { goQuote } from '../../lib/go-text.ts'
import { timestampOf } from '../../lib/time.ts'
import { conditionOf, isConditionTrue, isSameCondition, transitionTime, withCondition } from '../../schema/conditions.ts'
import { StatusError } from '../../schema/status-error.ts'

export type Migration = StorageVersionMigration
export type GroupResource = Migration['spec']['resource']
type Status = Migration['status']
type Condition = NonNullable<Status['conditions']>[number]

/** A condition as it is decided, before its times. */
export type Statement = {
  readonly type: 'Running' | 'Succeeded' | 'Failed'
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
  readonly observedGeneration?: number | bigint
}

const holds = ({ status }: Migration, type: Statement['type']): boolean => isConditionTrue(status.conditions, type)
export const isRunning = (migration: Migration): boolean => holds(migration, 'Running')
export const hasSucceeded = (migration: Migration): boolean => holds(migration, 'Succeeded')
export const isOver = (migration: Migration): boolean => hasSucceeded(migration) || holds(migration, 'Failed')

export type NextMigrations = {
  /** Those that have come to their end and still say that they run. */
  readonly finish: readonly Migration[]
  /** The next one, when no other runs: the oldest. */
  readonly start: Migration | undefined
}

/** Selects the migration of a resource that may run: one at a time. */
export function nextMigrations(migrations: Iterable<Migration>): NextMigrations {
  const finish: Migration[] = []
  let isAnyRunning = false
  let start: Migration | undefined
  for (const migration of migrations) {
    if (isRunning(migration)) {
      if (isOver(migration)) finish.push(migration)
      else isAnyRunning = true
    } else if (!isOver(migration) && (!start || precedes(migration, start))) start = migration
  }
  return { finish, start: isAnyRunning ? undefined : start }
}

function precedes({ metadata: a }: Migration, { metadata: b }: Migration): boolean {
  const [created, other] = [a.creationTimestamp ?? '', b.creationTimestamp ?? '']
  return created === other ? (a.name ?? '') < (b.name ?? '') : created < other
}

/** How far a migration is: objects that are left, of all there are. */
export type Progress = { readonly left: number; readonly total: number }

export const running = (progress?: Progress, error?: string): Statement => ({
  type: 'Running',
  status: 'True',
  reason: 'MigrationRunning',
  message: `The migration is running${counted(progress)}${error === undefined ? '' : `; transient error: ${error}`}`,
})

function counted(progress: Progress | undefined): string {
  if (!progress || progress.total === 0) return ''
  const { left, total } = progress
  return left > 0 ? `, ${left}/${total} objects not yet migrated` : `, ${total} objects verified migrated`
}

export const finished = (generation: number | bigint | undefined): Statement => ({
  type: 'Running',
  status: 'False',
  reason: 'MigrationCompleted',
  message: 'Migration completed',
  ...(generation !== undefined && { observedGeneration: generation }),
})

export const SUCCEEDED: Statement = {
  type: 'Succeeded',
  status: 'True',
  reason: 'StorageVersionMigrationSucceeded',
  message: 'Migration completed',
}

export const failed = (message: string): Statement => ({ type: 'Failed', status: 'True', reason: 'StorageVersionMigrationFailed', message })

export const failedAfter = ({ left, total }: Progress, error: string): Statement =>
  failed(`${left}/${total} not yet migrated. migration encountered unhandled error: ${error}`)

/** Why a resource that is served cannot be migrated; undefined when it can. */
export function obstacleOf(resource: {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly verbs: readonly string[]
}): string | undefined {
  const { group, version, plural, verbs } = resource
  if (NEEDED.every(verb => verbs.includes(verb))) return undefined
  const name = goQuote(`${group}/${version}, Resource=${plural}`)
  return `resource ${name} does not support discovery operations: [${NEEDED.join(' ')}]`
}
const NEEDED = ['update', 'patch', 'list']

/** The status with other conditions; undefined when they were like that. A condition keeps its time while its status stays. */
export function withConditions(status: Status, statements: readonly Statement[], now: Date): Status | undefined {
  let { conditions } = status
  for (const statement of statements) {
    const before = conditionOf(conditions, statement.type)
    const isObserved = Number(before?.observedGeneration ?? 0) === Number(statement.observedGeneration ?? 0)
    if (isSameCondition(before, statement) && isObserved) continue
    const lastTransitionTime = transitionTime(before, statement.status, timestampOf(now))
    conditions = withCondition(conditions, { ...statement, lastTransitionTime } as Condition)
  }
  return conditions === status.conditions ? undefined : ({ ...status, conditions } as Status)
}

/** The effect that the write of one object has on the migration. */
export type Outcome = 'migrated' | 'again' | 'failed'

/**
 * A conflict means that the object was written meanwhile, and so in the current version; a deleted one needs nothing.
 * Errors that may pass are retried; all others end the migration.
 */
export function outcomeOf(error: unknown): Outcome {
  if (!(error instanceof StatusError)) return 'again'
  if (error.reason === 'Conflict' || error.reason === 'NotFound') return 'migrated'
  return TRANSIENT.has(error.reason) || error.code >= 500 ? 'again' : 'failed'
}
const TRANSIENT: ReadonlySet<string> = new Set(['ServerTimeout', 'Timeout', 'TooManyRequests', 'ServiceUnavailable', 'InternalError'])

/** The change of the status of a definition whose objects are migrated. */
export type DefinitionStep = {
  readonly condition: { readonly status: 'True' | 'False'; readonly reason: string; readonly message: string }
  /** The only version that objects are stored in from now on. */
  readonly storedVersions?: readonly string[]
}

type Definition = {
  readonly metadata: { readonly generation?: number | bigint }
  readonly spec: { readonly versions?: readonly { readonly name: string; readonly storage?: boolean }[] }
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly observedGeneration?: number | bigint }[] | null }
}

export const startOfMigration = (name: string): DefinitionStep => ({
  condition: { status: 'True', reason: 'MigrationRunning', message: `Migration ${name} is running` },
})

/**
 * Older versions are forgotten only when the definition has not changed since the start: else objects may be stored in yet another. And
 * only when all objects were written, which kube-controller-manager does not ask for.
 */
export function endOfMigration({ metadata, spec, status }: Definition, isSuccess: boolean): DefinitionStep {
  if (!isSuccess) return { condition: { status: 'False', reason: 'MigrationFailed', message: 'The migration has failed' } }
  const begun = conditionOf(status.conditions, 'StorageMigrating')
  const isSame = begun !== undefined && Number(begun.observedGeneration ?? 0) === Number(metadata.generation ?? 0)
  const outcome = isSame
    ? 'and the stored versions have been updated'
    : 'but the stored versions have not been updated due to a generation mismatch'
  const condition = { status: 'False', reason: 'MigrationSucceeded', message: `The migration has succeeded ${outcome}` } as const
  const stored = spec.versions?.find(({ storage }) => storage)?.name
  return isSame && stored !== undefined ? { condition, storedVersions: [stored] } : { condition }
}
