/** The schema of a custom kind, which takes the place of declared fields: it is data. */
import type { Fence } from '../lib/fence.ts'
import type { Duplicate, Json, JsonObject } from '../lib/json-value.ts'
import type { Column } from './columns.ts'
import { type Conformed, conform } from './conform.ts'
import type { AnyObject } from './object-meta.ts'
import type { AnyType } from './types.ts'

/** A stored record decoded with the current schema, and its bytes. */
export type Revived = { readonly object: AnyObject; readonly value: Uint8Array }

export interface CustomSchema {
  /** The part of the schema that field ownership needs, with the envelope around it. */
  readonly type: AnyType
  /** Conforms a value to the schema; pruned fields are reported as problems. Throws a ConformError. Never changes the input. */
  conform(value: JsonObject, duplicates?: readonly Duplicate[]): Conformed
  /** Fills the defaults of the schema, in place. */
  fillDefaults(object: AnyObject): void
  /**
   * Schema and version may have changed since a record was written: decodes it with the current ones, the same bytes where nothing has
   * changed.
   */
  revive(value: Uint8Array, object: AnyObject | undefined): Revived
  /** The schema for an OpenAPI version; `metadata` is the document's reference to ObjectMeta. */
  published(version: 2 | 3, metadata: JsonObject): JsonObject
  /** Table columns after Name, in order; names may repeat. */
  readonly columns: readonly (readonly [name: string, column: Column<AnyObject>])[]
  /** The verbs in discovery, where they are fewer than the served ones. */
  readonly advertised?: readonly string[]
  /**
   * Called before an object is created and right before it is stored; throws when no more may be created, and tells what must not have
   * changed when it is.
   */
  readonly beforeCreate?: (name: string) => Fence
}

/** The target of conforming: declared fields, or a custom schema. */
export type Conforming = { readonly type: AnyType; readonly def?: { readonly custom?: CustomSchema } }

/** Conforms a whole object to its kind. */
export function conformObject({ type, def }: Conforming, value: Json, duplicates: readonly Duplicate[] = []): Conformed {
  return def?.custom ? def.custom.conform(value as JsonObject, duplicates) : conform(type, value, duplicates)
}
