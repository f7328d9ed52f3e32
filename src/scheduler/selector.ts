/** Label selectors, read once and asked often. */
import { isEmptySelector, type LabelSelector, labelTermsOf } from '../kinds/rules/meta.ts'
import { type LabelTerm, type LabelTerms, matchesLabelTerms } from '../schema/selectors.ts'

export type Labels = Readonly<Record<string, string>>

export type Selector = {
  readonly matches: (labels: Labels) => boolean
  /** Whether it selects everything because it says nothing. */
  readonly isEmpty: boolean
}

export const NOTHING: Selector = { matches: () => false, isEmpty: false }
const EVERYTHING: Selector = { matches: () => true, isEmpty: true }

/** An absent selector selects nothing, an empty one everything, and one that cannot be read nothing. `more` must hold as well. */
export function selectorOf(selector: LabelSelector | undefined, more: Labels = {}): Selector {
  const terms = selector && labelTermsOf(selector)
  if (!terms) return NOTHING
  const further = equalTerms(more)
  return isEmptySelector(selector) && further.length === 0 ? EVERYTHING : selectorFor([...further, ...terms])
}

/** Selects objects that have all of these labels. */
export const selectorForLabels = (labels: Labels): Selector => selectorFor(equalTerms(labels))

export const selectorFor = (terms: LabelTerms): Selector =>
  terms.length === 0 ? EVERYTHING : { matches: labels => matchesLabelTerms(terms, labels), isEmpty: false }

const equalTerms = (labels: Labels): LabelTerm[] =>
  Object.entries(labels).map(([key, value]) => ({ key, operator: '=', values: [value] }) as const)
