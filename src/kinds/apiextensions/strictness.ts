/** The strictness with which a definition is validated. */

export type Strictness = {
  /** Webhooks must accept a review version that this server sends. */
  readonly reviewVersions: boolean
  /** The scope and the kind are immutable. */
  readonly names: boolean
  /** Every version has a schema. */
  readonly schemas: boolean
  /** Types are those of OpenAPI. */
  readonly types: boolean
  readonly structural: boolean
  /** Defaults have no fields that are unknown to their schemas. */
  readonly prunedDefaults: boolean
  /** Items of sets are atomic. */
  readonly atomicSets: boolean
  readonly mapListKeys: boolean
  /** Certificate authorities are readable. */
  readonly caBundle: boolean
  /** Expressions that are stored already. */
  readonly stored: StoredExpressions
  /** Versions whose schema is unchanged: the cost of single expressions in them is not checked. */
  readonly unchanged: ReadonlySet<string>
  /** Versions that keep their excess of selectable fields; the empty name is that of the fields shared by all versions. */
  readonly manySelectable: ReadonlySet<string>
  /** The cost of single expressions is not checked in the current schema. */
  readonly anyCost?: boolean
}

export type StoredExpressions = { readonly rules: ReadonlySet<string>; readonly messages: ReadonlySet<string> }

const NONE: ReadonlySet<string> = new Set()

/** The strictness for a new definition. It is not in use yet, so its webhook need not work either. */
export const STRICT: Strictness = {
  reviewVersions: true,
  names: false,
  schemas: true,
  types: true,
  structural: true,
  prunedDefaults: true,
  atomicSets: true,
  mapListKeys: true,
  caBundle: false,
  stored: { rules: NONE, messages: NONE },
  unchanged: NONE,
  manySelectable: NONE,
}
