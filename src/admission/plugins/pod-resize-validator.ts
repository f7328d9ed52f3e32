/** PodResizeValidator: a pod is resized only to what its node can give, and only on nodes that can resize. */
import { containerTotals } from '../../kinds/rules/pod/resources/level-resources.ts'
import { isPodLevelResource } from '../../kinds/rules/pod/resources/resource-rules.ts'
import type { PodSpec } from '../../kinds/rules/pod/spec.ts'
import { goQuote } from '../../lib/go-text.ts'
import { getOwn } from '../../lib/json-value.ts'
import { addQuantity, compareQuantity, integerValue, milliValue, parseQuantity, type Quantity, quantityOf } from '../../lib/quantity.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { StatusError } from '../../schema/status-error.ts'
import type { Attributes } from '../attributes.ts'
import type { Plugin } from '../plugin.ts'
import type { Reader } from '../reader.ts'
import { forbidden } from '../refusal.ts'

export const podResizeValidator = (reader: Reader): Plugin => ({
  name: 'PodResizeValidator',
  plurals: ['pods'],
  validate(attributes) {
    const { operation, resource, subresource, object: pod, oldObject: old } = attributes
    if (operation !== 'UPDATE' || resource.group !== '' || resource.plural !== 'pods' || subresource !== 'resize') return
    const spec = (pod?.['spec'] ?? {}) as PodSpec
    if (!spec.nodeName || pod?.metadata.generation === old?.metadata.generation) return
    const node = reader.get(NODES, spec.nodeName)
    if (!node) throw forbidden(attributes, `node ${goQuote(spec.nodeName)} not found`)
    const system = getOwn(node.metadata.labels ?? {}, 'kubernetes.io/os') ?? 'linux'
    if (system !== 'linux')
      throw refusal(
        attributes,
        'UnsupportedPlatform',
        `pod resize is only supported on linux nodes, node ${goQuote(spec.nodeName)} is ${goQuote(system)}`,
      )
    const missing = [...shortages(spec, node)]
    if (missing.length > 0)
      throw refusal(attributes, 'NodeCapacity', `node didn't have enough allocatable resources: ${missing.join('; ')}`)
  },
})

const NODES = { group: '', version: 'v1', plural: 'nodes' }

/** 403 with a cause that clients can tell apart. */
function refusal(attributes: Attributes, reason: string, why: string): StatusError {
  const { message, details } = forbidden(attributes, why)
  return new StatusError(403, 'Forbidden', message, { ...details, causes: [{ reason }] })
}

const MEASURES: readonly (readonly [name: string, shown: (quantity: Quantity) => bigint])[] = [
  ['cpu', milliValue],
  ['memory', integerValue],
]

function* shortages(spec: PodSpec, node: AnyObject): Iterable<string> {
  for (const [name, shown] of MEASURES) {
    const requested = requestOf(spec, name)
    const allocatable = amountIn(node['status']?.allocatable, name) ?? quantityOf(0n)
    if (compareQuantity(requested, allocatable) > 0) yield `${name}, requested: ${shown(requested)}, allocatable: ${shown(allocatable)}`
  }
}

/** The requests of a pod in all: as a whole, or its containers together; and its overhead. */
function requestOf(spec: PodSpec, name: string): Quantity {
  const ofPod = isPodLevelResource(name) ? amountIn(spec.resources?.requests, name) : undefined
  const request = ofPod ?? containerTotals(spec, 'requests').get(name) ?? quantityOf(0n)
  const overhead = amountIn(spec.overhead, name)
  return overhead ? addQuantity(request, overhead) : request
}

function amountIn(amounts: Readonly<Record<string, string>> | undefined, name: string): Quantity | undefined {
  const text = getOwn(amounts ?? {}, name)
  return text === undefined ? undefined : parseQuantity(text)
}
