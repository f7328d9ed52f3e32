/**
 * Privilege escalation: finds permissions of rules that other rules do not cover. Roles may not grant permissions that their writer does
 * not have.
 */
import { goQuote } from '../../lib/go-text.ts'
import type { PolicyRule } from './policy-rule.ts'

/** The maximum number of missing rules in an error. */
const MAX_PARTS = 2_000
/** The number of comparisons is a product. A rule that needs more than this counts as not covered, so that the work is bounded. */
const MAX_COMPARISONS = 500_000

/** The parts of `wanted` that none of `held` permits, each with one verb, one resource or path and at most one name. */
export function uncovered(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  const holders = new Holders(held.map(holderOf))
  const comparisons = { left: MAX_COMPARISONS }
  const parts: PolicyRule[] = []
  for (const rule of wanted)
    for (const part of lacking(rule, holders, comparisons)) {
      parts.push(toRule(part))
      if (parts.length === MAX_PARTS || comparisons.left < 0) return parts
    }
  return parts
}

/** The list in a refusal: parts that differ only in their verb are one line, lines are sorted. */
export function describeRules(rules: readonly PolicyRule[]): string {
  const lines = new Set(compact(rules).map(describeRule))
  return [...lines].sort(byBytes).join('\n')
}

type Part = { readonly verb: string; readonly name?: string } & (
  | { readonly group: string; readonly resource: string }
  | { readonly path: string }
)

/** A rule that may permit some of a wanted one, and the parts of it that it fully permits. */
type Candidate = { readonly holder: Holder; readonly resources: boolean; readonly verbs: boolean; readonly names: boolean }
type Comparisons = { left: number }

/** The parts of a rule that are not covered. A part that one rule covers completely is not broken down. */
function* lacking(rule: PolicyRule, holders: Holders, comparisons: Comparisons): Iterable<Part> {
  const { apiGroups, resources, verbs, resourceNames: names, nonResourceURLs } = rule
  const wanted = { resources: unique(resources), verbs: unique(verbs), names: unique(names) }
  const concerned = holders.concerning(apiGroups ?? [], nonResourceURLs ?? [])
  comparisons.left -= concerned.length
  if (comparisons.left < 0) concerned.length = 0
  const candidates = concerned.map(
    (holder): Candidate => ({
      holder,
      resources: wanted.resources.every(resource => hasResource(holder, resource)),
      verbs: wanted.verbs.every(verb => has(holder.verbs, verb)),
      names: holder.names.size === 0 || (wanted.names.length > 0 && wanted.names.every(name => holder.names.has(name))),
    }),
  )
  for (const group of unique(apiGroups)) {
    const inGroup = narrowed(candidates, ({ holder }) => has(holder.groups, group), comparisons)
    if (inGroup.some(each => each.resources && each.verbs && each.names)) continue
    for (const resource of wanted.resources) {
      const onIt = narrowed(inGroup, ({ holder }) => hasResource(holder, resource), comparisons)
      if (onIt.some(each => each.verbs && each.names)) continue
      for (const verb of wanted.verbs) {
        const permitting = narrowed(onIt, ({ holder }) => has(holder.verbs, verb), comparisons)
        if (permitting.some(each => each.names)) continue
        if (wanted.names.length === 0) yield { group, resource, verb }
        for (const name of wanted.names)
          if (narrowed(permitting, ({ holder }) => holder.names.has(name), comparisons).length === 0) yield { group, resource, verb, name }
      }
    }
  }
  for (const path of unique(nonResourceURLs)) {
    const onIt = narrowed(
      candidates,
      ({ holder }) => holder.names.size === 0 && holder.paths.some(each => pathCovers(each, path)),
      comparisons,
    )
    for (const verb of wanted.verbs)
      if (narrowed(onIt, ({ holder }) => has(holder.verbs, verb), comparisons).length === 0) yield { path, verb }
  }
}

const unique = (list: readonly string[] | null | undefined): readonly string[] => [...new Set(list ?? [])]

/** Once the budget is exhausted, nothing is covered. */
function narrowed(
  candidates: readonly Candidate[],
  test: (candidate: Candidate) => boolean,
  comparisons: Comparisons,
): readonly Candidate[] {
  comparisons.left -= candidates.length + 1
  return comparisons.left < 0 ? [] : candidates.filter(test)
}

function toRule(part: Part): PolicyRule {
  if ('path' in part) return { verbs: [part.verb], nonResourceURLs: [part.path] }
  const { verb, group, resource, name } = part
  return { verbs: [verb], apiGroups: [group], resources: [resource], ...(name !== undefined && { resourceNames: [name] }) }
}

type Holder = {
  readonly verbs: ReadonlySet<string>
  readonly groups: ReadonlySet<string>
  readonly resources: ReadonlySet<string>
  readonly names: ReadonlySet<string>
  readonly paths: readonly string[]
}

/** The held rules, indexed by group and path: most do not concern the wanted ones. */
class Holders {
  readonly #all: readonly Holder[]
  readonly #byGroup = new Map<string, Holder[]>()

  constructor(all: readonly Holder[]) {
    this.#all = all
    for (const holder of all)
      for (const group of holder.groups) {
        const inGroup = this.#byGroup.get(group)
        if (inGroup) inGroup.push(holder)
        else this.#byGroup.set(group, [holder])
      }
  }

  /** The rules for these groups or paths, each once. */
  concerning(groups: readonly string[], paths: readonly string[]): Holder[] {
    if (paths.length > 0) return [...this.#all]
    return [...new Set(['*', ...groups].flatMap(group => this.#byGroup.get(group) ?? []))]
  }
}

const holderOf = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs = [] }: PolicyRule): Holder => ({
  verbs: new Set(verbs),
  groups: new Set(apiGroups),
  resources: new Set(resources),
  names: new Set(resourceNames),
  paths: nonResourceURLs,
})

const has = (set: ReadonlySet<string>, value: string) => set.has('*') || set.has(value)

function hasResource({ resources }: Holder, resource: string): boolean {
  if (has(resources, resource)) return true
  const slash = resource.indexOf('/')
  return slash !== -1 && resources.has(`*${resource.slice(slash)}`)
}

/** Whether a path of a rule, which may end in `*`, covers another. */
export function pathCovers(rule: string, path: string): boolean {
  if (rule === path) return true
  let end = rule.length
  while (end > 0 && rule[end - 1] === '*') end--
  return end < rule.length && path.startsWith(rule.slice(0, end))
}

/** Joins rules for one resource that differ only in their verbs. */
function compact(rules: readonly PolicyRule[]): PolicyRule[] {
  const simple = new Map<string, PolicyRule>()
  const others: PolicyRule[] = []
  for (const rule of rules) {
    if (rule.nonResourceURLs) {
      others.push(rule)
      continue
    }
    const key = JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames])
    const known = simple.get(key)
    if (known) known.verbs.push(...rule.verbs)
    else simple.set(key, { ...rule, verbs: [...rule.verbs] })
  }
  return [...others, ...simple.values()]
}

function describeRule({ apiGroups, resources, nonResourceURLs, resourceNames, verbs }: PolicyRule): string {
  const parts = Object.entries({
    APIGroups: apiGroups,
    Resources: resources,
    NonResourceURLs: nonResourceURLs,
    ResourceNames: resourceNames,
    Verbs: verbs,
  })
  const texts = parts.filter(([, list]) => list && list.length > 0).map(([name, list]) => `${name}:${quoteList(list!)}`)
  return `{${texts.join(', ')}}`
}

/** A list of strings as `%q` prints it. */
export const quoteList = (list: readonly string[]): string => `[${list.map(goQuote).join(' ')}]`

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
