/** Table columns: their type, and columns and cell formats that many kinds share. */
import { humanDuration, millisecondsAt } from '../lib/time.ts'
import type { Budget } from './budget.ts'
import type { AnyObject, Envelope } from './object-meta.ts'

export type Cell = string | number | bigint | boolean | null | undefined
/** The context of cells: the time, for ages, the work budget of all cells of the table, and in tables of lists the whole list. */
export type CellContext = { readonly now: Date; readonly budget: Budget; readonly list?: readonly AnyObject[] }
/**
 * A table column; `format` is the OpenAPI format, `name` for the column with the object's name. An unnamed column has cells but no
 * definition.
 */
export type Column<O> = readonly [
  type: 'integer' | 'string' | 'date' | 'boolean' | 'number',
  get: (o: O, ctx: CellContext) => Cell,
  doc: string,
  options?: 'wide' | 'unnamed' | { readonly wide?: true; readonly format?: string; readonly priority?: number },
]

export type RowCondition = { readonly type: string; readonly status: string; readonly reason?: string; readonly message?: string }

/** The description of the first column. */
export const NAME_DOC =
  'Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names'

const CREATED_DOC =
  'CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata'

/** The age of the object, for people. */
export const age: Column<Envelope> = ['string', (o, ctx) => since(o.metadata.creationTimestamp, ctx), CREATED_DOC]

/** The creation time of the object, for kinds without columns of their own. */
export const createdAt: Column<Envelope> = ['date', o => o.metadata.creationTimestamp, CREATED_DOC]

type Clock = Pick<CellContext, 'now'>

/** The time since a timestamp in the format of kubectl; `<unknown>` if absent. */
export function since(timestamp: string | undefined, { now }: Clock): string {
  return timestamp ? humanDuration(now.getTime() - millisecondsAt(timestamp)) : '<unknown>'
}

/** The time until a timestamp; `<unknown>` if absent. */
export function until(timestamp: string | undefined, { now }: Clock): string {
  return timestamp ? humanDuration(millisecondsAt(timestamp) - now.getTime()) : '<unknown>'
}

/** Labels in tables: sorted `key=value` pairs, `<none>` if there are none. */
export function formatLabels(labels: Readonly<Record<string, string>> | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`)
  return pairs.length === 0 ? '<none>' : pairs.sort().join(',')
}
