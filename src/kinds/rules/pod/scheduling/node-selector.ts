/** Node selectors: terms of requirements on labels and fields of nodes. */
import { isValidLabelValue, nameIsDNSSubdomain } from '../../../../lib/names.ts'
import { validateLabelKey } from '../../../../schema/meta-rules.ts'
import { type FieldError, forbidden, invalid, invalidEach, type Ref, required } from '../../../../schema/refs.ts'
import { atomic, message, type Static, string } from '../../../../schema/types.ts'

export const NodeSelectorRequirement = message('NodeSelectorRequirement', {
  key: [1, string.always(), 'The label or field.'],
  operator: [2, string.listed('DoesNotExist', 'Exists', 'Gt', 'In', 'Lt', 'NotIn').always(), 'In, NotIn, Exists, DoesNotExist, Gt or Lt.'],
  values: [3, atomic(string), 'The values that it is compared with; one number for Gt and Lt.'],
})
export type NodeSelectorRequirement = Static<typeof NodeSelectorRequirement>

export const NodeSelectorTerm = message('NodeSelectorTerm', {
  matchExpressions: [1, atomic(NodeSelectorRequirement), 'Conditions on labels of the node.'],
  matchFields: [2, atomic(NodeSelectorRequirement), 'Conditions on fields of the node.'],
}).atomic()
export type NodeSelectorTerm = Static<typeof NodeSelectorTerm>

export const NodeSelector = message('NodeSelector', {
  nodeSelectorTerms: [1, atomic(NodeSelectorTerm).always(), 'Terms of which one must match.'],
}).atomic()
export type NodeSelector = Static<typeof NodeSelector>

export type NodeSelectorOptions = {
  /** Accepts invalid label values. */
  readonly allowInvalidValues?: boolean
}

/** There is a term, and each is valid. */
export function* validateNodeSelector(
  selector: NodeSelector,
  at: Ref<NodeSelector>,
  options: NodeSelectorOptions = {},
): Iterable<FieldError> {
  const terms = selector.nodeSelectorTerms ?? []
  if (terms.length === 0) yield required(at.nodeSelectorTerms, 'must have at least one node selector term')
  for (const [i, term] of terms.entries()) yield* validateNodeSelectorTerm(term, at.nodeSelectorTerms[i]!, options)
}

/** Requirements on labels and on fields of nodes. */
export function* validateNodeSelectorTerm(
  { matchExpressions, matchFields }: NodeSelectorTerm,
  at: Ref<NodeSelectorTerm>,
  options: NodeSelectorOptions = {},
): Iterable<FieldError> {
  for (const [i, requirement] of (matchExpressions ?? []).entries())
    yield* validateNodeSelectorRequirement(requirement, at.matchExpressions[i]!, options)
  for (const [i, requirement] of (matchFields ?? []).entries()) yield* validateFieldRequirement(requirement, at.matchFields[i]!)
}

/** A requirement on a label of nodes. */
function* validateNodeSelectorRequirement(
  { key, operator, values }: NodeSelectorRequirement,
  at: Ref<NodeSelectorRequirement>,
  { allowInvalidValues = false }: NodeSelectorOptions = {},
): Iterable<FieldError> {
  const count = values?.length ?? 0
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (count === 0) yield required(at.values, "must be specified when `operator` is 'In' or 'NotIn'")
      break
    case 'Exists':
    case 'DoesNotExist':
      if (count > 0) yield forbidden(at.values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
      break
    case 'Gt':
    case 'Lt':
      if (count !== 1) yield required(at.values, "must be specified single value when `operator` is 'Lt' or 'Gt'")
      break
    default:
      yield invalid(at.operator, 'not a valid selector operator')
  }
  yield* validateLabelKey(at.key, key)
  if (!allowInvalidValues) for (const [i, value] of (values ?? []).entries()) yield* invalidEach(at.values[i]!, isValidLabelValue(value))
}

/** A requirement on a field of nodes, of which only metadata.name is supported. */
function* validateFieldRequirement(
  { key, operator, values }: NodeSelectorRequirement,
  at: Ref<NodeSelectorRequirement>,
): Iterable<FieldError> {
  if (operator !== 'In' && operator !== 'NotIn') yield invalid(at.operator, 'not a valid selector operator')
  else if (values?.length !== 1)
    yield required(at.values, "must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
  if (key !== 'metadata.name') yield invalid(at.key, 'not a valid field selector key')
  else for (const [i, value] of (values ?? []).entries()) yield* invalidEach(at.values[i]!, nameIsDNSSubdomain(value))
}

/** Whether a required value is no valid label value, as in objects stored long ago. */
export const hasInvalidNodeValues = (selector: NodeSelector | undefined): boolean =>
  (selector?.nodeSelectorTerms ?? []).some(term =>
    term.matchExpressions?.some(({ values }) => values?.some(value => isValidLabelValue(value).length > 0)),
  )
