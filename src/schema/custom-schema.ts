/** The schema of a custom kind, which replaces declared fields: it is data. */
import type { Duplicate, Json, JsonObject } from '../lib/json-value.ts'
import type { Column } from './columns.ts'
import { type Conformed, conform } from './conform.ts'
import type { AnyObject } from './object-meta.ts'
import type { AnyType } from './types.ts'

/** A stored record as the current schema reads it, and the bytes of that. */
export type Revived = { readonly object: AnyObject; readonly value: Uint8Array }

export interface CustomSchema {
  /** As much of the schema as the owners of fields have to know, with the envelope around it. */
  readonly type: AnyType
  /** Conforms a sent value to the schema; pruned fields are reported as problems. Throws a ConformError. Never changes the input. */
  conform(value: JsonObject, duplicates?: readonly Duplicate[]): Conformed
  /** Fills the defaults of the schema, in place. */
  fillDefaults(object: AnyObject): void
  /** Schema and version may have changed since a record was written: this is how it reads now, the same bytes where nothing has. */
  revive(value: Uint8Array, object: AnyObject | undefined): Revived
  /** The schema for an OpenAPI version; `metadata` is how that document refers to the metadata of objects. */
  published(version: 2 | 3, metadata: JsonObject): JsonObject
  /** Table columns after Name, in order; names may repeat. */
  readonly columns: readonly (readonly [name: string, column: Column<AnyObject>])[]
  /** What discovery says can be done, where that is less than what is answered. */
  readonly advertised?: readonly string[]
  /** Called before an object is created and right before it is stored; throws when there are to be no more. */
  readonly beforeCreate?: (name: string) => void
}

/** What a body is conformed to: declared fields, or a custom schema. */
export type Conforming = { readonly type: AnyType; readonly def?: { readonly custom?: CustomSchema } }

/** Conforms a whole object to its kind. */
export function conformObject({ type, def }: Conforming, value: Json, duplicates: readonly Duplicate[] = []): Conformed {
  return def?.custom ? def.custom.conform(value as JsonObject, duplicates) : conform(type, value, duplicates)
}
