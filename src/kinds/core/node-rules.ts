/** The rules of nodes. */
import { JsonError, parseJson } from '../../codec/json.ts'
import { isValidCIDRForLegacyField, parseInterfaceAddress } from '../../lib/ip.ts'
import { isObject, type Json } from '../../lib/json-value.ts'
import { DNS1123_SUBDOMAIN_MAX_LENGTH } from '../../lib/names.ts'
import type { ObjectMeta } from '../../schema/object-meta.ts'
import {
  duplicate,
  type FieldError,
  forbidden,
  internal,
  invalid,
  invalidEach,
  type Ref,
  refTo,
  required,
  withValue,
} from '../../schema/refs.ts'
import { validateResourceQuantity } from '../shapes/pod/resources/resource-rules.ts'
import { type Taint, validateTaints } from '../shapes/taints.ts'
import type { NodeSpec, NodeStatus } from './node-shapes.ts'

type Node = { metadata: ObjectMeta; spec: NodeSpec; status: NodeStatus }

const TAINTS_ANNOTATION = 'scheduler.alpha.kubernetes.io/taints'
const AVOID_PODS_ANNOTATION = 'scheduler.alpha.kubernetes.io/preferAvoidPods'

/** Rules on a whole node. Some paths begin in metadata although the fields are not there: that is what clients are told. */
export function* validateNode({ metadata, spec, status }: Node, at: Ref<Node>): Iterable<FieldError> {
  yield* validateAnnotations(metadata.annotations, at.metadata.annotations)
  yield* validateTaints(spec.taints ?? [], refTo(spec.taints ?? [], 'metadata.taints'))
  const swap = status.nodeInfo.swap?.capacity
  if (swap !== undefined && swap <= 0) yield invalid(refTo(swap, 'metadata.nodeSwapStatus.capacity'), 'must be greater than zero')
  yield* validatePodCIDRs(spec.podCIDRs ?? [], at.spec.podCIDRs)
  yield* validateNodeStatus(status, at.status)
}

/** Rules on what a node reports. */
export function* validateNodeStatus(status: NodeStatus, at: Ref<NodeStatus>): Iterable<FieldError> {
  for (const part of ['capacity', 'allocatable'] as const)
    for (const [name, amount] of Object.entries(status[part] ?? {}))
      yield* validateResourceQuantity(name, amount, refTo(amount, `status.${part}.${name}`))
  yield* validateDeclaredFeatures(status.declaredFeatures ?? [], at.declaredFeatures)
}

/** Rules on a change of a node. */
export function* validateNodeChange({ spec, status }: Node, old: Node, at: Ref<Node>): Iterable<FieldError> {
  const seen = new Set<string>()
  for (const [i, { type, address }] of (status.addresses ?? []).entries()) {
    const key = `${type} ${address}`
    if (seen.has(key)) yield duplicate(withValue(at.status.addresses[i]!, { Type: type, Address: address }))
    seen.add(key)
  }
  const [blocks, oldBlocks] = [spec.podCIDRs ?? [], old.spec.podCIDRs ?? []]
  if (oldBlocks.length > 0 && (blocks.length !== oldBlocks.length || oldBlocks.some((block, i) => block !== blocks[i])))
    yield forbidden(at.spec.podCIDRs, 'node updates may not change podCIDR except from "" to valid')
  if (old.spec.providerID && spec.providerID !== old.spec.providerID)
    yield invalid(withValue(at.spec.providerID, null), `field cannot be ${spec.providerID ? 'modified' : 'cleared'} once set`)
  if ((spec.externalID ?? '') !== (old.spec.externalID ?? '')) yield forbidden(at.spec.externalID, 'may not be updated')
}

function* validatePodCIDRs(blocks: readonly string[], at: Ref<string[]>): Iterable<FieldError> {
  for (const [i, block] of blocks.entries()) yield* invalidEach(at[i]!, isValidCIDRForLegacyField(block))
  if (blocks.length < 2) return
  const families = blocks.map(block => parseInterfaceAddress(block)?.address.family)
  const bad = blocks[families.indexOf(undefined)]
  if (families.includes(undefined))
    yield internal(at, `invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR address: ${bad}`)
  if (blocks.length > 2 || families.includes(undefined) || families[0] === families[1])
    yield invalid(at, 'may specify no more than one CIDR for each IP family')
}

const FEATURE_NAME = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/

function* validateDeclaredFeatures(features: readonly string[], at: Ref<string[]>): Iterable<FieldError> {
  for (const [i, feature] of features.entries()) {
    const name = `invalid feature name ${JSON.stringify(feature)}`
    if (Buffer.byteLength(feature) > DNS1123_SUBDOMAIN_MAX_LENGTH)
      yield invalid(at[i]!, `${name}: must be no more than ${DNS1123_SUBDOMAIN_MAX_LENGTH} characters`)
    else if (!FEATURE_NAME.test(feature))
      yield invalid(
        at[i]!,
        `${name}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`,
      )
    const next = features[i + 1]
    if (next === undefined) continue
    if (next === feature) yield duplicate(at[i + 1]!)
    else if (feature > next) yield invalid(at[i + 1]!, 'list must be sorted alphabetically')
  }
}

/** Taints and avoided pods lived in annotations before they had fields; what is there must still make sense. */
function* validateAnnotations(annotations: Record<string, string> | undefined, at: Ref<Record<string, string>>): Iterable<FieldError> {
  const taints = annotations?.[TAINTS_ANNOTATION]
  if (taints) {
    const read = readJson(taints)
    if ('problem' in read) yield invalid(withValue(at, TAINTS_ANNOTATION), read.problem)
    else {
      const list = (Array.isArray(read.value) ? read.value : []).filter(isObject).map(taint => ({ key: '', effect: '', ...taint }) as Taint)
      yield* validateTaints(list, refTo(list, `metadata.annotations.${TAINTS_ANNOTATION}`))
    }
  }
  const avoided = annotations?.[AVOID_PODS_ANNOTATION]
  if (!avoided) return
  const read = readJson(avoided)
  if ('problem' in read) yield invalid(refTo(AVOID_PODS_ANNOTATION, 'metadata.annotations.AvoidPods'), read.problem)
  else yield* validateAvoidedPods(read.value)
}

function* validateAvoidedPods(value: Json): Iterable<FieldError> {
  const entries = isObject(value) && Array.isArray(value['preferAvoidPods']) ? value['preferAvoidPods'] : []
  for (const [i, each] of entries.entries()) {
    const path = `metadata.annotations.${AVOID_PODS_ANNOTATION}[${i}].PodSignature`
    const signature = isObject(each) ? each['podSignature'] : undefined
    const controller = isObject(signature) ? signature['podController'] : undefined
    if (!isObject(controller)) yield required(refTo('', path))
    else if (controller['controller'] !== true)
      yield invalid(refTo(false, `${path}.PodController.Controller`), 'must point to a controller')
  }
}

function readJson(text: string): { readonly value: Json } | { readonly problem: string } {
  try {
    return { value: parseJson(text).value }
  } catch (error) {
    if (error instanceof JsonError) return { problem: error.message }
    throw error
  }
}
