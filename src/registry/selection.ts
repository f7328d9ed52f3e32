/** From the selectors of a request to what the cache selects by. */
import type { Selection, Term } from '../cache/selection.ts'
import type { Version } from '../cache/version.ts'
import {
  assertSelectable,
  type FieldTerms,
  type LabelTerms,
  matchesFieldTerms,
  matchesLabelTerms,
  parseFieldSelector,
  parseLabelSelector,
  requiredFieldValue,
} from '../schema/selectors.ts'
import type { Call } from './api.ts'
import type { ListOptions } from './options.ts'

export function selectionOf({ resource, namespace, name }: Call, { labelSelector, fieldSelector }: ListOptions): Selection {
  const labels = parseLabelSelector(labelSelector)
  const fields = parseFieldSelector(fieldSelector)
  const { selectable } = resource.def
  assertSelectable(fields, { namespaced: resource.namespaced, ...(selectable && { selectable: Object.keys(selectable) }) })
  const named = requiredFieldValue(fields, 'metadata.name')
  const term = termOf(labels, fields)
  const tests = labels.length > 0 || fields.some(f => !(f.field === 'metadata.name' && f.operator === '='))
  const conflicting = named !== undefined && name !== '' && named !== name
  return {
    namespace,
    name: name || named || '',
    ...(term && { term }),
    ...((tests || conflicting) && {
      test: (v: Version) => !conflicting && matchesLabelTerms(labels, v.labels) && matchesFieldTerms(fields, f => fieldOf(v, f)),
    }),
  }
}

/** The first thing both selectors require exactly; the index narrows down by it. */
function termOf(labels: LabelTerms, fields: FieldTerms): Term | undefined {
  const field = fields.find(f => f.operator === '=' && !f.field.startsWith('metadata.'))
  if (field) return { on: 'field', key: field.field, values: [field.value] }
  const label = labels.find(l => l.operator === '=' || l.operator === '==' || l.operator === 'in')
  return label && { on: 'label', key: label.key, values: [...new Set(label.values)] }
}

const fieldOf = (v: Version, field: string): string =>
  field === 'metadata.name' ? v.name : field === 'metadata.namespace' ? v.namespace : (v.fields[field] ?? '')
