/** The reference of a binding to the parameters of its policy. */
import { isValidPathSegmentName } from '../../lib/names.ts'
import { type FieldError, forbidden, invalidEach, type Ref, required, unsupported } from '../../schema/refs.ts'
import { message, type Static, string } from '../../schema/types.ts'
import { formatLabelSelector, LabelSelector, validateLabelSelector } from '../rules/meta.ts'

export const ParamRef = message('ParamRef', {
  name: [1, string, 'Name of the parameter object; either this or a selector.'],
  namespace: [2, string, 'Its namespace; that of the request when absent and parameters are namespaced.'],
  selector: [3, LabelSelector, 'Which objects are parameters, by their labels.'],
  parameterNotFoundAction: [4, string.optional(), 'The treatment of requests when there is none: Allow or Deny.'],
}).atomic()
export type ParamRef = Static<typeof ParamRef>

const EXCLUSIVE = 'name and selector are mutually exclusive'

/** Parameters are named or selected, and parameterNotFoundAction is set. */
export function* validateParamRef(ref: ParamRef, at: Ref<ParamRef>): Iterable<FieldError> {
  const { name, selector, parameterNotFoundAction: action } = ref
  if (name) yield* invalidEach(at.name, isValidPathSegmentName(name))
  if (name && selector) yield forbidden(at.name, EXCLUSIVE)
  yield* validateLabelSelector(selector, at.selector)
  if (name && selector) yield forbidden(at.selector, EXCLUSIVE)
  if (!name && !selector) yield required(at, 'one of name or selector must be specified')
  if (!action) yield required(at.parameterNotFoundAction)
  else if (action !== 'Deny' && action !== 'Allow') yield unsupported(at.parameterNotFoundAction, 'Deny', 'Allow')
}

/** The reference in tables. */
export function formatParamRef(ref: ParamRef | undefined): string {
  if (ref?.name) return `${ref.namespace || '*'}/${ref.name}`
  return ref?.selector ? formatLabelSelector(ref.selector) : '<unset>'
}
