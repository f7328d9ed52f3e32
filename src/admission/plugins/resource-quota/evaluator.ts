/** The use of a quota by an object, as the evaluator of its kind measures it, and the quotas that are about an object. */
import { getOwn } from '../../../lib/json-value.ts'
import type { AnyObject } from '../../../schema/object-meta.ts'
import { type LabelOperator, type LabelTerm, matchesLabelTerms } from '../../../schema/selectors.ts'
import type { Attributes } from '../../attributes.ts'
import type { ResourceList } from './resource-list.ts'

/** One condition on the objects that a quota counts. */
export type ScopeRequirement = { readonly scopeName: string; readonly operator: string; readonly values?: readonly string[] }

/** A write as an evaluator sees it. */
export type EvaluatedWrite = Pick<Attributes, 'operation' | 'subresource' | 'object' | 'oldObject'>

/** Measures the objects of one kind. Pure, but for its lookups. */
export interface Evaluator {
  /** Whether the write may change the use. */
  handles(write: EvaluatedWrite): boolean
  /** Whether objects of the kind use the resource that a quota names. */
  limits(name: string): boolean
  /** Whether an object is inside of a scope; no object is, of most kinds. */
  inScope?(requirement: ScopeRequirement, object: AnyObject): boolean
  /** The amounts that an object must state for a quota on these names, and does not. */
  unstated?(names: readonly string[], object: AnyObject): string | undefined
  /** The amounts that an object uses. */
  usage(object: AnyObject): ResourceList
  /** Whether every object uses the same, so that objects need not be looked at. */
  readonly isUniform?: true
}

/** `count/RESOURCE` and, outside of the core group, `count/RESOURCE.GROUP`. */
export const countName = ({ group, plural }: { readonly group: string; readonly plural: string }): string =>
  `count/${plural}${group === '' ? '' : `.${group}`}`

/** All conditions on the objects that a quota counts. */
export const scopesOf = (quota: AnyObject): readonly ScopeRequirement[] => [
  ...((quota['spec']?.scopes ?? []) as readonly string[]).map(scopeName => ({ scopeName, operator: 'Exists' })),
  ...((quota['spec']?.scopeSelector?.matchExpressions ?? []) as readonly ScopeRequirement[]),
]

/** Whether an object is inside of all scopes of a quota. */
export const inScopes = (evaluator: Evaluator, quota: AnyObject, object: AnyObject): boolean =>
  scopesOf(quota).every(requirement => evaluator.inScope?.(requirement, object) ?? false)

const OPERATORS: Readonly<Record<string, LabelOperator>> = { In: 'in', NotIn: 'notin', Exists: 'exists', DoesNotExist: '!' }

/** Whether the values that an object has for a scope meet a requirement; an object without any is compared as such. */
export function meetsRequirement({ scopeName, operator, values = [] }: ScopeRequirement, found: readonly string[]): boolean {
  const labelOperator = getOwn(OPERATORS, operator)
  if (!labelOperator) return false
  const term: LabelTerm = { key: scopeName, operator: labelOperator, values }
  if (found.length === 0) return matchesLabelTerms([term], {})
  return found.some(value => matchesLabelTerms([term], { [scopeName]: value }))
}
