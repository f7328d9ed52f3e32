/** The common fields and rules of role bindings: a role and its subjects. */
import { deepEqual } from '../../lib/json-value.ts'
import { isValidPathSegmentName, nameIsDNSSubdomain } from '../../lib/names.ts'
import { age, type Column } from '../../schema/columns.ts'
import type { Envelope } from '../../schema/object-meta.ts'
import { type FieldError, invalid, invalidEach, type Ref, required, unsupported, withValue } from '../../schema/refs.ts'
import type { DefaultingContext } from '../../schema/request-context.ts'
import { atomic, type Message, message, type Static, string } from '../../schema/types.ts'

const Subject = message('Subject', {
  kind: [1, string.always(), 'User, Group or ServiceAccount.'],
  apiGroup: [2, string, 'API group of the subject; follows from its kind.'],
  name: [3, string.always(), 'Name of the user, group or service account.'],
  namespace: [4, string, 'Namespace of a service account.'],
}).atomic()
type Subject = Static<typeof Subject>

const RoleRef = message('RoleRef', {
  apiGroup: [1, string.always().omittable(), 'API group of the role.'],
  kind: [2, string.always(), 'Role or ClusterRole.'],
  name: [3, string.always(), 'Name of the role.'],
}).atomic()

/** The fields of RoleBinding and ClusterRoleBinding. */
export const bindingFields = {
  subjects: [2, atomic(Subject), 'The users, groups and service accounts that get the role.'],
  roleRef: [3, RoleRef.orEmpty().expected(), 'The role they get. Cannot change.'],
} as const
type Binding = Message<typeof bindingFields>

const groupOf = (groupDomain: string) => `rbac.authorization.${groupDomain}`

/** Sets the API groups that follow from the kinds. */
export function defaultBinding({ roleRef, subjects }: Binding, { groupDomain }: DefaultingContext): void {
  roleRef.apiGroup ||= groupOf(groupDomain)
  for (const subject of subjects ?? [])
    if ((subject.kind === 'User' || subject.kind === 'Group') && !subject.apiGroup) subject.apiGroup = groupOf(groupDomain)
}

export type BindingRules = {
  readonly scope: 'Namespaced' | 'Cluster'
  /** The kinds of roles that can be bound. */
  readonly roles: readonly string[]
  readonly groupDomain: string
  readonly old: Binding | undefined
}

/** Rules for a binding. Missing fields are reported last. */
export function* validateBinding({ roleRef, subjects = [] }: Binding, at: Ref<Binding>, rules: BindingRules): Iterable<FieldError> {
  const { roles, groupDomain, old } = rules
  if (roleRef.apiGroup !== groupOf(groupDomain)) yield unsupported(at.roleRef.apiGroup, groupOf(groupDomain))
  if (!roles.includes(roleRef.kind)) yield unsupported(at.roleRef.kind, ...roles)
  if (roleRef.name) yield* invalidEach(at.roleRef.name, isValidPathSegmentName(roleRef.name))
  for (const [i, subject] of subjects.entries()) yield* validateSubject(subject, at.subjects[i]!, rules)
  if (old && !deepEqual(roleRef, old.roleRef)) {
    const { apiGroup, kind, name } = roleRef
    yield invalid(withValue(at.roleRef, { APIGroup: apiGroup, Kind: kind, Name: name }), 'field is immutable')
  }
  for (const [i, { name }] of subjects.entries()) if (!name) yield required(at.subjects[i]!.name)
  if (!roleRef.name) yield required(at.roleRef.name)
}

function* validateSubject(
  { kind, name, apiGroup = '', namespace }: Subject,
  at: Ref<Subject>,
  { scope, groupDomain }: BindingRules,
): Iterable<FieldError> {
  if (kind === 'ServiceAccount') {
    if (name) yield* invalidEach(at.name, nameIsDNSSubdomain(name))
    if (apiGroup) yield unsupported(at.apiGroup, '')
    if (scope === 'Cluster' && !namespace) yield required(at.namespace)
  } else if (kind === 'User' || kind === 'Group') {
    if (apiGroup !== groupOf(groupDomain)) yield unsupported(at.apiGroup, groupOf(groupDomain))
  } else yield unsupported(at.kind, 'ServiceAccount', 'User', 'Group')
}

const named =
  (kind: string) =>
  ({ subjects = [] }: Binding): string =>
    subjects
      .filter(s => s.kind === kind)
      .map(s => (kind === 'ServiceAccount' ? `${s.namespace ?? ''}/${s.name}` : s.name))
      .join(', ')

/** The columns of a kind of binding. */
export const bindingColumns = (kind: string, reference: string): Readonly<Record<string, Column<Binding & Envelope>>> => ({
  Role: [
    'string',
    o => `${o.roleRef.kind}/${o.roleRef.name}`,
    `${reference}. If the RoleRef cannot be resolved, the Authorizer must return an error.`,
  ],
  Age: age,
  Users: ['string', named('User'), `Users in the ${kind}`, 'wide'],
  Groups: ['string', named('Group'), `Groups in the ${kind}`, 'wide'],
  ServiceAccounts: ['string', named('ServiceAccount'), `ServiceAccounts in the ${kind}`, 'wide'],
})
