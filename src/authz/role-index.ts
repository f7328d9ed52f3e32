/**
 * Role bindings, indexed by subject: the cost of a decision depends on the user's own bindings, not on the number of all others.
 *
 *     group devs ─┬─ (cluster)  ClusterRoleBinding a → ClusterRole view
 *                 └─ team-1     RoleBinding b        → Role deployer
 *     user jane  ─── team-1     RoleBinding c        → ClusterRole edit
 *
 * Changes are only recorded; objects are decoded when a decision needs them.
 */
import type { bindingFields } from '../kinds/rbac/binding.ts'
import type { PolicyRule } from '../kinds/rbac/policy-rule.ts'
import type { Envelope } from '../schema/object-meta.ts'
import type { Message } from '../schema/types.ts'
import type { User } from '../schema/user.ts'
import { Rules } from './rules.ts'

/** The resources of the index. */
export const ROLE_RESOURCES = ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'] as const
export type RoleResource = (typeof ROLE_RESOURCES)[number]

type StoredRole = Envelope & { readonly rules?: readonly PolicyRule[] | null }
type StoredBinding = Envelope & Message<typeof bindingFields>
type Subject = NonNullable<StoredBinding['subjects']>[number]
export type RoleRef = StoredBinding['roleRef']

/** A binding, as decisions need it. */
export type Binding = {
  /** Empty for cluster role bindings. */
  readonly namespace: string
  readonly name: string
  readonly roleRef: RoleRef
  readonly subjects: readonly Subject[]
}

/** The key of an object, and a function to decode it, which is called at most once. */
export type Noted = { readonly namespace: string; readonly name: string; readonly read: () => unknown }

type Bound = { bindings: Binding[]; isSorted: boolean }

export class RoleIndex {
  readonly #roles = new Map<string, Noted | Rules>()
  readonly #bindings = new Map<string, Binding>()
  /** Bindings by subject, then by namespace. */
  readonly #bySubject = new Map<string, Map<string, Bound>>()
  /** Bindings that have changed since they were last decoded. */
  readonly #changed = new Map<string, Noted | undefined>()

  /** Records the current state of an object. */
  put(resource: RoleResource, noted: Noted): void {
    if (isBinding(resource)) this.#changed.set(keyOf(noted), noted)
    else this.#roles.set(keyOf(noted), noted)
  }

  remove(resource: RoleResource, named: Omit<Noted, 'read'>): void {
    if (isBinding(resource)) this.#changed.set(keyOf(named), undefined)
    else this.#roles.delete(keyOf(named))
  }

  /** The rules of a role; the namespace is empty for cluster roles. Undefined when there is no such role. */
  role(namespace: string, name: string): Rules | undefined {
    const key = keyOf({ namespace, name })
    const found = this.#roles.get(key)
    if (found === undefined || found instanceof Rules) return found
    const { rules } = (found.read() ?? {}) as Partial<StoredRole>
    const compiled = new Rules(rules ?? [])
    this.#roles.set(key, compiled)
    return compiled
  }

  /**
   * The first binding for which `test` holds among those in a namespace, or the cluster role bindings when it is empty, that name the user
   * or one of the groups. A binding that names several of them may be tested several times.
   */
  find({ name, groups }: User, namespace: string, test: (binding: Binding) => boolean): Binding | undefined {
    if (this.#changed.size > 0) this.#settle()
    const found = this.#boundTo(userKey(name), namespace).find(test)
    if (found) return found
    for (const group of groups) {
      const found = this.#boundTo(groupKey(group), namespace).find(test)
      if (found) return found
    }
    return undefined
  }

  /** All bindings in a namespace, or the cluster role bindings when it is empty. */
  *bindingsIn(namespace: string): Iterable<Binding> {
    if (this.#changed.size > 0) this.#settle()
    for (const binding of this.#bindings.values()) if (binding.namespace === namespace) yield binding
  }

  #boundTo(subject: string, namespace: string): readonly Binding[] {
    const bound = this.#bySubject.get(subject)?.get(namespace)
    if (!bound) return NONE
    // Sorted, so that reasons do not depend on the order of creation.
    if (!bound.isSorted) bound.bindings.sort((a, b) => (a.name < b.name ? -1 : 1))
    bound.isSorted = true
    return bound.bindings
  }

  #settle(): void {
    for (const [key, noted] of this.#changed) {
      const old = this.#bindings.get(key)
      if (old) for (const subject of subjectKeys(old)) this.#unbind(subject, old)
      this.#bindings.delete(key)
      const object = noted?.read() as StoredBinding | undefined
      if (!noted || !object) continue
      const binding: Binding = {
        namespace: noted.namespace,
        name: noted.name,
        roleRef: object.roleRef,
        subjects: object.subjects ?? [],
      }
      this.#bindings.set(key, binding)
      for (const subject of subjectKeys(binding)) this.#bind(subject, binding)
    }
    this.#changed.clear()
  }

  #bind(subject: string, binding: Binding): void {
    let byNamespace = this.#bySubject.get(subject)
    if (!byNamespace) this.#bySubject.set(subject, (byNamespace = new Map()))
    const bound = byNamespace.get(binding.namespace)
    if (bound) {
      bound.bindings.push(binding)
      bound.isSorted = false
    } else byNamespace.set(binding.namespace, { bindings: [binding], isSorted: true })
  }

  #unbind(subject: string, binding: Binding): void {
    const byNamespace = this.#bySubject.get(subject)
    const bound = byNamespace?.get(binding.namespace)
    if (!byNamespace || !bound) return
    bound.bindings = bound.bindings.filter(each => each !== binding)
    if (bound.bindings.length > 0) return
    byNamespace.delete(binding.namespace)
    if (byNamespace.size === 0) this.#bySubject.delete(subject)
  }
}

/** The first subject of a binding that matches the user or one of the groups. */
export function subjectOf({ name, groups }: User, { subjects, namespace }: Binding): Subject | undefined {
  const keys = new Set([userKey(name), ...groups.map(groupKey)])
  return subjects.find(subject => {
    const key = subjectKey(subject, namespace)
    return key !== undefined && keys.has(key)
  })
}

const NONE: readonly Binding[] = []
const isBinding = (resource: RoleResource) => resource === 'clusterrolebindings' || resource === 'rolebindings'
const keyOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }) => `${namespace}/${name}`
const userKey = (name: string) => `user ${name}`
const groupKey = (name: string) => `group ${name}`

function subjectKeys({ subjects, namespace }: Binding): ReadonlySet<string> {
  return new Set(subjects.flatMap(subject => subjectKey(subject, namespace) ?? []))
}

/** Service accounts are users with a special name; their default namespace is that of the binding. */
function subjectKey({ kind, name, namespace }: Subject, bound: string): string | undefined {
  if (kind === 'User') return userKey(name)
  if (kind === 'Group') return groupKey(name)
  const accountNamespace = namespace || bound
  return kind === 'ServiceAccount' && accountNamespace !== '' ? userKey(`system:serviceaccount:${accountNamespace}:${name}`) : undefined
}
