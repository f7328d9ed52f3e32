/** RoleBinding grants a role to users, groups and service accounts in one namespace. */
import { nameIsPathSegment } from '../../lib/names.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { bindingColumns, bindingFields, defaultBinding, validateBinding } from './binding.ts'

export const RoleBinding = defineKind({
  group: 'rbac.authorization.{group_domain}',
  version: 'v1',
  kind: 'RoleBinding',
  scope: 'Namespaced',
  names: { plural: 'rolebindings' },
  doc: 'Grants a role in a namespace to users, groups and service accounts.',
  fields: bindingFields,
  name: nameIsPathSegment,
  allowCreateOnUpdate: true,

  defaults: defaultBinding,
  validate: (o, at, { groupDomain, old }) =>
    validateBinding(o, at, { scope: 'Namespaced', roles: ['Role', 'ClusterRole'], groupDomain, old }),

  columns: bindingColumns('roleBinding', 'roleRef can reference a Role in the current namespace or a ClusterRole in the global namespace'),
})

/** An object of the kind RoleBinding. */
export type RoleBinding = ObjectOf<typeof RoleBinding>
