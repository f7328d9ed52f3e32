/** The served resources, by group, version and plural. Kinds can come and go while the server runs. */
import type { Resource } from '../schema/resource.ts'

export class Catalog {
  /** In serving order. */
  readonly #byPath = new Map<string, Resource>()
  /** The same by group, version and plural: a lookup builds no key, and every request does two. */
  readonly #byGroup = new Map<string, Map<string, Map<string, Resource>>>()
  /** Built-in resources that are not served, by path: the server's own components can use them all the same. */
  readonly #unserved = new Map<string, Resource>()
  #version = 0
  #kinds: { readonly version: number; readonly byKind: ReadonlyMap<string, Resource> } | undefined

  constructor(resources: Iterable<Resource> = [], unserved: Iterable<Resource> = []) {
    for (const r of resources) this.add(r)
    for (const r of unserved) this.#unserved.set(pathOf(r), r)
  }

  add(resource: Resource): void {
    const { group, version, plural } = resource
    this.#byPath.set(pathOf(resource), resource)
    const byVersion = this.#byGroup.get(group) ?? new Map<string, Map<string, Resource>>()
    const byPlural = byVersion.get(version) ?? new Map<string, Resource>()
    this.#byGroup.set(group, byVersion.set(version, byPlural.set(plural, resource)))
    this.#version++
  }

  remove(resource: Resource): void {
    if (!this.#byPath.delete(pathOf(resource))) return
    const { group, version, plural } = resource
    const byVersion = this.#byGroup.get(group)!
    const byPlural = byVersion.get(version)!
    byPlural.delete(plural)
    if (byPlural.size === 0) byVersion.delete(version)
    if (byVersion.size === 0) this.#byGroup.delete(group)
    this.#version++
  }

  find(group: string, version: string, plural: string): Resource | undefined {
    return this.#byGroup.get(group)?.get(version)?.get(plural)
  }

  /** The same for the server's own components, whether or not clients are served. */
  findKnown(group: string, version: string, plural: string): Resource | undefined {
    return this.find(group, version, plural) ?? this.#unserved.get(pathOf({ group, version, plural }))
  }

  /** The resource of an apiVersion and kind. Built-in kinds come first: no definition can replace them. */
  findKind(apiVersion: string, kind: string): Resource | undefined {
    if (this.#kinds?.version !== this.#version) {
      const byKind = new Map<string, Resource>()
      for (const resource of this) {
        const key = `${resource.apiVersion} ${resource.kind}`
        const known = byKind.get(key)
        if (!known || (known.def.custom && !resource.def.custom)) byKind.set(key, resource)
      }
      this.#kinds = { version: this.#version, byKind }
    }
    return this.#kinds.byKind.get(`${apiVersion} ${kind}`)
  }

  /** Whether a group version belongs to built-in kinds: no definition is served in it. */
  isBuiltIn(group: string, version: string): boolean {
    for (const resource of this.#byGroup.get(group)?.get(version)?.values() ?? []) if (!resource.def.custom) return true
    return false
  }

  /** Whether any kind of a group is built in. */
  hasBuiltInGroup(group: string): boolean {
    for (const version of this.#byGroup.get(group)?.keys() ?? []) if (this.isBuiltIn(group, version)) return true
    return false
  }

  /** Invalidates documents made from the catalog though no kind was added or removed, because one of them has changed. */
  touch(): void {
    this.#version++
  }

  /** Changes whenever a kind is added or removed, so that documents made from the catalog know when they are outdated. */
  get version(): number {
    return this.#version
  }

  *[Symbol.iterator](): Iterator<Resource> {
    yield* this.#byPath.values()
  }

  /** One resource for each set of stored objects, in its stored version, whether or not that version is served. */
  storedResources(): readonly Resource[] {
    const all = [...this]
    const storedVersion = (resource: Resource) => resource.conversion?.storedVersion ?? resource
    const unserved = [...this.#unserved.values()].filter(r => !r.conversion)
    const found = new Map<string, Resource>()
    for (const resource of [...all.filter(r => !r.conversion), ...unserved, ...all.filter(r => r.conversion).map(storedVersion)])
      if (!found.has(resource.prefix)) found.set(resource.prefix, resource)
    return [...found.values()]
  }

  /** Groups in serving order, each with its versions, preferred first. */
  groups(): ReadonlyMap<string, readonly string[]> {
    const groups = new Map<string, string[]>()
    for (const { group, version } of this) {
      const versions = groups.get(group) ?? []
      if (!versions.includes(version)) groups.set(group, [...versions, version].sort(byPreference))
    }
    return groups
  }

  /** The resources of one group version, by plural name; undefined when that version is not served. */
  resources(group: string, version: string): readonly Resource[] | undefined {
    const found = [...this].filter(r => r.group === group && r.version === version).sort((a, b) => (a.plural < b.plural ? -1 : 1))
    return found.length ? found : undefined
  }
}

const pathOf = ({ group, version, plural }: Pick<Resource, 'group' | 'version' | 'plural'>) => `${group}/${version}/${plural}`

/** Stable before beta before alpha, then the higher number first: v2, v1, v1beta2, v1beta1, v1alpha1. */
export function byPreference(a: string, b: string): number {
  const [rankA, majorA, minorA] = versionRank(a)
  const [rankB, majorB, minorB] = versionRank(b)
  return rankB - rankA || majorB - majorA || minorB - minorA || (a < b ? -1 : 1)
}

function versionRank(version: string): [rank: number, major: number, minor: number] {
  const [, major, level, minor] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? []
  if (major === undefined) return [-1, 0, 0]
  return [level === undefined ? 2 : level === 'beta' ? 1 : 0, Number(major), Number(minor ?? 0)]
}
