/** The bootstrap roles and bindings, as objects. */
import type { PolicyRule } from '../../kinds/rbac/policy-rule.ts'
import type { RoleResource } from '../role-index.ts'
import { CLUSTER_BINDINGS, NAMESPACE_BINDINGS, NAMESPACE_ROLES, type SubjectText } from './bindings.ts'
import { AGGREGATED_PARTS, CLUSTER_ROLES } from './cluster-roles.ts'
import { COMPONENT_ROLES } from './component-roles.ts'
import { CONTROLLER_ROLES } from './controller-roles.ts'
import { addedControllers, addedRules } from './gated-rules.ts'
import { type RuleLine, ruleOf } from './notation.ts'

type Texts = Readonly<Record<string, string>>
type Metadata = { readonly name: string; readonly namespace?: string; readonly labels: Texts; readonly annotations: Texts }
export type Subject = { readonly kind: string; readonly apiGroup?: string; readonly name: string; readonly namespace?: string }

export type BootstrapRole = {
  readonly metadata: Metadata
  /** Null where they are aggregated from other roles. */
  readonly rules: readonly PolicyRule[] | null
  readonly aggregationRule?: { readonly clusterRoleSelectors: readonly object[] }
}
export type BootstrapBinding = {
  readonly metadata: Metadata
  readonly subjects?: readonly Subject[]
  readonly roleRef: { readonly apiGroup: string; readonly kind: string; readonly name: string }
}
export type BootstrapObject =
  | { readonly resource: RoleResource & ('clusterroles' | 'roles'); readonly object: BootstrapRole }
  | { readonly resource: RoleResource & ('clusterrolebindings' | 'rolebindings'); readonly object: BootstrapBinding }

/** The annotation of objects to which servers may add permissions that later versions need. */
export const AUTOUPDATE = 'rbac.authorization.kubernetes.io/autoupdate'
/** Roles for users; each aggregates the roles labelled for it. `into` is the next larger one. */
const AGGREGATED = { admin: {}, edit: { into: 'admin' }, view: { into: 'edit' } } as const

/** Cluster roles and their bindings; some belong to features whose gate must be on. */
export function* clusterPolicy(groupDomain: string, gate: (name: string) => boolean = () => false): Iterable<BootstrapObject> {
  const label = (role: string) => ({ [`rbac.authorization.${groupDomain}/aggregate-to-${role}`]: 'true' })
  const roleFrom = (name: string, lines: readonly RuleLine[], labels?: Texts): BootstrapObject => ({
    resource: 'clusterroles',
    object: { metadata: metadataOf(name, labels), rules: [...lines, ...addedRules(name, gate)].map(line => ruleOf(line, groupDomain)) },
  })
  for (const [name, into] of Object.entries(AGGREGATED) as [string, { into?: string }][]) {
    const clusterRoleSelectors = [{ matchLabels: label(name) }]
    const metadata = metadataOf(name, into.into === undefined ? {} : label(into.into))
    yield { resource: 'clusterroles', object: { metadata, rules: null, aggregationRule: { clusterRoleSelectors } } }
    const part = `system:aggregate-to-${name}`
    yield roleFrom(part, AGGREGATED_PARTS[part]!, label(name))
  }
  for (const [name, lines] of Object.entries({ ...CLUSTER_ROLES, ...COMPONENT_ROLES }))
    yield roleFrom(name.replace('{group_domain}', groupDomain), lines)
  for (const [name, subjects] of Object.entries(CLUSTER_BINDINGS)) yield clusterBinding(name, subjects, groupDomain)
  for (const [name, lines] of Object.entries({ ...CONTROLLER_ROLES, ...addedControllers(gate) })) {
    yield roleFrom(`system:controller:${name}`, lines)
    yield clusterBinding(`system:controller:${name}`, [`ServiceAccount kube-system/${name}`], groupDomain)
  }
}

/** Roles and bindings of namespaces, which exist before them. */
export function* namespacePolicy(groupDomain: string): Iterable<BootstrapObject> {
  for (const [namespace, roles] of Object.entries(NAMESPACE_ROLES))
    for (const [name, lines] of Object.entries(roles)) {
      const metadata = { ...metadataOf(name), namespace }
      yield { resource: 'roles', object: { metadata, rules: lines.map(line => ruleOf(line, groupDomain)) } }
    }
  for (const [namespace, bindings] of Object.entries(NAMESPACE_BINDINGS))
    for (const [name, { role = name, subjects }] of Object.entries(bindings)) {
      const metadata = { ...metadataOf(name), namespace }
      yield { resource: 'rolebindings', object: bindingOf(metadata, { role: ['Role', role], subjects, groupDomain }) }
    }
}

const clusterBinding = (name: string, subjects: readonly SubjectText[], groupDomain: string): BootstrapObject => ({
  resource: 'clusterrolebindings',
  object: bindingOf(metadataOf(name), { role: ['ClusterRole', name], subjects, groupDomain }),
})

const metadataOf = (name: string, labels: Texts = {}): Metadata => ({
  name,
  labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
  annotations: { [AUTOUPDATE]: 'true' },
})

type Bound = {
  readonly role: readonly [kind: string, name: string]
  readonly subjects: readonly SubjectText[]
  readonly groupDomain: string
}

function bindingOf(metadata: Metadata, { role: [kind, name], subjects, groupDomain }: Bound): BootstrapBinding {
  const apiGroup = `rbac.authorization.${groupDomain}`
  const subjectOf = (text: SubjectText): Subject => {
    const [kind, subject] = text.split(' ') as [string, string]
    if (kind !== 'ServiceAccount') return { kind, apiGroup, name: subject }
    const [namespace, name] = subject.split('/') as [string, string]
    return { kind, name, namespace }
  }
  return { metadata, ...(subjects.length > 0 && { subjects: subjects.map(subjectOf) }), roleRef: { apiGroup, kind, name } }
}
