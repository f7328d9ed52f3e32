/** NodeRestriction: a kubelet may write only its own node, what belongs to it, and the pods that are bound to it. */

import type { PodSpec } from '../../kinds/rules/pod/spec.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { decodePem } from '../../lib/pem.ts'
import type { Step } from '../../lib/step.ts'
import { readCertificateRequest } from '../../lib/x509/certificate-request.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { notFound, StatusError } from '../../schema/status-error.ts'
import type { User } from '../../schema/user.ts'
import type { Attributes } from '../attributes.ts'
import type { May } from '../permission.ts'
import type { Plugin } from '../plugin.ts'
import type { Reader } from '../reader.ts'
import { forbidden } from '../refusal.ts'
import { apiReference } from './pod-api-references.ts'

export type NodeRestrictionParts = { readonly reader: Reader; readonly may: May; readonly groupDomain: string }

const core = (plural: string) => ({ group: '', version: 'v1', plural })
const NODE_PREFIX = 'system:node:'
const MIRROR = 'kubernetes.io/config.mirror'
const LEASE_NAMESPACE = 'kube-node-lease'
/** Labels under this name, or a name below it, are for everybody but nodes. */
const RESTRICTED_LABELS = 'node-restriction.kubernetes.io'
/** Labels of Kubernetes that a kubelet sets on its own node. */
const KUBELET_LABELS = [
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
]
const KUBELET_LABEL_NAMESPACES = ['kubelet.kubernetes.io', 'node.kubernetes.io']

/** A request of a node, and which node that is. */
type Kubelet = NodeRestrictionParts & { readonly attributes: Attributes; readonly node: string }
type Check = (kubelet: Kubelet) => Step<void> | void

export function nodeRestriction(parts: NodeRestrictionParts): Plugin {
  const { groupDomain } = parts
  const checks: Readonly<Record<string, Check>> = {
    '/pods': checkPodWrite,
    '/nodes': checkNode,
    '/persistentvolumeclaims': checkClaim,
    '/serviceaccounts': checkToken,
    [`certificates.${groupDomain}/podcertificaterequests`]: checkPodCertificateRequest,
    [`coordination.${groupDomain}/leases`]: checkLease,
    [`storage.${groupDomain}/csinodes`]: checkCsiNode,
    [`resource.${groupDomain}/resourceslices`]: checkResourceSlice,
    [`certificates.${groupDomain}/certificatesigningrequests`]: checkSigningRequest,
  }
  return {
    name: 'NodeRestriction',
    mutate(attributes) {
      const { ctx, resource, operation } = attributes
      const node = nodeOf(ctx.user)
      if (node === undefined || operation === 'CONNECT') return
      if (node === '') throw forbidden(attributes, `could not determine node from user ${JSON.stringify(ctx.user.name)}`)
      const name = `${resource.group}/${resource.plural}`
      return Object.hasOwn(checks, name) ? checks[name]!({ ...parts, attributes, node }) : undefined
    },
  }
}

/** The node that a user is, empty when it does not say which; undefined for users who are none. */
function nodeOf({ name, groups }: User): string | undefined {
  return name.startsWith(NODE_PREFIX) && groups.includes('system:nodes') ? name.slice(NODE_PREFIX.length) : undefined
}

const quote = (text: unknown): string => JSON.stringify(text)

function checkPodWrite(kubelet: Kubelet): void {
  const { attributes } = kubelet
  switch (attributes.subresource) {
    case '':
      checkPod(kubelet)
      break
    case 'status':
      checkPodStatus(kubelet)
      break
    case 'eviction':
      checkEviction(kubelet)
      break
    default:
      throw forbidden(attributes, `unexpected pod subresource ${quote(attributes.subresource)}, only 'status' and 'eviction' are allowed`)
  }
}

function checkPod(kubelet: Kubelet): void {
  const { attributes, node } = kubelet
  const { operation } = attributes
  if (operation === 'CREATE') {
    checkMirrorPod(kubelet)
    return
  }
  if (operation !== 'DELETE')
    throw forbidden(attributes, `unexpected operation ${quote(operation)}, node ${quote(node)} can only create and delete mirror pods`)
  const pod = storedPod(kubelet, attributes.name)
  if (pod['spec']?.nodeName !== node)
    throw forbidden(attributes, `node ${quote(node)} can only delete pods with spec.nodeName set to itself`)
}

/** A mirror pod shows a pod that the kubelet runs by itself: it is bound and belongs to that node and refers to nothing in the API. */
function checkMirrorPod(kubelet: Kubelet): void {
  const { attributes, node, reader } = kubelet
  const { metadata, spec } = attributes.object as AnyObject & { spec: PodSpec }
  if (!Object.hasOwn(metadata.annotations ?? {}, MIRROR))
    throw forbidden(attributes, `pod does not have ${quote(MIRROR)} annotation, node ${quote(node)} can only create mirror pods`)
  const only = (what: string) => forbidden(attributes, `node ${quote(node)} can only create pods with ${what}`)
  if (spec.nodeName !== node) throw only('spec.nodeName set to itself')
  const owners = metadata.ownerReferences ?? []
  const [owner] = owners
  if (owners.length > 1) throw only('a single owner reference set to itself')
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node) throw only('an owner reference set to itself')
  if (!owner.controller) throw only('a controller owner reference set to itself')
  if (owner.blockOwnerDeletion) throw forbidden(attributes, `node ${quote(node)} must not set blockOwnerDeletion on an owner reference`)
  const own = reader.get(core('nodes'), node)
  if (!own) throw notFound({ group: '', plural: 'nodes', kind: 'Node' }, node)
  if (owner.uid !== own.metadata.uid)
    throw forbidden(attributes, `node ${node} UID mismatch: expected ${owner.uid} got ${own.metadata.uid}`)
  const reference = apiReference(spec)
  if (reference) throw forbidden(attributes, `node ${quote(node)} can not create pods that reference ${reference}`)
}

function checkPodStatus({ attributes, node }: Kubelet): void {
  const { operation, object, oldObject } = attributes
  if (operation !== 'UPDATE') throw forbidden(attributes, `unexpected operation ${quote(operation)}`)
  if (oldObject!['spec']?.nodeName !== node)
    throw forbidden(attributes, `node ${quote(node)} can only update pod status for pods with spec.nodeName set to itself`)
  const [now, before] = [object!['status'] ?? {}, oldObject!['status'] ?? {}]
  const isSame = (a: unknown, b: unknown) => deepEqual(a ?? [], b ?? [])
  if (!deepEqual(object!.metadata.labels ?? {}, oldObject!.metadata.labels ?? {}))
    throw forbidden(attributes, `node ${quote(node)} cannot update labels through pod status`)
  if (!isSame(now.resourceClaimStatuses, before.resourceClaimStatuses))
    throw forbidden(attributes, `node ${quote(node)} cannot update resource claim statues`)
  if (!isSame(now.extendedResourceClaimStatus, before.extendedResourceClaimStatus))
    throw forbidden(attributes, `node ${quote(node)} cannot update extended resource claim status`)
  if (!isSame(now.nodeAllocatableResourceClaimStatuses, before.nodeAllocatableResourceClaimStatuses))
    throw forbidden(attributes, `node ${quote(node)} cannot update node allocatable resource claim statuses`)
}

function checkEviction(kubelet: Kubelet): void {
  const { attributes, node } = kubelet
  const { operation, name, object } = attributes
  if (operation !== 'CREATE') throw forbidden(attributes, `unexpected operation ${operation}`)
  const pod = name || object?.metadata.name || ''
  if (pod === '') throw forbidden(attributes, 'could not determine pod from request data')
  if (storedPod(kubelet, pod)['spec']?.nodeName !== node)
    throw forbidden(attributes, `node ${node} can only evict pods with spec.nodeName set to itself`)
}

function storedPod({ reader, attributes }: Kubelet, name: string): AnyObject {
  const pod = reader.get(core('pods'), name, attributes.namespace)
  if (!pod) throw notFound({ group: '', plural: 'pods', kind: 'Pod' }, name)
  return pod
}

function checkNode({ attributes, node }: Kubelet): void {
  const { operation, name, object, oldObject } = attributes
  const modified = name || object?.metadata.name || ''
  if (modified !== node) throw forbidden(attributes, `node ${quote(node)} is not allowed to modify node ${quote(modified)}`)
  if (operation === 'DELETE') return
  const { configSource, taints = [] } = object!['spec'] ?? {}
  const changed = forbiddenLabels(object!.metadata.labels ?? {}, oldObject?.metadata.labels ?? {}).join(', ')
  if (!oldObject) {
    if (configSource) throw forbidden(attributes, `node ${quote(node)} is not allowed to create pods with a non-nil configSource`)
    if (changed) throw forbidden(attributes, `node ${quote(node)} is not allowed to set the following labels: ${changed}`)
    return
  }
  if (configSource && !deepEqual(configSource, oldObject['spec']?.configSource))
    throw forbidden(attributes, `node ${quote(node)} is not allowed to update configSource to a new non-nil configSource`)
  if (!deepEqual(taints, oldObject['spec']?.taints ?? []))
    throw forbidden(attributes, `node ${quote(node)} is not allowed to modify taints`)
  if (!deepEqual(object!.metadata.ownerReferences ?? [], oldObject.metadata.ownerReferences ?? []))
    throw forbidden(attributes, `node ${quote(node)} is not allowed to modify ownerReferences`)
  if (changed) throw forbidden(attributes, `is not allowed to modify labels: ${changed}`)
}

type Labels = Readonly<Record<string, string>>

/** The labels that differ and that are not the kubelet's to set. */
function forbiddenLabels(now: Labels, before: Labels): string[] {
  const value = (labels: Labels, key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined)
  const changed = [...new Set([...Object.keys(now), ...Object.keys(before)])].filter(key => value(now, key) !== value(before, key))
  return changed.filter(isForbiddenLabel).sort()
}

function isForbiddenLabel(key: string): boolean {
  const namespace = key.includes('/') ? key.slice(0, key.indexOf('/')) : ''
  const isIn = (domain: string) => namespace === domain || namespace.endsWith(`.${domain}`)
  if (isIn(RESTRICTED_LABELS)) return true
  const isOfKubelet = KUBELET_LABELS.includes(key) || KUBELET_LABEL_NAMESPACES.some(isIn)
  return (isIn('kubernetes.io') || isIn('k8s.io')) && !isOfKubelet
}

/** A kubelet may only report the progress of the expansion of a claim. */
function checkClaim({ attributes, node }: Kubelet): void {
  const { operation, subresource, object, oldObject } = attributes
  if (subresource !== 'status') throw forbidden(attributes, 'may only update PVC status')
  if (operation !== 'UPDATE') throw forbidden(attributes, `unexpected operation ${quote(operation)}`)
  const rest = ({ metadata: { resourceVersion: _, managedFields: __, ...metadata }, status, ...fields }: AnyObject) => {
    const { capacity, conditions, allocatedResourceStatuses, allocatedResources, ...kept } = status ?? {}
    return { ...fields, metadata, status: kept }
  }
  if (!deepEqual(rest(object!), rest(oldObject!)))
    throw forbidden(attributes, `node ${quote(node)} is not allowed to update fields other than status.quantity and status.conditions`)
}

/** Tokens are for pods of the node, and for an audience that the pod itself, or a right of the node, names. */
function* checkToken(kubelet: Kubelet): Step<void> {
  const { attributes, node, may } = kubelet
  const { operation, subresource, object, resource, namespace, name, ctx } = attributes
  if (operation !== 'CREATE' || subresource !== 'token') return
  const { boundObjectRef: ref, audiences = [] } = object!['spec'] ?? {}
  if (ref?.apiVersion !== 'v1' || ref.kind !== 'Pod' || !ref.name) throw forbidden(attributes, 'node requested token not bound to a pod')
  if (!ref.uid) throw forbidden(attributes, 'node requested token with a pod binding without a uid')
  const pod = storedPod(kubelet, ref.name)
  if (ref.uid !== pod.metadata.uid)
    throw forbidden(
      attributes,
      `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    )
  if (pod['spec']?.nodeName !== node) throw forbidden(attributes, 'node requested token bound to a pod scheduled on a different node')
  if (!ctx.gate('ServiceAccountNodeAudienceRestriction')) return
  if (audiences.length > 1) throw forbidden(attributes, 'node may only request 0 or 1 audiences')
  const audience: string = audiences[0] ?? ''
  if (namesAudience(kubelet, pod, audience)) return
  const { group, version } = resource
  const accessed = { group, version, plural: audience, subresource: '', namespace, name }
  if (!(yield* may(ctx.user, { verb: 'request-serviceaccounts-token-audience', path: '', resource: accessed })))
    throw forbidden(attributes, `${ctx.user.name} is not authorized to request tokens for audience ${quote(audience)}`)
}

/** Whether a pod projects a token for an audience, or uses a volume whose driver asks for one. */
function namesAudience({ reader, groupDomain, attributes }: Kubelet, pod: AnyObject, audience: string): boolean {
  const { volumes = [] } = pod['spec'] as PodSpec
  const driverOfClaim = (claim: string): string | undefined => {
    const volume = reader.get(core('persistentvolumeclaims'), claim, attributes.namespace)?.['spec']?.volumeName
    return volume && reader.get(core('persistentvolumes'), volume)?.['spec']?.csi?.driver
  }
  const driverOf = ({ name, ephemeral, persistentVolumeClaim, csi }: (typeof volumes)[number]): string | undefined => {
    if (ephemeral?.volumeClaimTemplate) return driverOfClaim(`${pod.metadata.name}-${name}`)
    return persistentVolumeClaim ? driverOfClaim(persistentVolumeClaim.claimName ?? '') : csi?.driver
  }
  const drivers = { group: `storage.${groupDomain}`, version: 'v1', plural: 'csidrivers' }
  return volumes.some(volume => {
    const isProjected = volume.projected?.sources?.some(
      ({ serviceAccountToken: token }) => token !== undefined && (token.audience ?? '') === audience,
    )
    const driver = driverOf(volume)
    const tokens: readonly { audience?: string }[] = (driver && reader.get(drivers, driver)?.['spec']?.tokenRequests) || []
    return isProjected || tokens.some(token => (token.audience ?? '') === audience)
  })
}

function* checkPodCertificateRequest(kubelet: Kubelet): Step<void> {
  const { attributes, node, reader, may } = kubelet
  const { operation, subresource, namespace, object, resource, ctx } = attributes
  if (operation !== 'CREATE') throw forbidden(attributes, `unexpected operation ${operation}`)
  if (subresource !== '') throw forbidden(attributes, `unexpected subresource ${subresource}`)
  const { nodeName, nodeUID, podName, podUID, serviceAccountName, serviceAccountUID, signerName = '' } = object!['spec'] ?? {}
  const pod = `${namespace}/${podName}`
  // Not statuses of their own in Kubernetes either: clients see 500 and the text.
  const failed = (why: string) => new StatusError(500, '', why)
  const missing = (what: string, name: string, plural: string) =>
    failed(
      `while retrieving ${what} ${quote(name)} named in the PodCertificateRequest: ${plural} ${quote(name.slice(name.indexOf('/') + 1))} not found`,
    )
  if (nodeName !== node)
    throw forbidden(attributes, `PodCertificateRequest.Spec.NodeName=${quote(nodeName)}, which is not the requesting node ${quote(node)}`)
  const own = reader.get(core('nodes'), node)
  if (!own) throw missing('node', node, 'node')
  if (own.metadata.uid !== nodeUID)
    throw failed(
      `PodCertificateRequest for pod ${quote(pod)} names node UID ${quote(nodeUID)}, inconsistent with the running node (${quote(own.metadata.uid)})`,
    )
  const found = reader.get(core('pods'), podName, namespace)
  if (!found) throw missing('pod', pod, 'pod')
  if (found.metadata.uid !== podUID)
    throw failed(
      `PodCertificateRequest for pod ${quote(pod)} contains pod UID (${quote(podUID)}) which differs from running pod ${quote(found.metadata.uid)}`,
    )
  const spec = found['spec'] as PodSpec
  if (spec.nodeName !== nodeName)
    throw forbidden(attributes, `pod ${quote(pod)} is not running on node ${quote(nodeName)} named in the PodCertificateRequest`)
  if (Object.hasOwn(found.metadata.annotations ?? {}, MIRROR)) throw forbidden(attributes, `pod ${quote(pod)} is a mirror pod`)
  if (spec.serviceAccountName !== serviceAccountName)
    throw forbidden(
      attributes,
      `PodCertificateRequest for pod ${quote(pod)} contains serviceAccountName (${quote(serviceAccountName)}) that differs from running pod (${quote(spec.serviceAccountName)})`,
    )
  const account = reader.get(core('serviceaccounts'), serviceAccountName, namespace)
  if (!account) throw missing('service account', `${namespace}/${serviceAccountName}`, 'serviceaccount')
  if (account.metadata.uid !== serviceAccountUID)
    throw failed(
      `PodCertificateRequest for pod ${quote(pod)} names service account UID ${quote(serviceAccountUID)}, which differs from the running service account (${quote(account.metadata.uid)})`,
    )
  const isMounted = spec.volumes?.some(({ projected }) =>
    projected?.sources?.some(({ podCertificate }) => podCertificate !== undefined && podCertificate.signerName === signerName),
  )
  if (isMounted) return
  const { group, version } = resource
  const accessed = { group, version, plural: signerName.replaceAll('/', ':'), subresource: '', namespace, name: serviceAccountName }
  if (!(yield* may(ctx.user, { verb: 'request-serviceaccounts-podcertificate-signer', path: '', resource: accessed })))
    throw forbidden(attributes, `pod ${quote(pod)} does not mount a podCertificate projected volume for signer ${quote(signerName)}`)
}

function checkLease({ attributes, node }: Kubelet): void {
  if (attributes.namespace !== LEASE_NAMESPACE)
    throw forbidden(attributes, `can only access leases in the ${quote(LEASE_NAMESPACE)} system namespace`)
  if (nameOf(attributes) !== node) throw forbidden(attributes, 'can only access node lease with the same name as the requesting node')
}

function checkCsiNode({ attributes, node }: Kubelet): void {
  if (nameOf(attributes) !== node) throw forbidden(attributes, 'can only access CSINode with the same name as the requesting node')
  if (attributes.subresource !== 'status') return
  const { operation, object, oldObject, ctx } = attributes
  if (!ctx.gate('CSIVolumeHealth')) throw forbidden(attributes, 'CSIVolumeHealth feature gate is disabled')
  if (operation !== 'UPDATE') throw forbidden(attributes, `unexpected operation ${quote(operation)}`)
  if (!deepEqual(object!['spec'], oldObject!['spec']))
    throw forbidden(attributes, `node ${quote(node)} is not allowed to modify CSINode spec via status`)
}

/** The object's own name on create: a request to a collection has none. */
const nameOf = ({ operation, name, object }: Attributes): string => (operation === 'CREATE' ? (object?.metadata.name ?? '') : name)

function checkResourceSlice({ attributes, node }: Kubelet): void {
  const { operation, object, oldObject } = attributes
  if (operation === 'CREATE' && object!['spec']?.nodeName !== node)
    throw forbidden(attributes, 'can only create ResourceSlice with the same NodeName as the requesting node')
  if (operation === 'DELETE' && oldObject!['spec']?.nodeName !== node)
    throw forbidden(attributes, 'can only delete ResourceSlice with the same NodeName as the requesting node')
}

const NODE_SIGNERS = ['kubernetes.io/kubelet-serving', 'kubernetes.io/kube-apiserver-client-kubelet']

function checkSigningRequest({ attributes, node }: Kubelet): void {
  const { operation, subresource, object, ctx } = attributes
  if (ctx.gate('AllowInsecureKubeletCertificateSigningRequests')) return
  if (operation !== 'CREATE' || subresource !== '' || !NODE_SIGNERS.includes(object!['spec']?.signerName)) return
  if (commonNameOf(attributes) !== NODE_PREFIX + node)
    throw forbidden(attributes, `can only create a node CSR with CN=${NODE_PREFIX}${node}`)
}

function commonNameOf(attributes: Attributes): string {
  try {
    const { block } = decodePem(Buffer.from(attributes.object!['spec'].request ?? '', 'base64').toString('latin1'))
    if (!block) throw new Error('PEM block type must be CERTIFICATE REQUEST')
    return readCertificateRequest(block.bytes).commonName()
  } catch (error) {
    throw forbidden(attributes, `unable to parse csr: ${error instanceof Error ? error.message : error}`)
  }
}
