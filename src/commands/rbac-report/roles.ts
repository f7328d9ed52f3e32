/** The smallest roles that allow recorded uses, and the permissions of roles that no use needed. */
import type { AccessUse } from '../../public.d.ts'

export type Rule = {
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
  readonly verbs: readonly string[]
}

export type Role = {
  readonly kind: 'Role' | 'ClusterRole'
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly rules?: readonly Rule[] | null
}

export type Binding = {
  readonly kind: 'RoleBinding' | 'ClusterRoleBinding'
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly roleRef: { readonly kind: string; readonly name: string }
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[]
}

/** A user of a run, with everything that the user did. */
export type Account = { readonly user: string; readonly groups: readonly string[]; readonly uses: readonly AccessUse[] }

const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']

/** Roles that every authenticated user has allow these. */
const PUBLIC_PATHS = /^\/(api|apis|openapi|version|healthz|livez|readyz)(\/|$)/
const PUBLIC_RESOURCES = ['selfsubjectaccessreviews', 'selfsubjectrulesreviews', 'selfsubjectreviews']

const isPublic = ({ resource, path }: AccessUse): boolean =>
  resource === '' ? PUBLIC_PATHS.test(path) : PUBLIC_RESOURCES.includes(resource)

const resourceOf = ({ resource, subresource }: AccessUse): string => (subresource === '' ? resource : `${resource}/${subresource}`)

/** The uses by user; users whose rights nobody grants by roles are left out. */
export function accountsIn(uses: readonly AccessUse[]): Account[] {
  const byUser = groupBy(uses, ({ user }) => user)
  const accounts = [...byUser].map(([user, own]) => ({ user, groups: own[0]?.groups ?? [], uses: own.filter(use => !isPublic(use)) }))
  const isGranted = ({ user, groups, uses: own }: Account) =>
    user !== '' &&
    !groups.includes('system:masters') &&
    own.length > 0 &&
    (!user.startsWith('system:') || user.startsWith('system:serviceaccount:'))
  return accounts.filter(isGranted).sort((a, b) => (a.user < b.user ? -1 : 1))
}

/**
 * One role for the cluster and one for each namespace, as needed. Permissions that were used in one namespace alone belong to its role;
 * those used in several, or in all of them at once, to the role for the cluster.
 */
export function smallestRoles(uses: readonly AccessUse[], name: string): Role[] {
  const places = new Map<string, Set<string>>()
  const keyOf = (use: AccessUse) => JSON.stringify([use.group, resourceOf(use), use.verb, use.path])
  for (const use of uses) {
    const key = keyOf(use)
    places.set(key, (places.get(key) ?? new Set()).add(use.namespace))
  }
  const placeOf = (use: AccessUse): string => {
    const found = places.get(keyOf(use))!
    return found.size === 1 ? use.namespace : ''
  }
  const byPlace = groupBy(uses, placeOf)
  return [...byPlace]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([namespace, own]) => ({
      kind: namespace === '' ? 'ClusterRole' : 'Role',
      metadata: { name, ...(namespace !== '' && { namespace }) },
      rules: rulesOf(own),
    }))
}

/** Resources of one group with the same verbs share a rule. */
function rulesOf(uses: readonly AccessUse[]): Rule[] {
  const verbsOf = (of: readonly AccessUse[]) =>
    [...new Set(of.map(({ verb }) => verb))].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
  const merged = new Map<string, { readonly apiGroup: string; readonly verbs: string[]; readonly resources: string[] }>()
  const byResource = groupBy(
    uses.filter(({ resource }) => resource !== ''),
    use => `${use.group}\n${resourceOf(use)}`,
  )
  for (const [, own] of [...byResource].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const [first] = own
    const verbs = verbsOf(own)
    const key = JSON.stringify([first!.group, verbs])
    const rule = merged.get(key) ?? { apiGroup: first!.group, verbs, resources: [] }
    rule.resources.push(resourceOf(first!))
    merged.set(key, rule)
  }
  const paths = groupBy(
    uses.filter(({ resource }) => resource === ''),
    ({ path }) => path,
  )
  return [
    ...[...merged.values()].map(({ apiGroup, resources, verbs }) => ({ apiGroups: [apiGroup], resources, verbs })),
    ...[...paths].map(([path, own]) => ({ nonResourceURLs: [path], verbs: verbsOf(own) })),
  ]
}

const rank = (verb: string): number => (VERBS.includes(verb) ? VERBS.indexOf(verb) : VERBS.length)

/** A role that a user has, and its permissions that no request needed. */
export type Unused = { readonly role: Role; readonly binding: Binding; readonly permissions: readonly UnusedPermission[] }
export type UnusedPermission = {
  /** `deployments.apps`, or a path. */
  readonly target: string
  readonly verbs: readonly string[]
  /** With a wildcard: the verbs that were used. */
  readonly used?: readonly string[]
}

/** Roles of Kubernetes itself are left out: nobody writes them. */
export function unusedPermissions(
  account: Account,
  { roles, bindings }: { roles: readonly Role[]; bindings: readonly Binding[] },
): Unused[] {
  return bindings
    .filter(binding => isBound(binding, account))
    .flatMap(binding => {
      const role = roles.find(({ kind, metadata: { name, namespace } }) => {
        const { roleRef, metadata } = binding
        return kind === roleRef.kind && name === roleRef.name && (kind === 'ClusterRole' || namespace === metadata.namespace)
      })
      if (!role || role.metadata.name.startsWith('system:')) return []
      const inPlace = account.uses.filter(
        ({ namespace }) => binding.kind === 'ClusterRoleBinding' || namespace === binding.metadata.namespace,
      )
      const permissions = (role.rules ?? []).flatMap(rule => unusedOf(rule, inPlace))
      return permissions.length > 0 ? [{ role, binding, permissions }] : []
    })
}

function isBound({ subjects = [] }: Binding, { user, groups }: Account): boolean {
  return subjects.some(({ kind, name, namespace }) => {
    if (kind === 'User') return name === user
    if (kind === 'Group') return groups.includes(name)
    return user === `system:serviceaccount:${namespace}:${name}`
  })
}

function unusedOf(rule: Rule, uses: readonly AccessUse[]): UnusedPermission[] {
  const { apiGroups = [], resources = [], nonResourceURLs = [], resourceNames = [], verbs } = rule
  const matches = (list: readonly string[], value: string) => list.includes('*') || list.includes(value)
  const targets = [
    ...apiGroups.flatMap(group =>
      resources.map(resource => ({
        target: group === '' ? resource : `${resource}.${group}`,
        isMeant: (use: AccessUse) =>
          use.resource !== '' &&
          matches([group], use.group) &&
          (matches([resource], resourceOf(use)) || (use.subresource !== '' && resource === `*/${use.subresource}`)) &&
          (resourceNames.length === 0 || use.names.some(name => resourceNames.includes(name))),
      })),
    ),
    ...nonResourceURLs.map(url => ({
      target: url,
      isMeant: ({ resource, path }: AccessUse) => resource === '' && (url.endsWith('*') ? path.startsWith(url.slice(0, -1)) : path === url),
    })),
  ]
  return targets.flatMap(({ target, isMeant }) => {
    const used = new Set(uses.filter(use => use.allowed > 0 && isMeant(use)).map(({ verb }) => verb))
    if (verbs.includes('*')) return [{ target, verbs: ['*'], used: [...used].sort((a, b) => rank(a) - rank(b)) }]
    const unused = verbs.filter(verb => !used.has(verb))
    return unused.length > 0 ? [{ target, verbs: unused }] : []
  })
}

/** Items by a key, in the order of their first appearance; as Map.groupBy, which Node 20 does not have. */
function groupBy<T, Key>(items: Iterable<T>, keyOf: (item: T) => Key): Map<Key, T[]> {
  const groups = new Map<Key, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}
