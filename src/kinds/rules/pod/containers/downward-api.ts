/** The downward API: fields of the pod itself and resources of its containers. */

import { parseQuantity, quantitySign } from '../../../../lib/quantity.ts'
import { type FieldError, invalid, type Ref, required, unsupported, withValue } from '../../../../schema/refs.ts'
import { message, quantity, type Static, string } from '../../../../schema/types.ts'
import { validateQualifiedName } from '../../text-rules.ts'

export const ObjectFieldSelector = message('ObjectFieldSelector', {
  apiVersion: [1, string.default('v1'), 'The version in which the path is written.'],
  fieldPath: [2, string.always(), 'The field, such as metadata.name.'],
}).atomic()
export type ObjectFieldSelector = Static<typeof ObjectFieldSelector>

export const ResourceFieldSelector = message('ResourceFieldSelector', {
  containerName: [1, string, 'The container; in environment variables, the own one when empty.'],
  resource: [2, string.always(), 'The resource, such as limits.cpu.'],
  divisor: [3, quantity.default('0'), 'Unit the amount is written in; 0 means 1.'],
}).atomic()
export type ResourceFieldSelector = Static<typeof ResourceFieldSelector>

/** The fields that environment variables can hold, in the order errors list them. */
export const ENV_FIELDS = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
] as const

/** The fields that files of a volume can hold. */
export const VOLUME_FIELDS = ['metadata.annotations', 'metadata.labels', 'metadata.name', 'metadata.namespace', 'metadata.uid'] as const

const READABLE_FIELDS: ReadonlySet<string> = new Set([
  ...ENV_FIELDS,
  ...VOLUME_FIELDS,
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
  // The former name of spec.nodeName.
  'spec.host',
])

/** A field of the pod, one of those available here. */
export function* validateFieldSelector(
  { apiVersion, fieldPath }: ObjectFieldSelector,
  at: Ref<ObjectFieldSelector>,
  offered: readonly string[],
): Iterable<FieldError> {
  if (!apiVersion) return yield required(at.apiVersion)
  if (!fieldPath) return yield required(at.fieldPath)
  const fault = unreadable(apiVersion, fieldPath)
  if (fault !== undefined) return yield invalid(at.fieldPath, `error converting fieldPath: ${fault}`)
  const { path, subscript } = splitSubscript(fieldPath === 'spec.host' ? 'spec.nodeName' : fieldPath)
  if (subscript !== undefined) yield* validateQualifiedName(path === 'metadata.annotations' ? subscript.toLowerCase() : subscript, at)
  else if (!offered.includes(path)) yield unsupported(withValue(at.fieldPath, path), ...offered)
}

/** Why a field is not available in a version of the pod. */
function unreadable(apiVersion: string, fieldPath: string): string | undefined {
  if (apiVersion !== 'v1') return `unsupported pod version: ${apiVersion}`
  const { path, subscript } = splitSubscript(fieldPath)
  if (subscript !== undefined)
    return path === 'metadata.annotations' || path === 'metadata.labels'
      ? undefined
      : `field label does not support subscript: ${fieldPath}`
  return READABLE_FIELDS.has(fieldPath) ? undefined : `field label not supported: ${fieldPath}`
}

/** `metadata.labels['x']` is the path `metadata.labels` and the subscript `x`. */
function splitSubscript(fieldPath: string): { path: string; subscript?: string } {
  const open = fieldPath.indexOf("['")
  if (open <= 0 || !fieldPath.endsWith("']") || open + 2 > fieldPath.length - 2) return { path: fieldPath }
  return { path: fieldPath.slice(0, open), subscript: fieldPath.slice(open + 2, -2) }
}

const RESOURCES = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
] as const
const CPU_DIVISORS = ['1', '1m']
const BYTE_DIVISORS = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei']

const isHugePages = (resource: string) => resource.startsWith('limits.hugepages-') || resource.startsWith('requests.hugepages-')

/** A resource of a container, and its unit; volumes must name the container. */
export function* validateResourceFieldSelector(
  { containerName, resource, divisor }: ResourceFieldSelector,
  at: Ref<ResourceFieldSelector>,
  { inVolume }: { readonly inVolume: boolean },
): Iterable<FieldError> {
  if (inVolume && !containerName) yield required(at.containerName)
  else if (!resource) yield required(at.resource)
  else if (!(RESOURCES as readonly string[]).includes(resource) && !isHugePages(resource)) yield unsupported(at.resource, ...RESOURCES)
  yield* validateDivisor(resource ?? '', divisor, at)
}

function* validateDivisor(resource: string, divisor: string | undefined, at: Ref<ResourceFieldSelector>): Iterable<FieldError> {
  if (!divisor || quantitySign(parseQuantity(divisor)) === 0) return
  const itemAt = withValue(at.divisor, resource)
  if (resource === 'limits.cpu' || resource === 'requests.cpu') {
    if (!CPU_DIVISORS.includes(divisor)) yield invalid(itemAt, "only divisor's values 1m and 1 are supported with the cpu resource")
    return
  }
  const kind = byteResource(resource)
  if (kind && !BYTE_DIVISORS.includes(divisor))
    yield invalid(itemAt, `only divisor's values ${BYTE_DIVISORS.join(', ')} are supported with the ${kind} resource`)
}

function byteResource(resource: string): string | undefined {
  if (isHugePages(resource)) return 'hugepages'
  if (resource === 'limits.memory' || resource === 'requests.memory') return 'memory'
  if (resource === 'limits.ephemeral-storage' || resource === 'requests.ephemeral-storage') return 'local ephemeral storage'
  return undefined
}
