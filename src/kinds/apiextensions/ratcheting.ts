/** Ratcheting of definitions: an update may keep the errors of the stored definition. */
import { deepEqual } from '../../lib/json-value.ts'
import { isConditionTrue } from '../../schema/conditions.ts'
import { hasErrors, type Ref, refTo } from '../../schema/refs.ts'
import { isAcceptedReviewVersion, validateCABundle } from './conversion-rules.ts'
import { hasUnprunedDefaults } from './default-rules.ts'
import type { Spec, Status, Validation } from './definition-shapes.ts'
import type { Schema } from './json-schema.ts'
import { type Layout, layoutOf } from './layout.ts'
import { isUnfitSet, validateMapListKeys } from './list-rules.ts'
import { anySchema, eachSchema, schemasOf } from './schema-walk.ts'
import type { StoredExpressions, Strictness } from './strictness.ts'
import { isStructural } from './structural-rules.ts'

/** The strictness for a change of a definition. */
export function strictnessFor(spec: Spec, old: { readonly spec: Spec; readonly status: Status }): Strictness {
  const established = isConditionTrue(old.status.conditions, 'Established')
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

/**
 * The schema of a version, null for none. A schema shared by all versions applies to new versions, too; undefined where there is no such
 * version.
 */
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
