/** How strictly a definition is validated. */

export type Strictness = {
  /** Webhooks must understand a review that this server sends. */
  readonly reviewVersions: boolean
  /** The scope and the kind stay as they are. */
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
  /** Versions that keep the too many selectable fields that they have; the empty name is that of the fields that all versions share. */
  readonly manySelectable: ReadonlySet<string>
  /** The cost of single expressions is not looked at, in the schema at hand. */
  readonly anyCost?: boolean
}

export type StoredExpressions = { readonly rules: ReadonlySet<string>; readonly messages: ReadonlySet<string> }

const NONE: ReadonlySet<string> = new Set()

/** What a new definition has to satisfy. It is not in use yet, so that its webhook need not be either. */
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
