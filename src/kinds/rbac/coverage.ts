/** When rules permit all that other rules do: roles may not give away what their writer does not have. */
import { goQuote } from '../../lib/go-text.ts'
import type { PolicyRule } from './policy-rule.ts'

/** Rules can name many verbs times many resources; past this many combinations they are not gone through one by one. */
const MOST_PARTS = 100_000

/**
 * The parts of `wanted` that none of `held` permits, each with one verb, one resource or path and one name at most. A rule of
 * very many parts is left whole unless one rule that is held permits all of it.
 */
export function uncovered(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  const holders = held.map(holderOf)
  const parts: PolicyRule[] = []
  for (const rule of wanted.map(withoutRepeats)) {
    if (holders.some(holder => permitsAll(holder, rule))) continue
    if (countParts(rule) > MOST_PARTS) parts.push(rule)
    else for (const part of partsOf(rule)) if (!holders.some(holder => permits(holder, part))) parts.push(toRule(part))
  }
  return parts
}

const LISTS = ['verbs', 'apiGroups', 'resources', 'resourceNames', 'nonResourceURLs'] as const

function withoutRepeats(rule: PolicyRule): PolicyRule {
  const lists = LISTS.flatMap(name => (rule[name] ? [[name, [...new Set(rule[name])]]] : []))
  return { verbs: [], ...Object.fromEntries(lists) }
}

function countParts({ verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule): number {
  return verbs.length * (apiGroups.length * resources.length * Math.max(1, resourceNames.length) + nonResourceURLs.length)
}

/** What a refusal lists: parts that differ in their verb alone are one line, lines are in order. */
export function describeRules(rules: readonly PolicyRule[]): string {
  const lines = new Set(compact(rules).map(describeRule))
  return [...lines].sort(byBytes).join('\n')
}

type Part = { readonly verb: string; readonly name?: string } & (
  | { readonly group: string; readonly resource: string }
  | { readonly path: string }
)

function* partsOf({ verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule): Iterable<Part> {
  for (const group of apiGroups)
    for (const resource of resources)
      for (const verb of verbs ?? [])
        if (resourceNames.length === 0) yield { group, resource, verb }
        else for (const name of resourceNames) yield { group, resource, verb, name }
  for (const path of nonResourceURLs) for (const verb of verbs ?? []) yield { path, verb }
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

const holderOf = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs = [] }: PolicyRule): Holder => ({
  verbs: new Set(verbs),
  groups: new Set(apiGroups),
  resources: new Set(resources),
  names: new Set(resourceNames),
  paths: nonResourceURLs,
})

/** Whether a rule permits another as a whole. */
function permitsAll(
  holder: Holder,
  { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule,
): boolean {
  const has = (set: ReadonlySet<string>, list: readonly string[]) => set.has('*') || list.every(each => set.has(each))
  const names = holder.names.size === 0 || (resourceNames.length > 0 && resourceNames.every(name => holder.names.has(name)))
  const paths = nonResourceURLs.every(path => holder.paths.some(each => pathCovers(each, path)))
  return has(holder.verbs, verbs) && has(holder.groups, apiGroups) && has(holder.resources, resources) && names && paths
}

function permits({ verbs, groups, resources, names, paths }: Holder, part: Part): boolean {
  if (!verbs.has('*') && !verbs.has(part.verb)) return false
  // A rule that is limited to names is no rule for all of them.
  if (names.size > 0 && (part.name === undefined || !names.has(part.name))) return false
  if ('path' in part) return paths.some(path => pathCovers(path, part.path))
  if (!groups.has('*') && !groups.has(part.group)) return false
  if (resources.has('*') || resources.has(part.resource)) return true
  const slash = part.resource.indexOf('/')
  return slash !== -1 && resources.has(`*${part.resource.slice(slash)}`)
}

/** Whether a path of a rule, which may end in `*`, stands for another. */
export function pathCovers(rule: string, path: string): boolean {
  if (rule === path) return true
  let end = rule.length
  while (end > 0 && rule[end - 1] === '*') end--
  return end < rule.length && path.startsWith(rule.slice(0, end))
}

/** Rules on one resource that differ in their verbs alone become one. */
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

/** A list of texts as `%q` prints it. */
export const quoteList = (list: readonly string[]): string => `[${list.map(goQuote).join(' ')}]`

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
