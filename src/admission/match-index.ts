/**
 * Webhooks or policies in force, found by the properties of a request: by its resource and operation first, then by its labels. Those that
 * require a label that neither the namespace nor the object has are skipped, so that a thousand of them cost a request next to nothing.
 */
import type { Resource } from '../schema/resource.ts'
import type { LabelTerm } from '../schema/selectors.ts'
import type { Attributes } from './attributes.ts'
import { type NamespaceOf, type RequestMatcher, type RuleMatch, requestKind, selectedNamespace, UNSELECTED } from './matching.ts'

/** One of them, with its place among all and the outcome of its rules for such a request. */
export type Candidate<T> = { readonly item: T; readonly position: number; readonly rules: RuleMatch }

type Matched = { readonly matcher: RequestMatcher }

export class MatchIndex<T extends Matched> {
  readonly #all: readonly T[]
  readonly #known = new WeakMap<Resource, Map<string, Candidates<T>>>()

  constructor(all: readonly T[]) {
    this.#all = all
  }

  get isEmpty(): boolean {
    return this.#all.length === 0
  }

  /** Those whose rules can match such a request, in their order. */
  byRules(attributes: Attributes): readonly Candidate<T>[] {
    return this.#all.length === 0 ? NONE : this.#candidates(attributes).all
  }

  /** Those whose rules can match such a request, and whose selectors do not require a label that it lacks. */
  byLabels(attributes: Attributes, namespaceOf: NamespaceOf): readonly Candidate<T>[] {
    return this.#all.length === 0 ? NONE : this.#candidates(attributes).byLabels(attributes, namespaceOf)
  }

  /** Those whose rules cannot match such a request. */
  others(attributes: Attributes): readonly T[] {
    return this.#all.filter(({ matcher }) => matcher.rulesFor(attributes).included.length === 0)
  }

  #candidates(attributes: Attributes): Candidates<T> {
    const key = requestKind(attributes)
    const ofResource = this.#known.get(attributes.resource) ?? new Map<string, Candidates<T>>()
    this.#known.set(attributes.resource, ofResource)
    let known = ofResource.get(key)
    if (!known) ofResource.set(key, (known = new Candidates(this.#all, attributes)))
    return known
  }
}
const NONE: readonly never[] = []

/** Those whose rules can match one kind of request. */
class Candidates<T extends Matched> {
  readonly all: readonly Candidate<T>[]
  /** Those that require no label. */
  readonly #free: Candidate<T>[] = []
  readonly #byNamespace = new LabelIndex<Candidate<T>>()
  readonly #byObject = new LabelIndex<Candidate<T>>()

  constructor(all: readonly T[], attributes: Attributes) {
    this.all = all.flatMap((item, position) => {
      const rules = item.matcher.rulesFor(attributes)
      return rules.included.length > 0 ? [{ item, position, rules }] : []
    })
    const hasNamespace = selectedNamespace(attributes, () => undefined) !== UNSELECTED
    for (const candidate of this.all) {
      const { ofNamespace, ofObject } = candidate.item.matcher.requires
      if (ofNamespace && hasNamespace) this.#byNamespace.add(ofNamespace, candidate)
      else if (ofObject) this.#byObject.add(ofObject, candidate)
      else this.#free.push(candidate)
    }
  }

  byLabels(attributes: Attributes, namespaceOf: NamespaceOf): readonly Candidate<T>[] {
    if (this.#free.length === this.all.length) return this.all
    const found: Candidate<T>[] = []
    if (!this.#byNamespace.isEmpty) {
      const namespace = selectedNamespace(attributes, namespaceOf)
      // Whoever wants to know the labels of a namespace that is not there finds out by asking for them.
      if (namespace === undefined || namespace === UNSELECTED) return this.all
      this.#byNamespace.collect(namespace.metadata.labels, found)
    }
    if (!this.#byObject.isEmpty) {
      this.#byObject.collect(attributes.object?.metadata?.labels, found)
      this.#byObject.collect(attributes.oldObject?.metadata?.labels, found)
    }
    if (found.length === 0) return this.#free
    return [...new Set([...this.#free, ...found])].sort((a, b) => a.position - b.position)
  }
}

/** Things by the label that each requires. */
class LabelIndex<T> {
  readonly #byKey = new Map<string, { readonly whatever: T[]; readonly byValue: Map<string, T[]> }>()

  get isEmpty(): boolean {
    return this.#byKey.size === 0
  }

  add({ key, operator, values }: LabelTerm, item: T): void {
    let ofKey = this.#byKey.get(key)
    if (!ofKey) this.#byKey.set(key, (ofKey = { whatever: [], byValue: new Map() }))
    if (operator === 'exists') ofKey.whatever.push(item)
    for (const value of values) {
      const ofValue = ofKey.byValue.get(value)
      if (ofValue) ofValue.push(item)
      else ofKey.byValue.set(value, [item])
    }
  }

  /** Adds what requires one of these labels. */
  collect(labels: Readonly<Record<string, string>> | null | undefined, into: T[]): void {
    for (const key in labels) {
      const ofKey = this.#byKey.get(key)
      if (!ofKey) continue
      into.push(...ofKey.whatever, ...(ofKey.byValue.get(labels[key]!) ?? []))
    }
  }
}
