/**
 * The Node authorizer: allows the rules of all nodes, and access to secrets, volumes and similar objects only if the node's own pods use
 * them.
 */
import { goQuote } from '../../lib/go-text.ts'
import type { Attributes, Decision, RulesFound } from '../../schema/access.ts'
import { parseFieldSelector } from '../../schema/selectors.ts'
import type { User } from '../../schema/user.ts'
import { COMPONENT_ROLES } from '../bootstrap/component-roles.ts'
import { ruleOf } from '../bootstrap/notation.ts'
import type { NamedAuthorizer } from '../modes.ts'
import { Rules } from '../rules.ts'
import type { NodeGraph } from './graph.ts'
import { vertex } from './relations.ts'

export type NodeParts = {
  readonly graph: NodeGraph
  readonly groupDomain: string
  readonly gate: (name: string) => boolean
}

type ResourceAccess = Attributes & { readonly resource: NonNullable<Attributes['resource']> }
type Question = NodeParts & { readonly node: string; readonly access: ResourceAccess }

const ALLOW: Decision = { verdict: 'allow' }
const no = (reason = ''): Decision => (reason === '' ? { verdict: 'no-opinion' } : { verdict: 'no-opinion', reason })
const READS = ['get', 'list', 'watch']
const OWN = ['get', 'create', 'update', 'patch', 'delete']

export function nodeAuthorizer(parts: NodeParts): NamedAuthorizer {
  const { groupDomain } = parts
  let common: Rules | undefined
  const commonRules = () => (common ??= new Rules(COMPONENT_ROLES['system:node']!.map(line => ruleOf(line, groupDomain))))
  const rules = rulesByResource(groupDomain)
  return {
    name: 'node',
    authorize(user, access): Decision {
      const node = nodeOf(user)
      if (node === undefined) return no()
      if (node === '') return no(`unknown node for user ${goQuote(user.name)}`)
      const { resource } = access
      const decide = resource && rules.get(`${resource.group}/${resource.plural}`)
      if (decide) return decide({ ...parts, node, access: access as ResourceAccess })
      return commonRules().permit(access) ? ALLOW : no()
    },
    rulesFor(user): RulesFound {
      const nothing = { resourceRules: [], nonResourceRules: [], incomplete: false }
      // The node's permissions depend on the pods that run on it.
      return nodeOf(user) === undefined
        ? nothing
        : { ...nothing, incomplete: true, problem: 'node authorizer does not support user rule resolution' }
    },
  }
}

const PREFIX = 'system:node:'

/** The name of a user's node, empty when the user name does not contain one; undefined for users that are no nodes. */
function nodeOf({ name, groups }: User): string | undefined {
  return name.startsWith(PREFIX) && groups.includes('system:nodes') ? name.slice(PREFIX.length) : undefined
}

/** The resources with rules of their own for each node. */
const rulesByResource = (domain: string): ReadonlyMap<string, (question: Question) => Decision> =>
  new Map(
    Object.entries({
      '/secrets': readRelated,
      '/configmaps': readRelated,
      '/persistentvolumeclaims': question =>
        question.access.resource.subresource === 'status' ? writeStatus(question) : getRelated(question),
      '/persistentvolumes': getRelated,
      '/serviceaccounts': accounts,
      '/nodes': nodes,
      '/pods': pods,
      [`resource.${domain}/resourceclaims`]: getRelated,
      [`resource.${domain}/resourceslices`]: slices,
      [`storage.${domain}/volumeattachments`]: getRelated,
      [`storage.${domain}/csinodes`]: csiNodes,
      [`coordination.${domain}/leases`]: leases,
      [`certificates.${domain}/podcertificaterequests`]: certificateRequests,
    } satisfies Record<string, (question: Question) => Decision>),
  )

/** Allows access when the object leads to the node. */
function related({ graph, node, access: { resource } }: Question): Decision {
  const { plural, namespace, name } = resource
  if (name === '') return no('No Object name found')
  return graph.leadsTo(vertex(plural, namespace, name), node) ? ALLOW : no(`no relationship found between node '${node}' and this object`)
}

function readRelated(question: Question): Decision {
  const { verb, resource } = question.access
  if (!READS.includes(verb)) return no('can only read resources of this type')
  if (resource.subresource !== '') return no('cannot read subresource')
  return resource.namespace === '' ? no('can only read namespaced object of this type') : related(question)
}

function getRelated(question: Question): Decision {
  const { verb, resource } = question.access
  if (verb !== 'get') return no('can only get individual resources of this type')
  return resource.subresource === '' ? related(question) : no('cannot get subresource')
}

function writeStatus(question: Question): Decision {
  const { verb } = question.access
  return verb === 'update' || verb === 'patch' ? related(question) : no('can only get/update/patch this type')
}

/** Service accounts of its pods, and tokens for them. */
function accounts(question: Question): Decision {
  const { gate, access } = question
  const { verb, resource } = access
  if (verb === 'get' && resource.subresource === '') {
    const isOn = gate('KubeletServiceAccountTokenForCredentialProviders') || gate('PodCertificateRequest')
    return isOn ? readRelated(question) : no('not allowed to get service accounts')
  }
  if (verb !== 'create' || resource.name === '') return no('can only create tokens for individual service accounts')
  return resource.subresource === 'token' ? related(question) : no('can only create token subresource of serviceaccount')
}

/** The node's own objects have its name; the name in a create request is not known yet. */
const own = ({ node, access: { verb, resource } }: Question, reason: string): Decision =>
  verb === 'create' || resource.name === node ? ALLOW : no(reason)

function leases(question: Question): Decision {
  const { verb, resource } = question.access
  if (!OWN.includes(verb)) return no('can only get, create, update, patch, or delete a node lease')
  if (resource.namespace !== 'kube-node-lease') return no('can only access leases in the "kube-node-lease" system namespace')
  return own(question, 'can only access node lease with the same name as the requesting node')
}

function csiNodes(question: Question): Decision {
  const { verb, resource } = question.access
  if (resource.subresource === '') {
    if (!OWN.includes(verb)) return no('can only get, create, update, patch, or delete a CSINode')
  } else if (resource.subresource !== 'status') return no('cannot authorize CSINode subresources')
  else if (!question.gate('CSIVolumeHealth')) return no('CSINode status access requires CSIVolumeHealth feature')
  else if (!['get', 'update', 'patch'].includes(verb)) return no('can only get, update, or patch CSINode status')
  return own(question, 'can only access CSINode with the same name as the requesting node')
}

function slices(question: Question): Decision {
  const { verb, resource } = question.access
  if (resource.subresource !== '') return no('cannot authorize ResourceSlice subresources')
  switch (verb) {
    case 'create':
      return ALLOW
    case 'get':
    case 'update':
    case 'patch':
    case 'delete':
      return related(question)
    case 'watch':
    case 'list':
    case 'deletecollection':
      return selectsOwn(question) ? ALLOW : no('can only list/watch/deletecollection resourceslices with nodeName field selector')
    default:
      return no(
        'only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection',
      )
  }
}

function certificateRequests(question: Question): Decision {
  const { verb, resource } = question.access
  if (!question.gate('PodCertificateRequest')) return no()
  if (resource.subresource !== '') return no('nodes may not access the status subresource of PodCertificateRequests')
  if (verb === 'create') return ALLOW
  if (verb === 'get') return related(question)
  if (verb !== 'list' && verb !== 'watch') return no(`nodes may not ${verb} podcertificaterequests`)
  return selectsOwn(question) ? ALLOW : no('can only list/watch podcertificaterequests with nodeName field selector')
}

function nodes({ node, access: { verb, resource } }: Question): Decision {
  const { subresource, name } = resource
  if (subresource === 'status') return verb === 'update' || verb === 'patch' ? ALLOW : no()
  if (subresource !== '') return no()
  if (['create', 'update', 'patch'].includes(verb)) return ALLOW
  if (!READS.includes(verb)) return no()
  // Compares names, for a node may read itself before it is registered.
  if (name === node) return ALLOW
  return no(`node '${node}' cannot read ${name === '' ? 'all nodes' : `'${name}'`}, only its own Node object`)
}

function pods(question: Question): Decision {
  const { verb, resource } = question.access
  switch (resource.subresource) {
    case '':
      if (verb === 'get') return getRelated(question)
      if (verb === 'create' || verb === 'delete') return ALLOW
      if (verb !== 'list' && verb !== 'watch') return no()
      if (selectsOwn(question)) return ALLOW
      return resource.name === '' ? no('can only list/watch pods with spec.nodeName field selector') : related(question)
    case 'status':
      return verb === 'update' || verb === 'patch' ? ALLOW : no()
    case 'eviction':
      return verb === 'create' ? ALLOW : no()
    default:
      return no()
  }
}

/** Whether a list selects only objects of the node. */
function selectsOwn({ node, access: { resource } }: Question): boolean {
  const { fieldSelector = '' } = resource
  const terms = typeof fieldSelector === 'string' ? termsIn(fieldSelector) : fieldSelector
  return terms.some(({ field, operator, value }) => field === 'spec.nodeName' && operator === '=' && value === node)
}

function termsIn(selector: string): ReturnType<typeof parseFieldSelector> {
  try {
    return parseFieldSelector(selector)
  } catch {
    return []
  }
}
