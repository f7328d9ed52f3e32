/** Reads every record of a store: which cannot be read, and which kinds have the most objects and bytes. */
import { resourceOf } from '../../storage/resource-prefix.ts'
import type { Store } from '../../storage/store.ts'
import type { RecordFigures, UnreadableRecord } from './findings.ts'

const PAGE = 250
/** More of them are counted under the kinds alone: a report has to end. */
const MAX_UNREADABLE = 1_000

/** Yields how many of how many records have been read, and returns the figures. Others run between pages. */
export async function* scanRecords(
  source: Pick<Store, 'list' | 'fresh'>,
): AsyncGenerator<{ readonly done: number; readonly total: number }, RecordFigures> {
  const at = await source.fresh()
  const kinds = new Map<string, { objects: number; bytes: number }>()
  const unreadable: UnreadableRecord[] = []
  let newest: RecordFigures['newest']
  let checked = 0
  for (let after: string | undefined; ; ) {
    const { entries, remaining } = await source.list('/', { at, limit: PAGE, ...(after !== undefined && { after }) })
    for (const { key, value, modified, fault } of entries) {
      checked++
      const resource = resourceOf(key)
      const amount = kinds.get(resource) ?? { objects: 0, bytes: 0 }
      kinds.set(resource, { objects: amount.objects + 1, bytes: amount.bytes + value.length })
      const read = fault === undefined ? timeIn(value) : { fault }
      if ('fault' in read) {
        if (unreadable.length < MAX_UNREADABLE) unreadable.push({ key, modified, fault: read.fault })
      } else if (read.time > (newest?.time ?? '')) newest = { key, time: read.time }
    }
    yield { done: checked, total: checked + remaining }
    if (remaining === 0 || entries.length === 0) break
    after = entries.at(-1)!.key
    await new Promise(setImmediate)
  }
  const sorted = [...kinds].map(([resource, amount]) => ({ resource: nameOf(resource), ...amount }))
  return { checked, unreadable, kinds: sorted.sort((a, b) => b.bytes - a.bytes), ...(newest && { newest }) }
}

const nameOf = (prefix: string) => prefix.replace(/^\/|\/$/g, '')

const OPEN_BRACE = 0x7b

/** The creation time of an object, or the reason why it cannot be read. Records of the server itself need not be objects. */
function timeIn(value: Uint8Array): { readonly time: string } | { readonly fault: string } {
  if (value[0] !== OPEN_BRACE) return { time: '' }
  try {
    const object = JSON.parse(Buffer.from(value.buffer, value.byteOffset, value.length).toString()) as {
      readonly metadata?: { readonly creationTimestamp?: string }
    }
    return { time: object.metadata?.creationTimestamp ?? '' }
  } catch (error) {
    return { fault: `the record is no JSON: ${(error as Error).message}` }
  }
}
