/** ClusterRoleBinding grants a cluster role to users, groups and service accounts in all namespaces. */
import { nameIsPathSegment } from '../../lib/names.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { bindingColumns, bindingFields, defaultBinding, validateBinding } from './binding.ts'

export const ClusterRoleBinding = defineKind({
  group: 'rbac.authorization.{group_domain}',
  version: 'v1',
  kind: 'ClusterRoleBinding',
  scope: 'Cluster',
  names: { plural: 'clusterrolebindings' },
  doc: 'Grants a role in the whole cluster to users, groups and service accounts.',
  fields: bindingFields,
  name: nameIsPathSegment,
  allowCreateOnUpdate: true,

  defaults: defaultBinding,
  validate: (o, at, { groupDomain, old }) => validateBinding(o, at, { scope: 'Cluster', roles: ['ClusterRole'], groupDomain, old }),

  columns: bindingColumns('clusterRoleBinding', 'roleRef can only reference a ClusterRole in the global namespace'),
})

/** An object of the kind ClusterRoleBinding. */
export type ClusterRoleBinding = ObjectOf<typeof ClusterRoleBinding>
