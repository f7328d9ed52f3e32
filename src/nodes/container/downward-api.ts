/** The downward API: fields of a pod and resources of its containers, for variables and files. */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { type Container, containersOf } from '../../kinds/rules/pod/containers/container.ts'
import type { ResourceFieldSelector } from '../../kinds/rules/pod/containers/downward-api.ts'
import { compareText, goWholeQuote } from '../../lib/go-text.ts'
import { integerValue, milliValue, parseQuantity } from '../../lib/quantity.ts'

/** The value of a field; empty when it is not set. */
export function fieldText({ metadata, spec, status }: Pod, path: string): string {
  const [, map = '', key = ''] = /^metadata\.(labels|annotations)\['(.*)'\]$/.exec(path) ?? []
  if (map !== '') return metadata[map as 'labels' | 'annotations']?.[key] ?? ''
  switch (path) {
    case 'metadata.name':
      return metadata.name ?? ''
    case 'metadata.namespace':
      return metadata.namespace ?? ''
    case 'metadata.uid':
      return metadata.uid ?? ''
    case 'metadata.labels':
      return linesOf(metadata.labels)
    case 'metadata.annotations':
      return linesOf(metadata.annotations)
    case 'spec.nodeName':
    case 'spec.host':
      return spec.nodeName ?? ''
    case 'spec.serviceAccountName':
      return spec.serviceAccountName ?? ''
    case 'status.hostIP':
      return status.hostIP ?? ''
    case 'status.hostIPs':
      return addresses(status.hostIPs)
    case 'status.podIP':
      return status.podIP ?? ''
    case 'status.podIPs':
      return addresses(status.podIPs)
    default:
      return ''
  }
}

const addresses = (ips: readonly { readonly ip?: string | undefined }[] | undefined): string => (ips ?? []).map(({ ip }) => ip).join(',')

const linesOf = (map: Readonly<Record<string, string>> | undefined): string =>
  Object.entries(map ?? {})
    .sort(([a], [b]) => compareText(a, b))
    .map(([key, value]) => `${key}=${goWholeQuote(value)}`)
    .join('\n')

type Amounts = Readonly<Record<string, string>> | null | undefined

/** An amount of a resource, rounded up to the divisor. The node limits a container that has no limit. */
export function resourceText(
  { spec }: Pod,
  { containerName, resource, divisor }: ResourceFieldSelector,
  { own, allocatable }: { readonly own?: Container; readonly allocatable: Amounts },
): string {
  const container = containerName ? containersOf(spec).find(({ name }) => name === containerName) : own
  const [list = '', name = ''] = resource.split(/\.(.*)/)
  const resources = container?.resources as { limits?: Amounts; requests?: Amounts } | undefined
  const podLimits = (spec.resources as { limits?: Amounts } | undefined)?.limits
  const amount = list === 'limits' ? (resources?.limits?.[name] ?? podLimits?.[name] ?? allocatable?.[name]) : resources?.requests?.[name]
  const [value, unit] = [parseQuantity(String(amount ?? '0')), parseQuantity(String(divisor ?? '0'))]
  const whole = unit.unscaled === 0n ? parseQuantity('1') : unit
  const [dividend, by] = name === 'cpu' ? [milliValue(value), milliValue(whole)] : [integerValue(value), integerValue(whole)]
  return by === 0n ? '0' : String((dividend + by - 1n) / by)
}
