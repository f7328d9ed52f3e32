/** Tables: objects as rows of the columns that their kind declares, for people and kubectl. */
import type { Json, JsonObject } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { Budget } from '../schema/budget.ts'
import { type Cell, type CellContext, type Column, createdAt, NAME_DOC } from '../schema/columns.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { parseJson, stringifyJson } from './json.ts'
import { itemBytes, type ListItem } from './list-item.ts'
import { metadataOf, metadataOnly } from './metadata-only.ts'
import { parseObject } from './stored-bytes.ts'

export type TableOptions = {
  /** The version of the meta group that the client asked for. */
  readonly apiVersion: string
  readonly includeObject: 'None' | 'Metadata' | 'Object'
  /** Later tables of a watch leave the columns out. */
  readonly columns: boolean
  readonly now: Date
  /** Whether the objects are a list, of which cells may look at the whole. */
  readonly isList?: boolean
}

/** The JSON of a table of objects, each given as its own JSON; `metadata` is that of the list, or of the one object. */
export function tableOf(resource: Resource, objects: readonly Uint8Array[], metadata: Json, options: TableOptions): string {
  const head = stringifyJson(tableHead(resource, metadata, options))
  return `${head.slice(0, -1)},"rows":[${[...tableRows(resource, objects, options)].join(',')}]}`
}

/** A table without its rows. */
export function tableHead(resource: Resource, metadata: Json, options: TableOptions): JsonObject {
  const columnDefinitions = options.columns ? columnsOf(resource).flatMap(c => c.definition ?? []) : null
  return { kind: 'Table', apiVersion: options.apiVersion, metadata, columnDefinitions }
}

/** Whether a table has no columns of its own; kube-apiserver makes such a table in another place. */
export const isPlainTable = ({ def }: Resource): boolean =>
  !def.custom && Object.values(def.columns ?? {}).every(column => column === (createdAt as unknown))

/** The rows of a table, each as JSON, made one after the other. */
export function* tableRows(resource: Resource, items: readonly ListItem[], options: TableOptions): Generator<string> {
  let whole: AnyObject[] | undefined
  const common = { now: options.now, budget: tableBudget(items) }
  const ctx: CellContext = !options.isList
    ? common
    : {
        ...common,
        // Few columns look at more than their own object.
        get list() {
          return (whole ??= items.map(item => readObject(itemBytes(item))))
        },
      }
  const { rowOrder } = resource.def
  if (!options.isList || !rowOrder) {
    for (const item of items) {
      const json = itemBytes(item)
      yield rowOf(resource, json, { ...options, object: readObject(json), ctx })
    }
    return
  }
  const rows = items.map(itemBytes).map(json => ({ json, object: readObject(json) }))
  for (const { json, object } of rows.sort((a, b) => rowOrder(a.object, b.object))) yield rowOf(resource, json, { ...options, object, ctx })
}

/** The work that the cells may cost grows with the shown objects, so that columns at worst double the cost of a table. */
function tableBudget(items: readonly ListItem[]): Budget {
  let bytes = 0
  for (const { byteLength } of items) bytes += byteLength
  return new Budget(items.length * LIMITS.tableWorkPerObject + bytes * LIMITS.tableWorkPerByte)
}

/** The metadata of a table of one object. */
export function singleTableMetadata(json: Uint8Array): Json {
  const metadata = metadataOf(json)
  // Mostly it is among the first fields; what managers own can be most of an object, and need not be read for it.
  const [, version] =
    VERSION.exec(Buffer.from(metadata.buffer, metadata.byteOffset, Math.min(metadata.length, HEAD_BYTES)).toString()) ?? []
  const { resourceVersion = '' } = version
    ? { resourceVersion: version }
    : (parseJson(metadata, { trusted: true }).value as { resourceVersion?: string })
  return resourceVersion === '' ? {} : { resourceVersion }
}
const HEAD_BYTES = 1024
const VERSION = /^\{(?:"(?:name|generateName|namespace|uid)":"[^"\\]*",)*"resourceVersion":"(\d+)"/

type Definition = { name: string; type: string; format: string; description: string; priority: number }
type CompiledColumn = { readonly definition: Definition | undefined; readonly get: Column<AnyObject>[1] }

const NAME: CompiledColumn = {
  definition: { name: 'Name', type: 'string', format: 'name', description: NAME_DOC, priority: 0 },
  get: o => o.metadata.name ?? '',
}
const CREATED = compileColumn('Created At', createdAt as Column<AnyObject>)

const compiled = new WeakMap<Resource, readonly CompiledColumn[]>()

/** A kind's columns after its name; one that declares a column `Name` itself has it where it stands. */
function columnsOf(resource: Resource): readonly CompiledColumn[] {
  let columns = compiled.get(resource)
  if (columns === undefined) {
    const { custom } = resource.def
    const own = (custom?.columns ?? Object.entries(resource.def.columns ?? {})).map(([name, column]) =>
      compileColumn(name, column as Column<AnyObject>),
    )
    if (custom) columns = [NAME, ...own]
    else columns = own.length === 0 ? [NAME, CREATED] : own.some(c => c.definition?.name === 'Name') ? own : [NAME, ...own]
    compiled.set(resource, columns)
  }
  return columns
}

function compileColumn(name: string, [type, get, description, options]: Column<AnyObject>): CompiledColumn {
  if (options === 'unnamed') return { definition: undefined, get }
  const { wide = false, format = '', priority = wide ? 1 : 0 } = options === 'wide' ? { wide: true } : (options ?? {})
  return { definition: { name, type, format, description, priority }, get }
}

function readObject(json: Uint8Array): AnyObject {
  const object = parseObject(json)
  object.metadata ??= {}
  return object
}

type Row = Pick<TableOptions, 'includeObject' | 'apiVersion'> & { readonly object: AnyObject; readonly ctx: CellContext }

function rowOf(resource: Resource, json: Uint8Array, { includeObject, apiVersion, object, ctx }: Row): string {
  const cells = columnsOf(resource).map(c => cellOf(c, object, ctx) ?? null)
  const included =
    includeObject === 'None' ? 'null' : includeObject === 'Object' ? utf8(json) : metadataOnly(resource, json, apiVersion).toString('utf8')
  const conditions = resource.def.rowConditions?.(object) ?? []
  const conditionsField = conditions.length === 0 ? '' : `"conditions":${stringifyJson([...conditions] as Json[])},`
  return `{"cells":${stringifyJson(cells)},${conditionsField}"object":${included}}`
}

function cellOf({ get }: CompiledColumn, object: AnyObject, ctx: CellContext): Cell {
  try {
    return get(object, ctx)
  } catch {
    // Bookmarks carry a version and nothing else; whatever a column looks for may be absent.
    return '<unknown>'
  }
}

const utf8 = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
