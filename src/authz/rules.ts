/** The rules of one role, arranged so that a decision looks up what it needs instead of going through them. */
import { pathCovers } from '../kinds/rbac/coverage.ts'
import type { PolicyRule } from '../kinds/rbac/policy-rule.ts'
import type { Attributes } from '../schema/access.ts'

type Grant = { readonly verbs: ReadonlySet<string>; readonly names: ReadonlySet<string> | undefined }
type Paths = { readonly verbs: ReadonlySet<string>; readonly paths: readonly string[] }

export class Rules {
  /** As they were written. */
  readonly all: readonly PolicyRule[]
  /** By API group, then by resource; both may be `*`. */
  readonly #grants = new Map<string, Map<string, Grant[]>>()
  readonly #paths: Paths[] = []

  constructor(rules: readonly PolicyRule[]) {
    this.all = rules
    for (const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } of rules) {
      const grant: Grant = { verbs: new Set(verbs), names: resourceNames.length === 0 ? undefined : new Set(resourceNames) }
      for (const group of apiGroups) for (const resource of resources) this.#grantsOn(group, resource).push(grant)
      if (nonResourceURLs.length > 0) this.#paths.push({ verbs: grant.verbs, paths: nonResourceURLs })
    }
  }

  /** Whether any of the rules permits this. */
  permit({ verb, path, resource }: Attributes): boolean {
    if (resource === undefined)
      return this.#paths.some(({ verbs, paths }) => has(verbs, verb) && paths.some(each => pathCovers(each, path)))
    const { group, plural, subresource, name } = resource
    return this.#permitIn(group, { verb, plural, subresource, name }) || this.#permitIn('*', { verb, plural, subresource, name })
  }

  #permitIn(group: string, { verb, plural, subresource, name }: { verb: string; plural: string; subresource: string; name: string }) {
    const grants = this.#grants.get(group)
    if (!grants) return false
    const allows = (resource: string) =>
      grants.get(resource)?.some(({ verbs, names }) => has(verbs, verb) && (names === undefined || names.has(name))) ?? false
    if (allows('*')) return true
    return subresource === '' ? allows(plural) : allows(`${plural}/${subresource}`) || allows(`*/${subresource}`)
  }

  #grantsOn(group: string, resource: string): Grant[] {
    let byResource = this.#grants.get(group)
    if (!byResource) this.#grants.set(group, (byResource = new Map()))
    let grants = byResource.get(resource)
    if (!grants) byResource.set(resource, (grants = []))
    return grants
  }
}

const has = (verbs: ReadonlySet<string>, verb: string) => verbs.has('*') || verbs.has(verb)
