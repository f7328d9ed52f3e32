/** How strictly a definition is looked at: what a stored one already does wrong, its next version may do as well. */
import { deepEqual } from '../../lib/json-value.ts'
import { hasErrors, type Ref, refTo } from '../../schema/refs.ts'
import { isAcceptedReviewVersion, validateCABundle } from './conversion-rules.ts'
import { hasUnprunedDefaults } from './default-rules.ts'
import type { Spec, Status, Validation } from './definition-shapes.ts'
import type { Schema } from './json-schema.ts'
import { type Layout, layoutOf } from './layout.ts'
import { isUnfitSet, validateMapListKeys } from './list-rules.ts'
import { anySchema, eachSchema, schemasOf } from './schema-walk.ts'
import { isStructural } from './structural-rules.ts'

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

/** What a change of a definition has to satisfy. */
export function strictnessFor(spec: Spec, old: { readonly spec: Spec; readonly status: Status }): Strictness {
  const established = isConditionTrue(old.status, 'Established')
  const versions = old.spec.conversion?.webhook?.conversionReviewVersions ?? []
  return {
    reviewVersions: versions.length === 0 || versions.some(isAcceptedReviewVersion),
    names: established,
    schemas: (old.spec.versions ?? []).every(({ schema }) => schema?.openAPIV3Schema),
    types: !anySchema(old.spec, ({ type }) => type !== undefined && !TYPES.has(type)),
    structural: [...schemasOf(old.spec)].every(isStructural),
    prunedDefaults: ![...schemasOf(old.spec)].some(hasUnprunedDefaults),
    atomicSets: !anySchema(old.spec, isUnfitSet),
    mapListKeys: !anySchema(old.spec, hasUnfitKeys),
    caBundle: established && isReadable(old.spec),
    stored: expressionsOf(old.spec),
    unchanged: unchangedVersions(spec, old.spec),
    manySelectable: keptSelectable(spec, old.spec),
  }
}

/** Whether a condition is there and true. */
export const isConditionTrue = ({ conditions }: Status, type: string): boolean =>
  (conditions ?? []).find(condition => condition.type === type)?.status === 'True'

const TYPES: ReadonlySet<string> = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object'])

const hasUnfitKeys = (schema: Schema) => hasErrors(validateMapListKeys(schema, refTo(schema) as Ref<Schema>))

function isReadable({ conversion }: Spec): boolean {
  const caBundle = conversion?.webhook?.clientConfig?.caBundle ?? ''
  return caBundle === '' || !hasErrors(validateCABundle(caBundle, refTo(caBundle)))
}

/** The expressions of all versions. */
export function expressionsOf(spec: Spec): StoredExpressions {
  const [rules, messages] = [new Set<string>(), new Set<string>()]
  for (const root of schemasOf(spec))
    for (const schema of eachSchema(root))
      for (const { rule, messageExpression } of schema['x-kubernetes-validations'] ?? []) {
        rules.add(rule)
        if (messageExpression) messages.add(messageExpression)
      }
  return { rules, messages }
}

function unchangedVersions(spec: Spec, old: Spec): Set<string> {
  const [now, before] = [layoutOf(spec), layoutOf(old)]
  const [schemaNow, schemaBefore] = [schemasByVersion(now), schemasByVersion(before)]
  const isUnchanged = (name: string) => {
    const [schema, stored] = [schemaNow(name), schemaBefore(name)]
    return schema !== undefined && stored !== undefined && deepEqual(schema, stored)
  }
  return new Set(now.versions.map(({ name }) => name).filter(isUnchanged))
}

/** The schema of a version, null for none. One that all versions share is that of versions to come, too; undefined where there is no such version. */
function schemasByVersion({ shared, versions }: Layout): (name: string) => Validation | null | undefined {
  if (!versions.some(({ schema }) => schema)) return () => shared.schema ?? null
  const byName = new Map(versions.map(({ name, schema }) => [name, schema ?? null]))
  return name => byName.get(name)
}

export const MAX_SELECTABLE = 8

function keptSelectable(spec: Spec, old: Spec): Set<string> {
  const [now, before] = [layoutOf(spec), layoutOf(old)]
  const named = (layout: typeof now) => [
    ['', layout.shared.selectableFields] as const,
    ...layout.versions.map(v => [v.name, v.selectableFields] as const),
  ]
  const stored = new Map(named(before))
  const kept = named(now).filter(
    ([name, fields]) => (stored.get(name)?.length ?? 0) > MAX_SELECTABLE && deepEqual(stored.get(name), fields),
  )
  return new Set(kept.map(([name]) => name))
}
