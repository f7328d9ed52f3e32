/** The end of a definition: its objects are deleted as any are, and when the last is gone, what held the definition is taken away. */
import type { Caches } from '../cache/caches.ts'
import { cleanupFinalizer, setCondition } from '../kinds/apiextensions/customresourcedefinition.ts'
import type { Catalog } from '../registry/catalog.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { type CustomDefinition, findCondition, isTrue } from './definition.ts'

export type CleanupParts = {
  readonly client: LocalClient
  readonly definitions: Resource
  readonly catalog: Catalog
  readonly caches: Caches
  readonly groupDomain: string
  readonly onError: (name: string, error: unknown) => void
  readonly signal: AbortSignal
  /** Where the objects of a definition are, while it is served. */
  readonly homeOf: (name: string) => Resource | undefined
}

type Terminating = { reason: string; message: string; status: 'True' | 'False' }

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

/** How long until it is told that objects are left, and how often what could not be deleted is tried again. */
const TELL_AFTER_MS = 60_000
const TRY_AGAIN_MS = 5_000

type Cleaning = { readonly stop: AbortController; began: number | undefined; running: boolean; again: boolean }

export class Cleanup {
  readonly #parts: CleanupParts
  readonly #cleanings = new Map<string, Cleaning>()

  constructor(parts: CleanupParts) {
    this.#parts = parts
    const end = () => {
      for (const { stop } of this.#cleanings.values()) stop.abort()
    }
    parts.signal.addEventListener('abort', end, { once: true })
  }

  /** Goes on with the end of a definition, beside whatever else goes on. */
  start(name: string): void {
    let cleaning = this.#cleanings.get(name)
    if (!cleaning) this.#cleanings.set(name, (cleaning = { stop: new AbortController(), began: undefined, running: false, again: false }))
    cleaning.again = true
    if (!cleaning.running) void this.#run(name, cleaning)
  }

  /** The definition is gone. */
  stop(name: string): void {
    this.#cleanings.get(name)?.stop.abort()
    this.#cleanings.delete(name)
  }

  async #run(name: string, cleaning: Cleaning): Promise<void> {
    cleaning.running = true
    const isOver = () => this.#parts.signal.aborted || cleaning.stop.signal.aborted
    while (cleaning.again && !isOver()) {
      cleaning.again = false
      try {
        await this.#step(name, cleaning)
      } catch (error) {
        if (isOver()) break
        this.#parts.onError(name, error)
        this.#later(name, cleaning, TRY_AGAIN_MS)
      }
    }
    cleaning.running = false
  }

  async #step(name: string, cleaning: Cleaning): Promise<void> {
    const { client, definitions, groupDomain } = this.#parts
    const definition = client.get(definitions, { name }) as CustomDefinition | undefined
    const finalizer = cleanupFinalizer(groupDomain)
    if (!definition?.metadata.deletionTimestamp || !definition.metadata.finalizers?.includes(finalizer)) return
    if (this.#isBuiltIn(definition)) return this.#finish(definition, finalizer, OVERLAPPING)
    if (!isTrue(definition.status, 'Established')) return this.#finish(definition, finalizer, NEVER)
    const home = this.#parts.homeOf(name)
    if (!home) throw new Error('its objects cannot be deleted while it is not served')
    if (cleaning.began === undefined) {
      // From the write of this on, everything that was let in before is there to be found.
      if (!(await this.#tell(definition, IN_PROGRESS))) return
      cleaning.began = client.now.getTime()
      this.#watch(name, home, cleaning)
      await this.#removeAll(name, home)
      this.#later(name, cleaning, TELL_AFTER_MS)
      cleaning.again = true
      return
    }
    if (this.#parts.caches.of(home).count === 0) return this.#finish(definition, finalizer, COMPLETED)
    if (client.now.getTime() - cleaning.began < TELL_AFTER_MS) return
    const message = 'could not confirm zero CustomResources remaining: context deadline exceeded'
    await this.#tell(definition, { status: 'True', reason: 'InstanceDeletionCheck', message })
    // Some may have been kept from being deleted at all.
    await this.#removeAll(name, home)
    this.#later(name, cleaning, TELL_AFTER_MS)
  }

  async #removeAll(name: string, home: Resource): Promise<void> {
    const { client, definitions } = this.#parts
    try {
      await client.removeAll(home)
    } catch (error) {
      const definition = client.get(definitions, { name }) as CustomDefinition | undefined
      const message = `could not issue all deletes: ${(error as Error).message}`
      if (definition) await this.#tell(definition, { status: 'True', reason: 'InstanceDeletionFailed', message })
      throw error
    }
  }

  #watch(name: string, home: Resource, { stop }: Cleaning): void {
    const { client, caches } = this.#parts
    client.follow(
      home,
      () => {
        if (!caches.has(home) || caches.of(home).count === 0) this.start(name)
      },
      stop.signal,
    )
  }

  #later(name: string, { stop }: Cleaning, ms: number): void {
    const timer = setTimeout(() => {
      if (!stop.signal.aborted && !this.#parts.signal.aborted) this.start(name)
    }, ms)
    timer.unref()
  }

  #isBuiltIn({ spec }: CustomDefinition): boolean {
    for (const { def, group, plural } of this.#parts.catalog)
      if (!def.custom && group === spec.group && plural === spec.names.plural) return true
    return false
  }

  /** False when the definition has changed meanwhile; there is another change to look at then. */
  async #tell(definition: CustomDefinition, condition: Terminating): Promise<boolean> {
    const { client, definitions } = this.#parts
    const known = findCondition(definition.status, 'Terminating')
    if (known?.status === condition.status && known.reason === condition.reason && known.message === condition.message) return true
    return client.replace(definitions, withCondition(definition, condition, client.now), 'status')
  }

  async #finish(definition: CustomDefinition, finalizer: string, condition: Terminating): Promise<void> {
    const { client, definitions } = this.#parts
    const told = withCondition(definition, condition, client.now)
    const finalizers = (told.metadata.finalizers ?? []).filter(name => name !== finalizer)
    await client.replace(definitions, { ...told, metadata: { ...told.metadata, finalizers } }, 'status')
  }
}

function withCondition(definition: CustomDefinition, condition: Terminating, now: Date): AnyObject {
  const status = structuredClone(definition.status)
  setCondition(status, { type: 'Terminating', ...condition }, now)
  return { ...definition, status } as unknown as AnyObject
}
