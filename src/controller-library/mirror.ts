/**
 * A copy of the objects of a resource on another server, for an informer: a list, then a watch from its resourceVersion, which goes on
 * after errors.
 *
 *     list ── watch ── ends ── watch ── connection lost ── pause ── watch ── 410 ── list …
 */

import type { Change } from '../client/change.ts'
import type { InformerSource } from '../client/informer.ts'
import { abortedWith } from '../lib/cancellation.ts'
import { chance, monotonicMs, sleep, timeoutSignal } from '../lib/environment.ts'
import type { ObjectRevision } from '../schema/object-revision.ts'
import type { ApiObject, ListOptions } from './public.d.ts'
import { isExpired, type RemoteResource, type WatchEvent } from './resource-client.ts'

export type MirrorOptions<T extends ApiObject> = {
  readonly client: RemoteResource<T>
  readonly selection: ListOptions
  readonly signal: AbortSignal
  readonly onError: (error: unknown) => void
  /** Takes in a change that the mirror has made. */
  readonly onChange: (change: Change<T>) => void
}

/** Pauses after failures in a row, as client-go has them. */
const FIRST_PAUSE_MS = 800
const LAST_PAUSE_MS = 30_000
/** A watch is asked to end after a time between this and twice as much, so that watches do not all begin again at once. */
const WATCH_SECONDS = 300
/** A watch that has not ended so long after it should have is given up. */
const OVERDUE_MS = 30_000

export class Mirror<T extends ApiObject> implements InformerSource<T> {
  readonly #options: MirrorOptions<T>
  readonly #objects = new Map<string, ObjectRevision<T>>()
  /** Where the next watch begins; undefined when a list has to come first. */
  #resourceVersion: string | undefined
  /** Failed requests since the last event or the last watch that ended as it should. */
  #failures = 0

  constructor(options: MirrorOptions<T>) {
    this.#options = options
  }

  get(key: string): ObjectRevision<T> | undefined {
    return this.#objects.get(key)
  }

  list(): Iterable<ObjectRevision<T>> {
    return this.#objects.values()
  }

  /** Takes in an object that a write returned, unless the events of the watch are past it already. */
  saw(object: T): void {
    const revision = revisionOf(object)
    if (this.#resourceVersion !== undefined && revision.revision > Number(this.#resourceVersion)) this.#put(revision)
  }

  /** Follows until the signal ends it; calls the function after the first list. */
  async follow(onListed: () => void): Promise<void> {
    const { signal, onError } = this.#options
    while (!signal.aborted) {
      const began = monotonicMs()
      // A server that ends every watch at once must not be asked without a pause.
      const breathe = () => (monotonicMs() - began < FIRST_PAUSE_MS ? pause(FIRST_PAUSE_MS, signal) : undefined)
      try {
        if (this.#resourceVersion === undefined) {
          await this.#takeList()
          onListed()
        }
        await this.#watchOnce()
        this.#failures = 0
        await breathe()
      } catch (error) {
        if (signal.aborted) return
        if (isExpired(error) && this.#resourceVersion !== undefined) {
          this.#resourceVersion = undefined
          await breathe()
          continue
        }
        onError(error)
        await pause(Math.min(FIRST_PAUSE_MS * 2 ** this.#failures++, LAST_PAUSE_MS) * (1 + chance()), signal)
      }
    }
  }

  async #takeList(): Promise<void> {
    const { client, selection, signal } = this.#options
    const { items, resourceVersion } = await client.listed(selection)
    if (signal.aborted) return
    const gone = new Set(this.#objects.keys())
    for (const item of items) {
      const revision = revisionOf(item)
      gone.delete(revision.key)
      this.#put(revision)
    }
    for (const key of gone) {
      const known = this.#objects.get(key)!
      // An object that was written after the list was read is not in it.
      if (!(known.revision > Number(resourceVersion))) this.#remove(known)
    }
    this.#resourceVersion = resourceVersion
  }

  async #watchOnce(): Promise<void> {
    const { client, selection, signal, onError } = this.#options
    const timeoutSeconds = Math.ceil(WATCH_SECONDS * (1 + chance()))
    const overdue = timeoutSignal(timeoutSeconds * 1000 + OVERDUE_MS)
    const given = abortedWith(signal, overdue)
    const watch = { resourceVersion: this.#resourceVersion!, timeoutSeconds, signal: given.signal }
    try {
      for await (const event of client.watch(selection, watch)) this.#take(event)
    } catch (error) {
      if (!overdue.aborted) throw error
      onError(error)
    } finally {
      given.abort()
    }
  }

  #take({ type, object }: WatchEvent<T>): void {
    this.#failures = 0
    if (type === 'DELETED') this.#remove(revisionOf(object))
    else if (type !== 'BOOKMARK') this.#put(revisionOf(object))
    this.#resourceVersion = object.metadata.resourceVersion ?? this.#resourceVersion
  }

  #put(current: ObjectRevision<T>): void {
    const previous = this.#objects.get(current.key)
    // The same state, or a state that the response to a later write has replaced already.
    if (previous?.uid === current.uid && !(previous.revision < current.revision)) return
    // Another object of the same name: its predecessor was deleted unseen.
    if (previous && previous.uid !== current.uid) this.#remove(previous)
    this.#objects.set(current.key, current)
    const isKnown = previous?.uid === current.uid
    this.#options.onChange({ type: isKnown ? 'updated' : 'added', current, previous: isKnown ? previous : undefined })
  }

  #remove(last: ObjectRevision<T>): void {
    const previous = this.#objects.get(last.key)
    if (!previous) return
    this.#objects.delete(last.key)
    this.#options.onChange({ type: 'deleted', current: { ...last, deleted: true }, previous })
  }
}

/** The key of an object in a mirror. */
export const mirrorKey = (namespace: string, name: string): string => `${namespace}/${name}`

function revisionOf<T extends ApiObject>(object: T): ObjectRevision<T> {
  const { name = '', namespace = '', uid = '', resourceVersion, labels = {}, ownerReferences = [], deletionTimestamp } = object.metadata
  return {
    key: mirrorKey(namespace, name),
    namespace,
    name,
    uid,
    revision: Number(resourceVersion),
    labels,
    fields: {},
    owners: ownerReferences.map(owner => owner.uid),
    terminating: deletionTimestamp !== undefined,
    stale: false,
    deleted: false,
    object,
    get json() {
      return Buffer.from(JSON.stringify(object))
    },
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, { signal }).catch(() => {})
