/**
 * Discovery of several servers as one document: each group, version and resource that any of them serves, once. Servers are taken in the
 * order of their identities, so that all of them merge to the same; of two descriptions the first counts, with the verbs and subresources
 * of both.
 */
import { deepEqual, type Json, type JsonObject } from '../../lib/json-value.ts'
import type { DiscoveredGroup, DiscoveredResource, DiscoveredVersion, Peers } from '../peers.ts'

/** The groups of this server together with those of its peers. */
export function mergedGroups(own: readonly DiscoveredGroup[], peers: Pick<Peers, 'own' | 'groups'>): readonly DiscoveredGroup[] {
  const others = peers.groups()
  if (others.size === 0) return own
  const lists = [...others, [peers.own, own] as const].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, groups]) => groups)
  const merged = union(lists, ({ metadata }) => metadata.name ?? '', mergedGroup)
  // Without a difference, it is the document of this server.
  return merged === lists[0] ? own : merged
}

function mergedGroup(a: DiscoveredGroup, b: DiscoveredGroup): DiscoveredGroup {
  const versions = union([a.versions, b.versions], each => each.version, mergedVersion)
  return versions === a.versions ? a : { ...a, versions }
}

function mergedVersion(a: DiscoveredVersion, b: DiscoveredVersion): DiscoveredVersion {
  const known = a.resources ?? []
  const resources = union([known, b.resources ?? []], each => each.resource, mergedResource)
  return resources === known ? a : { ...a, resources }
}

function mergedResource(a: DiscoveredResource, b: DiscoveredResource): DiscoveredResource {
  if (deepEqual(a as Json, b as Json)) return a
  const verbs = [...new Set([...(a.verbs ?? []), ...(b.verbs ?? [])])].sort()
  const byName = new Map<Json | undefined, JsonObject>()
  for (const each of [...(a.subresources ?? []), ...(b.subresources ?? [])]) byName.set(each['subresource'], each)
  const subresources = [...byName.values()].sort((x, y) => (String(x['subresource']) < String(y['subresource']) ? -1 : 1))
  return { ...a, verbs, ...(subresources.length > 0 && { subresources }) }
}

/** The elements of all lists, each name once, in the order of the lists. The first list itself, where the others add nothing. */
function union<T>(lists: readonly (readonly T[])[], nameOf: (each: T) => string, merge: (a: T, b: T) => T): readonly T[] {
  const byName = new Map<string, T>()
  let isChanged = false
  for (const list of lists)
    for (const each of list) {
      const name = nameOf(each)
      const known = byName.get(name)
      const now = known === undefined ? each : merge(known, each)
      if (known !== undefined && now !== known) isChanged = true
      byName.set(name, now)
    }
  const names = lists.map(list => list.map(nameOf))
  if (!isChanged && names.every(each => deepEqual(each, names[0]!))) return lists[0]!
  return inCommonOrder(names).map(name => byName.get(name)!)
}

/**
 * All names, each after those that it follows in a list; where lists leave the order open, by name, and so where they contradict each
 * other. A list that has every name is the order: `[a, c], [b, c]` is `a, b, c`, and `[a, b, c], [b, a]` is `a, b, c`.
 */
export function inCommonOrder(lists: readonly (readonly string[])[]): readonly string[] {
  const followers = new Map<string, Set<string>>()
  const waiting = new Map<string, number>()
  for (const list of lists)
    for (const [i, name] of list.entries()) {
      if (!followers.has(name)) followers.set(name, new Set())
      if (!waiting.has(name)) waiting.set(name, 0)
      const before = i === 0 ? undefined : followers.get(list[i - 1]!)!
      if (!before || before.has(name)) continue
      before.add(name)
      waiting.set(name, waiting.get(name)! + 1)
    }
  const all = [...followers.keys()].sort()
  const complete = lists.find(list => list.length === all.length && new Set(list).size === all.length)
  if (complete) return complete
  const ordered: string[] = []
  const ready = all.filter(name => waiting.get(name) === 0)
  for (let next = ready.shift(); next !== undefined; next = ready.shift()) {
    ordered.push(next)
    for (const follower of followers.get(next)!) {
      waiting.set(follower, waiting.get(follower)! - 1)
      if (waiting.get(follower) === 0) ready.push(follower)
    }
    ready.sort()
  }
  return ordered.length === all.length ? ordered : all
}
