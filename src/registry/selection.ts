/** The selectors of a request as a selection of the cache. */

import type { CachedRevision } from '../cache/cached-revision.ts'
import type { Selection, Term } from '../cache/selection.ts'
import type { Resource } from '../schema/resource.ts'
import {
  assertSelectable,
  type FieldTerms,
  type LabelTerms,
  matchesFieldTerms,
  matchesLabelTerms,
  requiredFieldValue,
  type SelectableFields,
} from '../schema/selectors.ts'
import { parseShardSelector, type ShardSelector, ShardSelectorError } from '../schema/shard-selector.ts'
import { badRequest, StatusError } from '../schema/status-error.ts'
import type { Call, CallContext } from './api.ts'
import type { ListOptions } from './options.ts'
import { isServedField } from './served-selection.ts'

/** The selection of a request; `shard` is the part that a sharded list selects. */
export type Selected = {
  readonly selection: Selection
  readonly shard: ShardSelector | undefined
  /** Fields that are looked at in the served version, after the conversion of selected objects. */
  readonly served: FieldTerms
}

export function selectionOf({ resource, namespace, name }: Call, options: ListOptions, { gate }: Pick<CallContext, 'gate'>): Selected {
  const { labels, fields: asked } = options
  assertSelectable(asked, selectableOf(resource))
  // The watch of one object may be narrowed down, but not to another one.
  if (name !== '' && asked.length > 0 && requiredFieldValue(asked, 'metadata.name') !== name)
    throw badRequest("fieldSelector metadata.name doesn't match requested name")
  const shard = options.shardSelector === '' || !gate('ShardedListAndWatch') ? undefined : shardOf(options.shardSelector)
  const served = asked.filter(({ field }) => isServedField(resource, field))
  const cached = served.length === 0 ? asked : asked.filter(term => !served.includes(term))
  const fields = resource.conversion ? cached.map(f => ({ ...f, field: resource.conversion!.fieldName(f.field) })) : cached
  // An empty name is a name that nothing has, and of two names an object has one at most: only the test knows that.
  const [first, second] = fields.filter(f => f.field === 'metadata.name' && f.operator === '=')
  const named = first && !second && (name === '' || name === first.value) ? first.value : ''
  const within = (resource.namespaced && requiredFieldValue(fields, 'metadata.namespace')) || ''
  const term = termOf(labels, fields)
  const tests = labels.length > 0 || shard !== undefined || fields.some(f => named === '' || f !== first)
  const test = (v: CachedRevision) =>
    matchesLabelTerms(labels, v.labels) &&
    matchesFieldTerms(fields, f => fieldOf(v, f)) &&
    (shard === undefined || shard.has(shard.field === 'object.metadata.uid' ? v.uid : v.namespace))
  return {
    selection: {
      namespace: namespace || within,
      name: name || named,
      ...(term && { term }),
      ...(tests && { test }),
    },
    shard,
    served,
  }
}

/** Custom kinds refuse fields as kinds that have some of their own do, also where they have none. */
function selectableOf({ apiVersion, kind, namespaced, def: { selectable, fieldSelectors, custom } }: Resource): SelectableFields {
  return {
    namespaced: namespaced && !fieldSelectors?.withoutNamespace,
    ...((selectable || custom) && { selectable: Object.keys(selectable ?? {}) }),
    ...(fieldSelectors?.unsupported && { refusal: field => fieldSelectors.unsupported!(field, { apiVersion, kind }) }),
  }
}

/** kube-apiserver answers these as a failure of its own, without a reason; clients that look at the code find the same here. */
function shardOf(text: string): ShardSelector {
  try {
    return parseShardSelector(text)
  } catch (error) {
    throw error instanceof ShardSelectorError ? new StatusError(500, '', `invalid shard selector: ${error.message}`) : error
  }
}

/** The first thing both selectors require exactly; the index narrows down by it. */
function termOf(labels: LabelTerms, fields: FieldTerms): Term | undefined {
  const field = fields.find(f => f.operator === '=' && !f.field.startsWith('metadata.'))
  if (field) return { on: 'field', key: field.field, values: [field.value] }
  const label = labels.find(l => l.operator === '=' || l.operator === '==' || l.operator === 'in')
  return label && { on: 'label', key: label.key, values: [...new Set(label.values)] }
}

const fieldOf = (v: CachedRevision, field: string): string =>
  field === 'metadata.name' ? v.name : field === 'metadata.namespace' ? v.namespace : (v.fields[field] ?? '')
