/** Deletion of a definition: its objects are deleted, and after the last one its finalizer is removed. */

import type { Caches } from '../cache/caches.ts'
import type { Change } from '../client/change.ts'
import type { Client } from '../client/client.ts'
import { serverIdentity } from '../client/identity.ts'
import { type Controller, defineController, watch, watchAll } from '../controllers/controller.ts'
import { CustomResourceDefinition, cleanupFinalizer, setCondition } from '../kinds/apiextensions/customresourcedefinition.ts'
import { sleep } from '../lib/environment.ts'
import { copyJson } from '../lib/json-value.ts'
import type { Resource } from '../schema/resource.ts'
import { type CustomDefinition, findCondition, isTrue } from './definition.ts'

export type CleanupParts = {
  readonly caches: Caches
  /** How long creates that other servers have under way may take to arrive here. */
  readonly lateMs: number
  /** Where the objects of a definition are stored, while it is served. */
  readonly storedAs: (name: string) => Resource | undefined
  /** Whether the objects of a definition would be those of a built-in kind. */
  readonly isBuiltIn: (definition: CustomDefinition) => boolean
}

type Terminating = { readonly reason: string; readonly message: string; readonly status: 'True' | 'False' }

const IN_PROGRESS: Terminating = {
  status: 'True',
  reason: 'InstanceDeletionInProgress',
  message: 'CustomResource deletion is in progress',
}
const COMPLETED: Terminating = { status: 'False', reason: 'InstanceDeletionCompleted', message: 'removed all instances' }
const NEVER: Terminating = { status: 'False', reason: 'NeverEstablished', message: 'resource was never established' }
const OVERLAPPING: Terminating = {
  status: 'False',
  reason: 'OverlappingBuiltInResource',
  message: 'instances overlap with built-in resources in storage',
}
const REMAINING: Terminating = {
  status: 'True',
  reason: 'InstanceDeletionCheck',
  message: 'could not confirm zero CustomResources remaining: context deadline exceeded',
}

/** How long until a condition says that objects remain; then their deletion is tried again. */
const REPORT_AFTER_MS = 60_000

export const cleanupController = ({ caches, lateMs, storedAs, isBuiltIn }: CleanupParts): Controller =>
  defineController({
    name: 'crd_finalizer',
    identity: serverIdentity(),
    workers: 5,
    create({ client, enqueue, groupDomain }) {
      const definitions = client.of(CustomResourceDefinition)
      const finalizer = cleanupFinalizer(groupDomain)
      /** When the deletion of the objects began, by definition; and which definition the objects of a resource belong to. */
      const began = new Map<string, number>()
      const byPrefix = new Map<string, string>()
      const onDeleted = ({ prefix }: Resource, { type }: Change) => {
        const name = type === 'deleted' && byPrefix.size > 0 ? byPrefix.get(prefix) : undefined
        if (name !== undefined && countOf(storedAs(name)) === 0) enqueue(name)
      }
      const countOf = (stored: Resource | undefined) => (stored && caches.has(stored) ? caches.of(stored).count : 0)
      const forget = (name: string) => {
        began.delete(name)
        for (const [prefix, each] of byPrefix) if (each === name) byPrefix.delete(prefix)
      }
      return {
        watches: [
          watch(CustomResourceDefinition, ({ type, current }) => {
            if (type === 'deleted') forget(current.name)
            return type !== 'deleted' && current.terminating ? current.name : undefined
          }),
          watchAll({ changed: onDeleted, joined: () => {} }),
        ],
        async reconcile(name) {
          const definition = definitions.get({ name })
          if (!definition?.metadata.deletionTimestamp || !definition.metadata.finalizers?.includes(finalizer)) return undefined
          if (isBuiltIn(definition)) return finish(client, definition, finalizer, OVERLAPPING)
          if (!isTrue(definition.status, 'Established')) return finish(client, definition, finalizer, NEVER)
          const stored = storedAs(name)
          if (!stored) throw new Error('its objects cannot be deleted while it is not served')
          const since = began.get(name)
          if (since === undefined) {
            // From this write on no object is created: whatever was let in before is there to be found.
            await report(client, definition, IN_PROGRESS)
            began.set(name, client.now.getTime())
            byPrefix.set(stored.prefix, name)
            if (lateMs > 0) await sleep(lateMs)
            await deleteAll(client, definition, stored)
            return countOf(stored) === 0 ? 0 : REPORT_AFTER_MS
          }
          await caches.fresh()
          if (countOf(stored) === 0) return finish(client, definition, finalizer, COMPLETED)
          const left = since + REPORT_AFTER_MS - client.now.getTime()
          if (left > 0) return left
          await report(client, definition, REMAINING)
          await deleteAll(client, definition, stored)
          return REPORT_AFTER_MS
        },
      }
    },
  })

async function deleteAll(client: Client, { metadata }: CustomDefinition, stored: Resource): Promise<void> {
  try {
    await client.of(stored).deleteCollection()
  } catch (error) {
    const definition = client.of(CustomResourceDefinition).get(metadata)
    const message = `could not issue all deletes: ${(error as Error).message}`
    if (definition) await report(client, definition, { status: 'True', reason: 'InstanceDeletionFailed', message })
    throw error
  }
}

async function report(client: Client, definition: CustomDefinition, condition: Terminating): Promise<void> {
  const known = findCondition(definition.status, 'Terminating')
  if (known?.status === condition.status && known.reason === condition.reason && known.message === condition.message) return
  await client.of(CustomResourceDefinition).updateStatus(withCondition(definition, condition, client.now))
}

async function finish(client: Client, definition: CustomDefinition, finalizer: string, condition: Terminating): Promise<undefined> {
  const reported = withCondition(definition, condition, client.now)
  const finalizers = (reported.metadata.finalizers ?? []).filter(name => name !== finalizer)
  await client.of(CustomResourceDefinition).updateStatus({ ...reported, metadata: { ...reported.metadata, finalizers } })
}

function withCondition(definition: CustomDefinition, condition: Terminating, now: Date): CustomDefinition {
  const status = copyJson(definition.status)
  setCondition(status, { type: 'Terminating', ...condition }, now)
  return { ...definition, status }
}
