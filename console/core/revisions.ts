/** The revisions of an object that the server's history keeps, with their writers. */
import { ApiError, get, type KubeObject } from './api.ts'
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
  readonly isComplete: boolean
  /** Whether more are being read. */
  readonly isReading: boolean
  /** The reason why users are not shown. */
  readonly note: string
  readonly error?: unknown
}

const MAX_REVISIONS = 300
const STEP = 20

export const before = (revision: string): string => String(BigInt(revision) - 1n)

/** Reads back from the present or a revision; tells what it has after every few revisions. */
export async function readPast(path: string, tell: (past: Past) => void, abort: AbortSignal, from?: string): Promise<void> {
  const objects: KubeObject[] = []
  const writers = new Map<string, Writer>()
  let note = ''
  let asked = 0
  let isComplete = false
  const report = async (isReading: boolean, error?: unknown) => {
    const missing = objects.slice(asked).map(({ metadata }) => metadata.resourceVersion!)
    asked = objects.length
    if (missing.length > 0 && note === '')
      try {
        const { writes } = await get<{ writes: Record<string, Writer> }>(`/keelson/writes?revisions=${missing}`, { signal: abort })
        for (const [revision, writer] of Object.entries(writes)) writers.set(revision, writer)
      } catch (failure) {
        note =
          failure instanceof ApiError && failure.code === 403
            ? 'Users of writes need the permission to get /keelson/writes.'
            : 'Users of writes are not known.'
      }
    if (abort.aborted) return
    tell({ revisions: revisionsOf(objects, writers, isComplete), isComplete, isReading, note, ...(error === undefined ? {} : { error }) })
  }
  try {
    for (let at = from ?? ''; objects.length < MAX_REVISIONS; ) {
      let object: KubeObject
      try {
        object = await get(at === '' ? path : `${path}?resourceVersion=${at}&resourceVersionMatch=Exact`, { signal: abort })
      } catch (error) {
        const code = error instanceof ApiError ? error.code : 0
        if (code === 404 && objects.length > 0) isComplete = true
        // Older revisions are gone.
        else if (code !== 410 || objects.length === 0) throw error
        break
      }
      // An earlier object with the same name.
      if (objects[0] && objects[0].metadata.uid !== object.metadata.uid) {
        isComplete = true
        break
      }
      objects.push(object)
      if (objects.length % STEP === 0) await report(true)
      at = before(object.metadata.resourceVersion!)
    }
    await report(false)
  } catch (error) {
    if (!abort.aborted) await report(false, error)
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

/** A colour for each writer, the same on every page. */
const COLOURS = 8
export function colourOf(name: string): number {
  let hash = 7
  for (const char of name) hash = (hash * 31 + char.charCodeAt(0)) | 0
  return Math.abs(hash) % COLOURS
}
