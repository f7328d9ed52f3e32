/** Flow schemas: tried by precedence, the first whose subjects and rules match a request determines its flow. */
import type { Attributes } from '../../schema/access.ts'
import type { User } from '../../schema/user.ts'

/** The part of a FlowSchema that requests need. */
export type FlowSchema = {
  readonly name: string
  readonly uid: string
  /** Name of the priority level of its requests. */
  readonly level: string
  readonly matchingPrecedence: number
  readonly distinguisher: 'ByUser' | 'ByNamespace' | undefined
  readonly rules: readonly PolicyRules[]
}
export type PolicyRules = {
  readonly subjects?: readonly Subject[]
  readonly resourceRules?: readonly {
    readonly verbs?: readonly string[]
    readonly apiGroups?: readonly string[]
    readonly resources?: readonly string[]
    readonly clusterScope?: boolean
    readonly namespaces?: readonly string[] | null
  }[]
  readonly nonResourceRules?: readonly { readonly verbs?: readonly string[]; readonly nonResourceURLs?: readonly string[] }[]
}
export type Subject = {
  readonly kind: string
  readonly user?: { readonly name: string }
  readonly group?: { readonly name: string }
  readonly serviceAccount?: { readonly namespace: string; readonly name: string }
}

const ALL = '*'
const NOTHING: readonly never[] = []

/** The order in which flow schemas are tried: by precedence, then by name. */
export const inOrder = (schemas: Iterable<FlowSchema>): FlowSchema[] =>
  [...schemas].sort((a, b) => a.matchingPrecedence - b.matchingPrecedence || (a.name < b.name ? -1 : 1))

/** Whether a flow schema matches a request. */
export function matchesSchema({ rules }: FlowSchema, user: User, attributes: Attributes): boolean {
  for (const { subjects = NOTHING, resourceRules = NOTHING, nonResourceRules = NOTHING } of rules) {
    if (!subjects.some(subject => matchesSubject(subject, user))) continue
    if (attributes.resource === undefined ? matchesPath(nonResourceRules, attributes) : matchesResource(resourceRules, attributes))
      return true
  }
  return false
}

/** The flow distinguisher of a schema. */
export function distinguisherOf({ distinguisher }: FlowSchema, user: User, { resource }: Attributes): string {
  if (distinguisher === 'ByUser') return user.name
  return distinguisher === 'ByNamespace' ? (resource?.namespace ?? '') : ''
}

function matchesSubject({ kind, user: named, group, serviceAccount }: Subject, user: User): boolean {
  switch (kind) {
    case 'User':
      return named !== undefined && (named.name === ALL || named.name === user.name)
    case 'Group':
      return group !== undefined && (group.name === ALL || user.groups.includes(group.name))
    case 'ServiceAccount': {
      if (serviceAccount === undefined) return false
      const { namespace, name } = serviceAccount
      const prefix = `system:serviceaccount:${namespace}:`
      return name === ALL ? user.name.startsWith(prefix) : user.name === prefix + name
    }
    default:
      return false
  }
}

function matchesResource(rules: NonNullable<PolicyRules['resourceRules']>, { verb, resource }: Attributes): boolean {
  const { group, plural, subresource, namespace } = resource!
  const name = subresource === '' ? plural : `${plural}/${subresource}`
  return rules.some(
    rule =>
      includes(rule.verbs, verb) &&
      includes(rule.resources, name) &&
      includes(rule.apiGroups, group) &&
      (namespace === '' ? rule.clusterScope === true : includes(rule.namespaces, namespace)),
  )
}

function matchesPath(rules: NonNullable<PolicyRules['nonResourceRules']>, { verb, path }: Attributes): boolean {
  const isBelow = (rulePath: string) => {
    const prefix = rulePath.replace(/\*$/, '')
    return path.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`)
  }
  return rules.some(
    ({ verbs, nonResourceURLs = NOTHING }) =>
      includes(verbs, verb) && nonResourceURLs.some(url => url === ALL || url === path || isBelow(url)),
  )
}

/** Whether a list contains a value or is the asterisk alone. */
const includes = (list: readonly string[] | null = NOTHING, value: string) =>
  list !== null && ((list.length === 1 && list[0] === ALL) || list.includes(value))
