/** The form in which an object of another cluster is kept here: secrets are masked, nodes are simulated, and some objects stay away. */

import { Node } from '../../kinds/core/node.ts'
import { Secret } from '../../kinds/core/secret.ts'
import { isObject, type Json, type JsonObject } from '../../lib/json-value.ts'
import { SIMULATED_LABEL } from '../../nodes/node/is-simulated.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'

export type CloneChoices = { readonly withSecrets: boolean; readonly withWebhooks: boolean }

/** Resources that say what a running cluster does, or whose targets do not exist here. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  events: 'they are about the past',
  'leases.coordination.k8s.io': 'they are about running programs',
  'apiservices.apiregistration.k8s.io': 'the servers of others are not here',
  'csinodes.storage.k8s.io': 'simulated nodes have none',
}
const WEBHOOKS = /^(validating|mutating)webhookconfigurations\./

/** Why the objects of a resource are not cloned; undefined for others. */
export function leftOut({ qualified, def }: Resource, { withWebhooks }: CloneChoices): string | undefined {
  if (def.ttlSeconds !== undefined) return LEFT_OUT['events']
  if (WEBHOOKS.test(qualified)) return withWebhooks ? undefined : 'their webhooks are not here; --include-webhooks clones them'
  return LEFT_OUT[qualified]
}

/** Objects that belong to the server itself, and are those of this one. */
export function isOfServer({ qualified }: Resource, { metadata: { namespace = '', name, labels } }: AnyObject): boolean {
  if (labels?.['kubernetes.io/bootstrapping'] === 'rbac-defaults') return true
  if (namespace === 'default' && name === 'kubernetes') return true
  return (
    qualified === 'configmaps' &&
    (name === 'kube-root-ca.crt' || (namespace === 'kube-system' && name === 'extension-apiserver-authentication'))
  )
}

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** The object to store. */
export function cloned({ kind, group }: Pick<Resource, 'kind' | 'group'>, object: AnyObject, { withSecrets }: CloneChoices): AnyObject {
  const isOf = (declared: { readonly def: { readonly kind: string; readonly group: string } }) =>
    declared.def.kind === kind && declared.def.group === group
  if (isOf(Node)) return simulated(object)
  return isOf(Secret) && !withSecrets ? masked(object) : object
}

/** Formats that a secret of a type must have stay valid. */
const EMPTY: Readonly<Record<string, string>> = { '.dockerconfigjson': '{"auths":{}}', '.dockercfg': '{}' }

/** The same keys with other values. Manifests in annotations hold the values as well. */
function masked(secret: AnyObject): AnyObject {
  const { metadata, ...rest } = secret as AnyObject & { readonly data?: JsonObject }
  const values = Object.keys(rest.data ?? {}).map(key => [key, Buffer.from(EMPTY[key] ?? 'masked').toString('base64')])
  const { annotations, ...named } = metadata
  const kept = Object.entries(annotations ?? {}).filter(([key]) => key !== LAST_APPLIED)
  const about = { ...named, ...(kept.length > 0 && { annotations: Object.fromEntries(kept) }) }
  return { ...rest, metadata: about, ...(rest.data && { data: Object.fromEntries(values) }) } as AnyObject
}

/** A node with the name, labels, taints and capacity of another one, which is simulated here. */
function simulated(node: AnyObject): AnyObject {
  const { metadata, spec, status } = node as AnyObject & { readonly spec?: JsonObject; readonly status?: JsonObject }
  const { capacity = {}, allocatable = capacity } = isObject(status) ? status : {}
  return {
    ...node,
    metadata: { ...metadata, labels: { ...metadata.labels, [SIMULATED_LABEL]: 'true' } },
    ...(spec && { spec }),
    status: emptyStatus(capacity, allocatable),
  } as unknown as AnyObject
}

/** The status of a node that has not reported yet. */
export const emptyStatus = (capacity: Json, allocatable: Json) => ({
  capacity,
  allocatable,
  daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
  nodeInfo: Object.fromEntries(NODE_INFO.map(name => [name, ''])),
})
const NODE_INFO = [
  'machineID',
  'systemUUID',
  'bootID',
  'kernelVersion',
  'osImage',
  'containerRuntimeVersion',
  'kubeletVersion',
  'kubeProxyVersion',
  'operatingSystem',
  'architecture',
]
