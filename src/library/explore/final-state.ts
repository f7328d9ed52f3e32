/** The state at the end of a run, in a form in which two runs can be compared: without times, uids and generated names. */
import type { Client } from '../../client/client.ts'
import { isObject, type Json, type JsonObject } from '../../lib/json-value.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { GeneratedNames, isNoise } from './change-log.ts'
import { masked } from './masked-values.ts'

/** The objects of each name, such as `Secret default/a`; several where names are generated. */
export type FinalState = ReadonlyMap<string, readonly JsonObject[]>

export type Difference = {
  readonly object: string
  /** Empty where objects are missing or too many. */
  readonly field: string
  readonly text: string
}

export function finalStateOf(client: Client): FinalState {
  const names = new GeneratedNames()
  const objects = [...client.resources()]
    .filter(resource => !isNoise(resource))
    .flatMap(({ kind, group, ...resource }) =>
      Array.from(client.of({ kind, group, ...resource }).list(), object => ({ kind: group === '' ? kind : `${kind}.${group}`, object })),
    )
  const keyed = objects.map(({ kind, object }) => ({ key: keyOf(kind, object, names), object }))
  const uids = new Map(keyed.map(({ key, object }) => [String(object.metadata.uid), key]))
  const replace = (text: string) =>
    uids.get(text) ??
    text
      .split(/([/,\s"]+)/)
      .map(word => names.known(word))
      .join('')
  const state = new Map<string, JsonObject[]>()
  for (const { key, object } of keyed) {
    const content = comparable(object, uids, replace)
    const same = state.get(key)
    if (same) same.push(content)
    else state.set(key, [content])
  }
  for (const same of state.values()) same.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  return state
}

function keyOf(kind: string, object: AnyObject, names: GeneratedNames): string {
  const name = names.patternOf(object)
  const { namespace } = object.metadata
  return `${kind} ${namespace ? `${namespace}/${name}` : name}`
}

/** An object without the bookkeeping of the API. Owners are named, or said to be gone. */
function comparable(object: AnyObject, uids: ReadonlyMap<string, string>, replace: (text: string) => string): JsonObject {
  const { metadata, ...rest } = object
  const { labels, annotations, finalizers, ownerReferences, deletionTimestamp } = metadata
  const owners = ownerReferences?.map(({ uid, kind, name }) => uids.get(uid) ?? `${kind} ${name}, which is gone`)
  const kept = { labels, annotations, finalizers, ownerReferences: owners, ...(deletionTimestamp && { deletionTimestamp: 'set' }) }
  return masked({ ...rest, metadata: kept }, { replace }) as JsonObject
}

/** The relevant differences between two states. */
export function differences(expected: FinalState, actual: FinalState, isIgnored: (object: string, field: string) => boolean): Difference[] {
  const found: Difference[] = []
  for (const object of new Set([...expected.keys(), ...actual.keys()])) {
    if (isIgnored(object, '')) continue
    const [wanted, got] = [expected.get(object) ?? [], actual.get(object) ?? []]
    if (wanted.length !== got.length) found.push({ object, field: '', text: countText(object, wanted.length, got.length) })
    else
      for (const [i, each] of wanted.entries())
        for (const { field, text } of fieldDifferences(each, got[i]!, ''))
          if (!isIgnored(object, field)) found.push({ object, field, text: `${object}: ${field} ${text}` })
  }
  return found
}

function countText(object: string, wanted: number, got: number): string {
  if (wanted === 0) return got === 1 ? `${object} is left over` : `${got} of ${object} are left over`
  if (got === 0) return wanted === 1 ? `${object} is missing` : `all ${wanted} of ${object} are missing`
  return `there are ${got} of ${object}, not ${wanted}`
}

function fieldDifferences(wanted: Json, got: Json, path: string): { readonly field: string; readonly text: string }[] {
  if (isObject(wanted) && isObject(got)) {
    const keys = new Set([...Object.keys(wanted), ...Object.keys(got)])
    return [...keys].flatMap(key => fieldDifferences(wanted[key] ?? null, got[key] ?? null, path === '' ? key : `${path}.${key}`))
  }
  if (Array.isArray(wanted) && Array.isArray(got) && wanted.length === got.length)
    return wanted.flatMap((each, i) => fieldDifferences(each, got[i]!, `${path}[${i}]`))
  const [a, b] = [JSON.stringify(wanted), JSON.stringify(got)]
  return a === b ? [] : [{ field: path, text: `is ${shown(b)}, not ${shown(a)}` }]
}

const MAX_SHOWN = 120
const shown = (json: string): string => (json === 'null' ? 'absent' : json.length > MAX_SHOWN ? `${json.slice(0, MAX_SHOWN)}…` : json)
