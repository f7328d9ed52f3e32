/** Where a proxy of a Service leads: to one of its endpoints. */
import type { ResourceClient } from '../../client/client.ts'
import type { Endpoints } from '../../kinds/core/endpoints.ts'
import type { Service } from '../../kinds/core/service/service.ts'
import { addressedBy } from '../../lib/addressed-name.ts'
import type { Upstream } from '../../registry/api.ts'
import type { ObjectOf } from '../../schema/kind.ts'
import { badRequest, unavailable } from '../../schema/status-error.ts'
import { isReachable, tlsOf } from './kubelet.ts'

export type ServiceObject = ObjectOf<typeof Service>

export function serviceUpstream(
  asked: string,
  { metadata, spec }: ServiceObject,
  endpoints: ResourceClient<ObjectOf<typeof Endpoints>>,
  random: () => number,
): Upstream {
  const { scheme = '', name = '', port = '' } = addressedBy(asked) ?? {}
  const portName = /^\d+$/.test(port) ? spec.ports?.find(each => each.port === Number(port)) : { name: port }
  if (!portName) throw unavailable(`no service port ${port} found for service "${name}"`)
  const { subsets = [] } = endpoints.get(metadata) ?? {}
  const found = subsets.flatMap(({ addresses = [], ports = [] }) => {
    const at = ports.find(each => (each.name ?? '') === (portName.name ?? ''))
    return at ? addresses.map(({ ip }) => ({ ip, port: at.port })) : []
  })
  const chosen = found[Math.floor(random() * found.length)]
  if (!chosen) throw unavailable(`no endpoints available for service "${asked}"`)
  if (!isReachable(chosen.ip)) throw badRequest('address not allowed')
  return { host: chosen.ip, port: chosen.port, tls: tlsOf(scheme) }
}
