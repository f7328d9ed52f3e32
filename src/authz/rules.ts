/** The rules of one role, indexed so that a decision looks up the matching ones instead of testing all. */
import { pathCovers } from '../kinds/rbac/coverage.ts'
import type { PolicyRule } from '../kinds/rbac/policy-rule.ts'
import type { Attributes } from '../schema/access.ts'

type Grant = { readonly verbs: ReadonlySet<string>; readonly names: ReadonlySet<string> | undefined }
/** A rule with so many groups and resources that an index entry for each pair would cost too much. */
type Wide = Grant & { readonly groups: ReadonlySet<string>; readonly resources: ReadonlySet<string> }
type Paths = { readonly verbs: ReadonlySet<string>; readonly paths: readonly string[] }

export class Rules {
  /** The original rules. */
  readonly all: readonly PolicyRule[]
  /** Grants by API group, then by resource; both may be `*`. */
  readonly #grants = new Map<string, Map<string, Grant[]>>()
  readonly #wide: Wide[] = []
  readonly #paths: Paths[] = []

  constructor(rules: readonly PolicyRule[]) {
    this.all = rules
    for (const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } of rules) {
      const grant: Grant = { verbs: new Set(verbs), names: resourceNames.length === 0 ? undefined : new Set(resourceNames) }
      if (apiGroups.length * resources.length > MAX_PAIRS)
        this.#wide.push({ ...grant, groups: new Set(apiGroups), resources: new Set(resources) })
      else for (const group of apiGroups) for (const resource of resources) this.#grantsOn(group, resource).push(grant)
      if (nonResourceURLs.length > 0) this.#paths.push({ verbs: grant.verbs, paths: nonResourceURLs })
    }
  }

  /** Whether any of the rules permits the request. */
  permit({ verb, path, resource }: Attributes): boolean {
    if (resource === undefined)
      return this.#paths.some(({ verbs, paths }) => has(verbs, verb) && paths.some(each => pathCovers(each, path)))
    const { group, plural, subresource, name } = resource
    const access = { verb, plural, subresource, name }
    if (this.#permitIn(group, access) || this.#permitIn('*', access)) return true
    return this.#wide.some(wide => {
      const names = subresource === '' ? ['*', plural] : ['*', `${plural}/${subresource}`, `*/${subresource}`]
      return has(wide.groups, group) && names.some(each => wide.resources.has(each)) && grants(wide, access)
    })
  }

  #permitIn(group: string, access: ResourceAccess): boolean {
    const byResource = this.#grants.get(group)
    if (!byResource) return false
    const { plural, subresource } = access
    const allows = (resource: string) => byResource.get(resource)?.some(grant => grants(grant, access)) ?? false
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

const MAX_PAIRS = 1000
type ResourceAccess = { readonly verb: string; readonly plural: string; readonly subresource: string; readonly name: string }

const has = (set: ReadonlySet<string>, wanted: string) => set.has('*') || set.has(wanted)
const grants = ({ verbs, names }: Grant, { verb, name }: ResourceAccess) => has(verbs, verb) && (names === undefined || names.has(name))
