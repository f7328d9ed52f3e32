/**
 * Which requests a webhook or a policy is about: rules name resources and operations, selectors look at labels.
 *
 * Rules depend only on what kind of request it is, so the answer to them is kept for each kind. `match-index.ts` finds those whose rules
 * and labels may match without looking at the others.
 */
import { type LabelSelector, labelTermsOf } from '../kinds/rules/meta.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { type LabelTerm, type LabelTerms, matchesLabelTerms } from '../schema/selectors.ts'
import { internalError, notFound } from '../schema/status-error.ts'
import type { Attributes } from './attributes.ts'
import { requestNamespace } from './request-namespace.ts'

export type Rule = {
  readonly apiGroups?: readonly string[]
  readonly apiVersions?: readonly string[]
  readonly resources?: readonly string[]
  readonly operations?: readonly string[]
  readonly scope?: string
  /** For policies alone; empty names every object. */
  readonly resourceNames?: readonly string[]
}

export type MatchCriteria = {
  /** Without any, a binding of a policy matches every resource, and a webhook none. */
  readonly rules: readonly Rule[]
  readonly excludeRules?: readonly Rule[]
  readonly matchPolicy?: string | undefined
  readonly namespaceSelector?: LabelSelector | undefined
  readonly objectSelector?: LabelSelector | undefined
  readonly matchesWithoutRules?: boolean
}

/** The outcome of matching: the resource, in the version in which a rule names it, or why nothing does. */
export type Match = { readonly matches: true; readonly resource: Resource } | { readonly matches: false; readonly because: Mismatch }
/** The field that keeps a request out. */
export type Mismatch = 'rules' | 'excludeResourceRules' | 'namespaceSelector' | 'objectSelector'

export class RequestMatcher {
  /** A label that a namespace must have, and one that an object must have, to be selected; undefined where it can do without. */
  readonly requires: { readonly ofNamespace: LabelTerm | undefined; readonly ofObject: LabelTerm | undefined }
  readonly #criteria: MatchCriteria
  readonly #namespaceTerms: LabelTerms
  readonly #objectTerms: LabelTerms
  /** Keyed by resource: a kind that is defined again is another resource. */
  readonly #known = new WeakMap<Resource, Map<string, RuleMatch>>()

  constructor(criteria: MatchCriteria) {
    this.#criteria = criteria
    this.#namespaceTerms = termsOf(criteria.namespaceSelector)
    this.#objectTerms = termsOf(criteria.objectSelector)
    this.requires = { ofNamespace: this.#namespaceTerms.find(isPositive), ofObject: this.#objectTerms.find(isPositive) }
  }

  /** Whether a request is matched. Throws a StatusError when the namespace whose labels decide it is not there. */
  match(attributes: Attributes, namespaceOf: NamespaceOf, rules: RuleMatch = this.rulesFor(attributes)): Match {
    const byRules = matchRules(rules, attributes)
    if (!byRules.matches) return byRules
    const namespace = this.#namespaceTerms.length === 0 ? UNSELECTED : selectedNamespace(attributes, namespaceOf)
    if (namespace && namespace !== UNSELECTED && !matchesLabelTerms(this.#namespaceTerms, namespace.metadata.labels))
      return OUTSIDE_NAMESPACES
    if (!this.#matchesObject(attributes)) return OUTSIDE_OBJECTS
    if (!namespace) throw notFound({ group: '', plural: 'namespaces', kind: 'Namespace' }, requestNamespace(attributes))
    return byRules
  }

  /** The answer of the rules to such requests, whatever their names and labels. */
  rulesFor(attributes: Attributes): RuleMatch {
    const key = requestKind(attributes)
    const ofResource = this.#known.get(attributes.resource) ?? new Map<string, RuleMatch>()
    this.#known.set(attributes.resource, ofResource)
    let known = ofResource.get(key)
    if (!known) ofResource.set(key, (known = this.#decideRules(attributes)))
    return known
  }

  #decideRules(attributes: Attributes): RuleMatch {
    const { rules, excludeRules = [], matchPolicy, matchesWithoutRules } = this.#criteria
    const isEquivalent = matchPolicy === 'Equivalent'
    const { resource } = attributes
    const everything = rules.length === 0 && matchesWithoutRules
    return {
      included: everything ? [namedMatch(resource)] : rulesMatching(rules, attributes, isEquivalent),
      excluded: rulesMatching(excludeRules, attributes, isEquivalent),
    }
  }

  #matchesObject({ object, oldObject }: Attributes): boolean {
    const terms = this.#objectTerms
    if (terms.length === 0) return true
    // The options of a connection have no labels to select by.
    const matches = (each: AnyObject | undefined) => each?.metadata !== undefined && matchesLabelTerms(terms, each.metadata.labels)
    return matches(object) || matches(oldObject)
  }
}

export type NamespaceOf = (name: string) => AnyObject | undefined

/** Stands for the namespace of objects that are selected whatever the labels of their namespace are. */
export const UNSELECTED = 'unselected'

/**
 * The namespace by whose labels a request is selected: of objects of the cluster none, of namespaces themselves. Undefined when it is not
 * there.
 */
export function selectedNamespace(attributes: Attributes, find: NamespaceOf): AnyObject | typeof UNSELECTED | undefined {
  const { resource, subresource, operation, namespace, object } = attributes
  const isNamespace = resource.group === '' && resource.plural === 'namespaces'
  if (namespace === '' && !isNamespace) return UNSELECTED
  if (isNamespace && subresource === '' && (operation === 'CREATE' || operation === 'UPDATE')) return object
  return find(requestNamespace(attributes))
}

const OUTSIDE_NAMESPACES: Match = { matches: false, because: 'namespaceSelector' }
const OUTSIDE_OBJECTS: Match = { matches: false, because: 'objectSelector' }

function matchRules({ included, excluded }: RuleMatch, { name }: Attributes): Match {
  if (excluded.some(({ names }) => isNamed(names, name))) return EXCLUDED
  return included.find(({ names }) => isNamed(names, name))?.match ?? NOT_INCLUDED
}
const EXCLUDED: Match = { matches: false, because: 'excludeResourceRules' }
const NOT_INCLUDED: Match = { matches: false, because: 'rules' }

/** Whether a label must be there for a term to hold. */
const isPositive = ({ operator }: LabelTerm): boolean => operator === '=' || operator === '==' || operator === 'in' || operator === 'exists'

/** All that rules look at beside the resource. */
export const requestKind = ({ subresource, operation, namespace }: Attributes): string =>
  `${subresource} ${operation}${namespace === '' ? ' cluster' : ''}`

/** Rules that match one kind of request, each with the version in which it names the resource and the objects that it is about. */
type NamedMatch = { readonly match: Match; readonly names: readonly string[] }
export type RuleMatch = { readonly included: readonly NamedMatch[]; readonly excluded: readonly NamedMatch[] }

const namedMatch = (resource: Resource, names: readonly string[] = []): NamedMatch => ({ match: { matches: true, resource }, names })

const isNamed = (names: readonly string[], name: string): boolean => names.length === 0 || names.includes(name)

/** First the rules that name the resource as it was asked for, then those that name another version of it. */
function rulesMatching(rules: readonly Rule[], attributes: Attributes, isEquivalent: boolean): NamedMatch[] {
  const { resource } = attributes
  const exact = rules
    .filter(rule => matchesRule(rule, attributes, resource))
    .map(({ resourceNames }) => namedMatch(resource, resourceNames))
  if (!isEquivalent) return exact
  const others = resource.versions.filter(other => other !== resource)
  const equivalent = rules.flatMap(rule =>
    others.filter(other => matchesRule(rule, attributes, other)).map(other => namedMatch(other, rule.resourceNames)),
  )
  return [...exact, ...equivalent]
}

function matchesRule(rule: Rule, { subresource, operation, namespace }: Attributes, { group, version, plural }: Resource): boolean {
  const { apiGroups = [], apiVersions = [], operations = [], resources = [], scope = '*' } = rule
  const isOf = (items: readonly string[], wanted: string) => items.includes('*') || items.includes(wanted)
  const isOfCluster = namespace === '' || (group === '' && plural === 'namespaces')
  return (
    (scope === '*' || (scope === 'Cluster') === isOfCluster) &&
    isOf(operations, operation) &&
    isOf(apiGroups, group) &&
    isOf(apiVersions, version) &&
    resources.some(text => {
      const slash = text.indexOf('/')
      const [name, sub] = slash < 0 ? [text, ''] : [text.slice(0, slash), text.slice(slash + 1)]
      return (name === '*' || name === plural) && (sub === '*' || sub === subresource)
    })
  )
}

/** The requirements of a selector; a selector that is absent or empty requires nothing. */
function termsOf(selector: LabelSelector | undefined): LabelTerms {
  if (!selector) return []
  const terms = labelTermsOf(selector)
  if (!terms) throw internalError('a label selector cannot be read')
  return terms
}

const POLICY_KINDS = [
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionPolicyBinding',
]
const CONFIGURATION_KINDS = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration', ...POLICY_KINDS]
const REVIEW_KINDS = [
  'TokenReview',
  'SelfSubjectReview',
  'SubjectAccessReview',
  'LocalSubjectAccessReview',
  'SelfSubjectAccessReview',
  'SelfSubjectRulesReview',
]

/** Which webhooks or policies a request is exempt from: none, those of clients but not those of manifests, or all. */
export type Exemption = 'none' | 'clients' | 'all'

/** Webhooks of clients do not apply to the configuration of admission, since otherwise they could not be removed; none applies to reviews. */
export function exemptionFromWebhooks({ resource, ctx }: Attributes): Exemption {
  if (isAccessReview(resource, ctx.groupDomain) && ctx.gate('ExcludeAdmissionWebhookVirtualResources')) return 'all'
  return isConfiguration(resource, ctx.groupDomain, CONFIGURATION_KINDS) ? 'clients' : 'none'
}

/** Clients' policies are not evaluated for policies themselves; none is evaluated for access reviews. */
export function exemptionFromPolicies({ resource, ctx }: Attributes): Exemption {
  if (isAccessReview(resource, ctx.groupDomain)) return 'all'
  return isConfiguration(resource, ctx.groupDomain, POLICY_KINDS) ? 'clients' : 'none'
}

/** Divides candidates of a request by whether the request is exempt from them. */
export function withoutExempt<T extends { readonly item: { readonly isStatic: boolean } }>(
  candidates: readonly T[],
  exemption: Exemption,
): { readonly concerned: readonly T[]; readonly exempt: readonly T[] } {
  if (exemption === 'none') return { concerned: candidates, exempt: [] }
  if (exemption === 'all') return { concerned: [], exempt: candidates }
  return { concerned: candidates.filter(({ item }) => item.isStatic), exempt: candidates.filter(({ item }) => !item.isStatic) }
}

const isConfiguration = ({ group, kind }: Resource, domain: string, kinds: readonly string[]): boolean =>
  group === `admissionregistration.${domain}` && kinds.includes(kind)

const isAccessReview = ({ group, kind }: Resource, domain: string): boolean =>
  (group === `authentication.${domain}` || group === `authorization.${domain}`) && REVIEW_KINDS.includes(kind)
