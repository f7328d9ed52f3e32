/** The revisions and requests of a recorded run, in the order of time. */
import { isObject } from '../../lib/json-value.ts'
import type { RecordedWrite, Recording } from '../../library/recording/recording-file.ts'
import { tableText } from '../text.ts'

type Line = { readonly at: string; readonly cells: readonly string[] }

export function timelineOf({ revision, started, records, writes, requests, faults, command, exitCode }: Recording): string {
  const values = new Map(Array.from(records, ([key, { value }]) => [key, value]))
  const lines: Line[] = [
    { at: started, cells: [String(revision), started, `start of ${command.join(' ')}`] },
    ...writes.map(write => ({ at: write.at, cells: [String(write.revision), write.at, changeText(write, values)] })),
    ...faults.map(({ at, seed, faults: all }) => ({ at, cells: ['', at, `faults: ${JSON.stringify(all)}, seed ${seed}`] })),
    ...requests.map(({ at, user, method, path, status }) => {
      const time = new Date(at).toISOString()
      return { at: time, cells: ['', time, `${user || 'anonymous'}: ${method} ${path}: ${status || 'no answer yet'}`] }
    }),
  ]
  const inOrder = lines.map((line, i) => ({ line, i })).sort((a, b) => (a.line.at < b.line.at ? -1 : a.line.at > b.line.at ? 1 : a.i - b.i))
  return `${tableText([['REVISION', 'TIME', 'EVENT'], ...inOrder.map(({ line }) => line.cells)], [0])}the command exited with ${exitCode}\n`
}

/** Names the object as its record does, or by its key where the record cannot be read. */
function changeText({ key, value }: RecordedWrite, values: Map<string, Uint8Array>): string {
  const before = values.get(key)
  if (value) values.set(key, value)
  else values.delete(key)
  const type = value === undefined ? 'deleted' : before ? 'updated' : 'added'
  return `${type} ${nameIn(value ?? before) ?? key}`
}

function nameIn(value: Uint8Array | undefined): string | undefined {
  try {
    const object: unknown = JSON.parse(Buffer.from(value ?? []).toString())
    const metadata = isObject(object) ? object['metadata'] : undefined
    if (!isObject(object) || !isObject(metadata)) return undefined
    const { namespace, name } = metadata
    return `${String(object['kind'])} ${namespace ? `${String(namespace)}/` : ''}${String(name)}`
  } catch {
    return undefined
  }
}
