/**
 * Which requests a webhook or a policy is about: rules name resources and operations, selectors look at labels.
 *
 * Rules depend only on what kind of request it is, so the answer to them is kept for each kind; with a thousand configurations
 * that do not match, a request costs one look-up. Selectors are asked for the few whose rules match.
 */
import { type LabelSelector, labelTermsOf } from '../kinds/shapes/meta.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { type LabelTerms, matchesLabelTerms } from '../schema/selectors.ts'
import { internalError, notFound } from '../schema/status-error.ts'
import type { Attributes } from './plugin.ts'

export type Rule = {
  readonly apiGroups?: readonly string[]
  readonly apiVersions?: readonly string[]
  readonly resources?: readonly string[]
  readonly operations?: readonly string[]
  readonly scope?: string
  /** Of policies alone; empty names every object. */
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

/** What comes of matching: the resource, in the version in which a rule names it, or why nothing does. */
export type Match = { readonly matches: true; readonly resource: Resource } | { readonly matches: false; readonly because: Mismatch }
/** The field that keeps a request out. */
export type Mismatch = 'rules' | 'excludeResourceRules' | 'namespaceSelector' | 'objectSelector'

export class RequestMatcher {
  readonly #criteria: MatchCriteria
  readonly #namespaceTerms: LabelTerms
  readonly #objectTerms: LabelTerms
  /** By resource: what is defined anew is another resource. */
  readonly #known = new WeakMap<Resource, Map<string, RuleMatch>>()

  constructor(criteria: MatchCriteria) {
    this.#criteria = criteria
    this.#namespaceTerms = termsOf(criteria.namespaceSelector)
    this.#objectTerms = termsOf(criteria.objectSelector)
  }

  /** Whether a request is matched. Throws a StatusError when the namespace whose labels decide it is not there. */
  match(attributes: Attributes, namespaceOf: (name: string) => AnyObject | undefined): Match {
    const byRules = this.#matchRules(attributes)
    if (!byRules.matches) return byRules
    if (!this.#matchesNamespace(attributes, namespaceOf)) return { matches: false, because: 'namespaceSelector' }
    return this.#matchesObject(attributes) ? byRules : { matches: false, because: 'objectSelector' }
  }

  /** Whether the rules can match such a request at all, whatever its names and labels. */
  mayMatch(attributes: Attributes): boolean {
    return this.#rulesFor(attributes).included.length > 0
  }

  #rulesFor(attributes: Attributes): RuleMatch {
    const key = requestKind(attributes)
    const ofResource = this.#known.get(attributes.resource) ?? new Map<string, RuleMatch>()
    this.#known.set(attributes.resource, ofResource)
    let known = ofResource.get(key)
    if (!known) ofResource.set(key, (known = this.#decideRules(attributes)))
    return known
  }

  #matchRules(attributes: Attributes): Match {
    const { name } = attributes
    const { included, excluded } = this.#rulesFor(attributes)
    if (excluded.some(({ names }) => isNamed(names, name))) return { matches: false, because: 'excludeResourceRules' }
    const found = included.find(({ names }) => isNamed(names, name))
    return found ? { matches: true, resource: found.resource } : { matches: false, because: 'rules' }
  }

  #decideRules(attributes: Attributes): RuleMatch {
    const { rules, excludeRules = [], matchPolicy, matchesWithoutRules } = this.#criteria
    const isEquivalent = matchPolicy === 'Equivalent'
    const { resource } = attributes
    const everything = rules.length === 0 && matchesWithoutRules
    return {
      included: everything ? [{ resource, names: [] }] : rulesMatching(rules, attributes, isEquivalent),
      excluded: rulesMatching(excludeRules, attributes, isEquivalent),
    }
  }

  /** Objects of the cluster have no namespace to select by; namespaces are selected by their own labels. */
  #matchesNamespace(
    { resource, subresource, operation, namespace, name, object }: Attributes,
    find: (name: string) => AnyObject | undefined,
  ) {
    const isNamespace = resource.group === '' && resource.plural === 'namespaces'
    if (this.#namespaceTerms.length === 0 || (namespace === '' && !isNamespace)) return true
    const isOwn = isNamespace && subresource === '' && (operation === 'CREATE' || operation === 'UPDATE')
    const within = isNamespace ? name : namespace
    const found = isOwn ? object : find(within)
    if (!found) throw notFound({ group: '', plural: 'namespaces', kind: 'Namespace' }, within)
    return matchesLabelTerms(this.#namespaceTerms, found.metadata.labels)
  }

  #matchesObject({ object, oldObject }: Attributes): boolean {
    const terms = this.#objectTerms
    if (terms.length === 0) return true
    // The options of a connection have no labels to select by.
    const matches = (each: AnyObject | undefined) => each?.metadata !== undefined && matchesLabelTerms(terms, each.metadata.labels)
    return matches(object) || matches(oldObject)
  }
}

/** All that rules look at beside the resource. */
const requestKind = ({ subresource, operation, namespace }: Attributes): string =>
  `${subresource} ${operation}${namespace === '' ? ' cluster' : ''}`

/** Webhooks or policies in force, those that may concern a request found by one look-up. */
export class MatchIndex<T extends { readonly matcher: RequestMatcher }> {
  readonly all: readonly T[]
  readonly #known = new WeakMap<Resource, Map<string, readonly T[]>>()

  constructor(all: readonly T[]) {
    this.all = all
  }

  /** Those whose rules can match such a request, in their order. */
  candidates(attributes: Attributes): readonly T[] {
    if (this.all.length === 0) return NONE
    const key = requestKind(attributes)
    const ofResource = this.#known.get(attributes.resource) ?? new Map<string, readonly T[]>()
    this.#known.set(attributes.resource, ofResource)
    let known = ofResource.get(key)
    if (!known) ofResource.set(key, (known = this.all.filter(({ matcher }) => matcher.mayMatch(attributes))))
    return known
  }

  /** Those whose rules cannot match such a request. */
  others(attributes: Attributes): readonly T[] {
    return this.all.filter(({ matcher }) => !matcher.mayMatch(attributes))
  }
}
const NONE: readonly never[] = []

/** Rules that match one kind of request, each with the version in which it names the resource and the objects that it is about. */
type NamedMatch = { readonly resource: Resource; readonly names: readonly string[] }
type RuleMatch = { readonly included: readonly NamedMatch[]; readonly excluded: readonly NamedMatch[] }

const isNamed = (names: readonly string[], name: string): boolean => names.length === 0 || names.includes(name)

/** First the rules that name the resource as it was asked for, then those that name another version of it. */
function rulesMatching(rules: readonly Rule[], attributes: Attributes, isEquivalent: boolean): NamedMatch[] {
  const { resource } = attributes
  const exact = rules.filter(rule => matchesRule(rule, attributes, resource)).map(({ resourceNames: names = [] }) => ({ resource, names }))
  if (!isEquivalent) return exact
  const others = resource.versions.filter(other => other !== resource)
  const equivalent = rules.flatMap(rule =>
    others.filter(other => matchesRule(rule, attributes, other)).map(other => ({ resource: other, names: rule.resourceNames ?? [] })),
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

/** What a selector requires; a selector that is absent or empty requires nothing. */
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

/** Whether no webhook is asked: about what admission is configured with, lest none could be removed, and about who may do what. */
export const isExemptFromWebhooks = ({ resource, ctx }: Attributes): boolean =>
  (resource.group === `admissionregistration.${ctx.groupDomain}` && CONFIGURATION_KINDS.includes(resource.kind)) ||
  (isAccessReview(resource, ctx.groupDomain) && ctx.gate('ExcludeAdmissionWebhookVirtualResources'))

/** Whether no policy is evaluated: about policies themselves, and about who may do what. */
export const isExemptFromPolicies = ({ resource, ctx }: Attributes): boolean =>
  (resource.group === `admissionregistration.${ctx.groupDomain}` && POLICY_KINDS.includes(resource.kind)) ||
  isAccessReview(resource, ctx.groupDomain)

const isAccessReview = ({ group, kind }: Resource, domain: string): boolean =>
  (group === `authentication.${domain}` || group === `authorization.${domain}`) && REVIEW_KINDS.includes(kind)
