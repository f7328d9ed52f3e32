/** The environment variables that a kubelet gives to a container. */

import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Service } from '../../kinds/core/service/service.ts'
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import type { EnvVar } from '../../kinds/rules/pod/containers/environment.ts'
import { isRelaxedEnvVarName } from '../../lib/names.ts'
import { fieldText, resourceText } from './downward-api.ts'
import { expand } from './expansion.ts'
import { namesOf } from './identity.ts'
import type { Sources } from './sources.ts'

/** The environment is cut off at this size; Linux starts no program with more than about twice as much. */
const MAX_BYTES = 1 << 20

/** Variables of services first, then of whole objects, then single ones, which can refer to those before them. */
export function environmentOf(pod: Pod, container: Container, sources: Sources): ReadonlyMap<string, string> {
  const given = new Map<string, string>()
  let size = 0
  const give = (name: string, value: string) => {
    size += name.length + value.length
    given.set(name, value)
  }
  for (const { prefix = '', configMapRef, secretRef } of container.envFrom ?? []) {
    const entries = configMapRef ? sources.entries('configmaps', configMapRef.name) : sources.entries('secrets', secretRef?.name)
    for (const [key, value] of entries ?? []) {
      if (size > MAX_BYTES) break
      if (isRelaxedEnvVarName(prefix + key).length === 0) give(prefix + key, value())
    }
  }
  const services = new Map(serviceVariables(sources.services(pod.spec.enableServiceLinks !== false)))
  for (const variable of container.env ?? []) {
    if (size > MAX_BYTES) break
    const value = variableValue(variable, { pod, container, sources, known: name => given.get(name) ?? services.get(name) })
    if (value !== undefined) give(variable.name, value)
  }
  return new Map([['PATH', PATH], ['HOSTNAME', namesOf(pod).hostName], ...services, ...given])
}

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

type At = {
  readonly pod: Pod
  readonly container: Container
  readonly sources: Sources
  readonly known: (name: string) => string | undefined
}

/** Undefined when its optional source does not exist. */
function variableValue({ value = '', valueFrom }: EnvVar, { pod, container, sources, known }: At): string | undefined {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef } = valueFrom ?? {}
  if (fieldRef) return fieldText(pod, fieldRef.fieldPath)
  if (resourceFieldRef) return resourceText(pod, resourceFieldRef, { own: container, allocatable: sources.allocatable })
  if (configMapKeyRef) return sources.entries('configmaps', configMapKeyRef.name)?.get(configMapKeyRef.key)?.()
  if (secretKeyRef) return sources.entries('secrets', secretKeyRef.name)?.get(secretKeyRef.key)?.()
  return valueFrom ? undefined : expand(value, known)
}

/** Variables of services in two conventions: that of Kubernetes and that of linked containers. */
function* serviceVariables(services: Iterable<Service>): Iterable<[string, string]> {
  for (const { metadata, spec } of services) {
    const { clusterIP = '', ports } = spec
    const [first] = ports ?? []
    if (clusterIP === '' || clusterIP === 'None' || !first) continue
    const prefix = variableName(metadata.name ?? '')
    yield [`${prefix}_SERVICE_HOST`, clusterIP]
    yield [`${prefix}_SERVICE_PORT`, String(first.port)]
    for (const { name = '', port } of ports ?? []) if (name !== '') yield [`${prefix}_SERVICE_PORT_${variableName(name)}`, String(port)]
    for (const { protocol = 'TCP', port } of ports ?? []) {
      const url = `${protocol.toLowerCase()}://${clusterIP.includes(':') ? `[${clusterIP}]` : clusterIP}:${port}`
      if (port === first.port && protocol === (first.protocol ?? 'TCP')) yield [`${prefix}_PORT`, url]
      const ofPort = `${prefix}_PORT_${port}_${protocol.toUpperCase()}`
      yield [ofPort, url]
      yield [`${ofPort}_PROTO`, protocol.toLowerCase()]
      yield [`${ofPort}_PORT`, String(port)]
      yield [`${ofPort}_ADDR`, clusterIP]
    }
  }
}

const variableName = (name: string): string => name.replaceAll('-', '_').toUpperCase()
