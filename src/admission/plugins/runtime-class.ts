/** Pods take over from their runtime class what running them costs beside their containers, and where they may run. */

import type { Toleration } from '../../kinds/rules/pod/scheduling/affinity.ts'
import type { PodSpec } from '../../kinds/rules/pod/spec.ts'
import { goQuote } from '../../lib/go-text.ts'
import { copyJson, setOwn } from '../../lib/json-value.ts'
import { compareQuantity, parseQuantity } from '../../lib/quantity.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { forbiddenRequest, type StatusError } from '../../schema/status-error.ts'
import type { Attributes } from '../attributes.ts'
import type { Plugin } from '../plugin.ts'
import type { Reader } from '../reader.ts'
import { mergeTolerations } from './tolerations.ts'

type Amounts = Record<string, string>
type Scheduling = { nodeSelector?: Record<string, string>; tolerations?: Toleration[] }
type Runtime = AnyObject & { overhead?: { podFixed?: Amounts }; scheduling?: Scheduling }

export function runtimeClass(reader: Reader, groupDomain: string): Plugin {
  const classes = { group: `node.${groupDomain}`, version: 'v1', plural: 'runtimeclasses' }
  const runtimeOf = (attributes: Attributes, { runtimeClassName: name }: PodSpec): Runtime | undefined => {
    const found = name === undefined ? undefined : (reader.get(classes, name) as Runtime | undefined)
    if (name !== undefined && !found) throw refusal(attributes, `pod rejected: RuntimeClass ${goQuote(name)} not found`)
    return found
  }
  return {
    name: 'RuntimeClass',
    plurals: ['pods'],
    mutate(attributes) {
      const spec = newPodSpec(attributes)
      if (!spec) return
      const runtime = runtimeOf(attributes, spec)
      if (runtime?.overhead) setOverhead(spec, runtime.overhead.podFixed ?? {}, attributes)
      if (runtime?.scheduling) setScheduling(spec, runtime.scheduling, attributes)
    },
    validate(attributes) {
      const spec = newPodSpec(attributes)
      if (!spec) return
      const overhead = runtimeOf(attributes, spec)?.overhead
      if (overhead && !isSame(overhead.podFixed ?? {}, spec.overhead ?? {})) throw refusal(attributes, MISMATCH)
      if (!overhead && Object.keys(spec.overhead ?? {}).length > 0)
        throw refusal(attributes, 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead')
    },
  }
}

const MISMATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"

function newPodSpec({ operation, resource, subresource, object }: Attributes): PodSpec | undefined {
  const isNewPod = operation === 'CREATE' && subresource === '' && resource.group === '' && resource.plural === 'pods'
  return isNewPod ? (object?.['spec'] as PodSpec | undefined) : undefined
}

function setOverhead(spec: PodSpec, amounts: Amounts, attributes: Attributes): void {
  if (Object.keys(spec.overhead ?? {}).length > 0 && !isSame(amounts, spec.overhead!)) throw refusal(attributes, MISMATCH)
  if (Object.keys(amounts).length > 0) spec.overhead = copyJson(amounts)
}

function setScheduling(spec: PodSpec, { nodeSelector = {}, tolerations }: Scheduling, attributes: Attributes): void {
  const selector = { ...spec.nodeSelector }
  for (const [key, value] of Object.entries(nodeSelector)) {
    if (Object.hasOwn(selector, key) && selector[key] !== value)
      throw refusal(
        attributes,
        `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${selector[key]}`,
      )
    setOwn(selector, key, value)
  }
  if (Object.keys(selector).length > 0) spec.nodeSelector = selector
  const merged = mergeTolerations([...(spec.tolerations ?? []), ...(tolerations ?? [])])
  if (merged.length > 0) spec.tolerations = merged
}

/** The same amounts, however written. */
function isSame(a: Amounts, b: Amounts): boolean {
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every(name => Object.hasOwn(b, name) && compareQuantity(parseQuantity(a[name]!), parseQuantity(b[name]!)) === 0)
  )
}

const refusal = ({ resource, name, object }: Attributes, why: string): StatusError =>
  forbiddenRequest(resource, name || object?.metadata.name || '', why)
