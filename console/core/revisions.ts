/** The revisions of an object that the server's history keeps, with their writers. */
import { ApiError, get } from './api.ts'
import type { KubeObject } from './object.ts'
import { type Owner, writerOf } from './owners.ts'

export type Writer = { readonly user: string; readonly time: string }

export type Revision = {
  readonly number: string
  readonly object: KubeObject
  /** The field manager of the write, as far as the object tells. */
  readonly owner: Owner | undefined
  /** User and time, where the server knows them and this user may see them. */
  readonly writer: Writer | undefined
  readonly time: string
  readonly isCreation: boolean
}

export type Past = {
  /** Newest first. */
  readonly revisions: readonly Revision[]
  /** Whether the oldest one is the creation of the object. */
  readonly isComplete: boolean
  /** Whether there may be older ones, which nobody has asked for yet. */
  readonly hasMore: boolean
  /** Whether more are being read. */
  readonly isReading: boolean
  /** The reason why users are not shown. */
  readonly note: string
  readonly error?: unknown
}

/** How many revisions are read at first, and with each further request of the user. */
export const PORTION = 300
const STEP = 20

export const before = (revision: string): string => String(BigInt(revision) - 1n)

/** Where an object's history ends: at its creation, at revisions that are gone, or where nobody has read further. */
type End = 'creation' | 'compacted' | 'unread'

/** The revisions that are known of one object. It is kept while a page shows the object, so that each revision is read once. */
export class PastReader {
  readonly #path: string
  #objects: readonly KubeObject[] = []
  #end: End = 'unread'
  readonly #writers = new Map<string, Writer>()
  #asked = new Set<string>()
  #note = ''

  constructor(path: string) {
    this.#path = path
  }

  /** Reads back from the present until so many revisions are known; tells what it has after every few. */
  async read(most: number, tell: (past: Past) => void, abort: AbortSignal): Promise<void> {
    const known = this.#objects
    const found: KubeObject[] = []
    const report = async (end: End, isReading: boolean, error?: unknown) => {
      const missing = found.map(({ metadata }) => metadata.resourceVersion!).filter(revision => !this.#asked.has(revision))
      await this.#askForWriters(missing, abort)
      if (abort.aborted) return
      const isComplete = end === 'creation'
      const revisions = revisionsOf(found, this.#writers, isComplete)
      const failure = error === undefined ? {} : { error }
      tell({ revisions, isComplete, hasMore: end === 'unread', isReading, note: this.#note, ...failure })
    }
    try {
      let end: End = 'unread'
      while (end === 'unread' && found.length < most) {
        const last = found.at(-1)
        const object = await this.#revisionBefore(last, abort)
        if (typeof object === 'string') end = object
        else if (object.metadata.resourceVersion === known[0]?.metadata.resourceVersion) {
          found.push(...known)
          end = this.#end
        } else {
          found.push(object)
          if (found.length % STEP === 0) await report('unread', true)
        }
      }
      if (abort.aborted) return
      this.#objects = found
      this.#end = end
      await report(end, false)
    } catch (error) {
      if (!abort.aborted) await report('unread', false, error)
    }
  }

  /** The newest revision before one, or the reason why there is none. */
  async #revisionBefore(last: KubeObject | undefined, signal: AbortSignal): Promise<KubeObject | End> {
    const query = last ? `?resourceVersion=${before(last.metadata.resourceVersion!)}&resourceVersionMatch=Exact` : ''
    try {
      const object = await get<KubeObject>(this.#path + query, { signal })
      // An earlier object with the same name.
      return last && last.metadata.uid !== object.metadata.uid ? 'creation' : object
    } catch (error) {
      const code = error instanceof ApiError ? error.code : 0
      if (last && code === 404) return 'creation'
      if (last && code === 410) return 'compacted'
      throw error
    }
  }

  async #askForWriters(revisions: readonly string[], signal: AbortSignal): Promise<void> {
    if (revisions.length === 0 || this.#note !== '') return
    for (const revision of revisions) this.#asked.add(revision)
    try {
      const { writes } = await get<{ writes: Record<string, Writer> }>(`/keelson/writes?revisions=${revisions}`, { signal })
      for (const [revision, writer] of Object.entries(writes)) this.#writers.set(revision, writer)
    } catch (error) {
      if (signal.aborted) return
      this.#note =
        error instanceof ApiError && error.code === 403
          ? 'Users of writes need the permission to get /keelson/writes.'
          : 'Users of writes are not known.'
    }
  }
}

function revisionsOf(objects: readonly KubeObject[], writers: ReadonlyMap<string, Writer>, isComplete: boolean): Revision[] {
  return objects.map((object, i) => {
    const number = object.metadata.resourceVersion!
    const owner = writerOf(object, objects[i + 1])
    const writer = writers.get(number)
    const isCreation = isComplete && i === objects.length - 1
    return {
      number,
      object,
      owner,
      writer,
      isCreation,
      time: writer?.time ?? owner?.time ?? (isCreation ? (object.metadata.creationTimestamp ?? '') : ''),
    }
  })
}

/** A colour for each writer, the same on every page. The factor gives the usual managers different ones. */
const COLOURS = 8
export function colourOf(name: string): number {
  let hash = 7
  for (const char of name) hash = (hash * 35 + char.charCodeAt(0)) | 0
  return Math.abs(hash) % COLOURS
}
