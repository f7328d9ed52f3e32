/** Role grants permissions in one namespace to the subjects it is bound to. */
import { nameIsPathSegment } from '../../lib/names.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { atomic } from '../../schema/types.ts'
import { PolicyRule, validatePolicyRules, validateVerbs } from './policy-rule.ts'

export const Role = defineKind({
  group: 'rbac.authorization.{group_domain}',
  version: 'v1',
  kind: 'Role',
  scope: 'Namespaced',
  names: { plural: 'roles' },
  doc: 'A set of permissions in a namespace.',
  fields: {
    rules: [2, atomic(PolicyRule).always().omittable(), 'The permissions.'],
  },
  name: nameIsPathSegment,
  allowCreateOnUpdate: true,

  *validate({ rules }, { rules: at }) {
    yield* validatePolicyRules(rules, at, 'Namespaced')
    yield* validateVerbs(rules, at)
  },
})

/** An object of the kind Role. */
export type Role = ObjectOf<typeof Role>
