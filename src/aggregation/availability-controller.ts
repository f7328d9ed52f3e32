/** Sets the condition Available of APIServices: checks their Service and its endpoints, and sends a request to their server. */
import { isIP } from 'node:net'
import { serverIdentity } from '../client/identity.ts'
import { type Controller, defineController, watch } from '../controllers/controller.ts'
import { slicesOf } from '../controllers/endpointslice/service-endpoints.ts'
import { SERVICE_NAME } from '../controllers/endpointslice/slices.ts'
import { APIService } from '../kinds/apiregistration/apiservice.ts'
import { Service } from '../kinds/core/service/service.ts'
import { EndpointSlice } from '../kinds/discovery/endpointslice.ts'
import { LIMITS } from '../lib/limits.ts'
import { timestampOf } from '../lib/time.ts'
import { conditionsAfter, type Finding, failedCheck, findingAbout, LOCAL, PASSED } from './availability.ts'
import type { Backend } from './backend.ts'
import type { Registration, Registrations } from './registrations.ts'

/** The user of these requests: other servers let the aggregator of a cluster do everything. */
export const AGGREGATOR = { name: 'system:kube-aggregator', groups: ['system:masters'] }

/** The network is not watched: an available server is checked now and then, an unavailable one soon, then less often. */
const LOOK_EVERY_MS = 30_000
const FIRST_RETRY_MS = 100
const ATTEMPTS = 5

export const availabilityController = (registrations: Registrations): Controller =>
  defineController({
    name: 'apiservice-status-available-controller',
    identity: serverIdentity(),
    workers: 5,
    create({ client, signal }) {
      const services = client.of(APIService)
      const failures = new Map<string, number>()
      const ofService = function* (namespace: string, name: string) {
        for (const { name: registered, service } of registrations.all())
          if (service.namespace === namespace && service.name === name) yield registered
      }
      const look = async (registration: Registration): Promise<Finding> => {
        const { service, backend, path } = registration
        const found = findingAbout(service, client.find(Service)?.get(service), client.find(EndpointSlice) ? slicesOf(client, service) : [])
        return found ?? (await ask(backend, path, signal))
      }
      return {
        watches: [
          watch(APIService, ({ current }) => current.name),
          ...(client.find(Service) ? [watch(Service, ({ current }) => ofService(current.namespace, current.name))] : []),
          ...(client.find(EndpointSlice)
            ? [watch(EndpointSlice, ({ current }) => ofService(current.namespace, current.labels[SERVICE_NAME] ?? ''))]
            : []),
        ],
        async reconcile(name) {
          const registration = registrations.named(name)
          const finding = registration ? await look(registration) : LOCAL
          if (signal.aborted || registrations.named(name) !== registration) return undefined
          const stored = services.get({ name })
          if (!stored || (!registration && stored.spec.service)) return undefined
          const conditions = conditionsAfter(stored.status?.conditions ?? [], finding, timestampOf(client.now))
          if (conditions) await services.updateStatus({ ...stored, status: { ...stored.status, conditions } as typeof stored.status })
          if (!registration) return undefined
          if (finding.reason !== 'FailedDiscoveryCheck') {
            failures.delete(name)
            return LOOK_EVERY_MS
          }
          const failed = (failures.get(name) ?? 0) + 1
          failures.set(name, failed)
          return Math.min(FIRST_RETRY_MS * 2 ** failed, LOOK_EVERY_MS)
        },
      }
    },
  })

/** Sends several requests at once: each may reach another endpoint, and one response is enough. */
async function ask(backend: Backend, path: string, signal: AbortSignal): Promise<Finding> {
  const { aggregatedCheckMs: timeoutMs, aggregatedDocumentBytes: maxBytes } = LIMITS
  const attempt = async () => {
    // A Service that leads nowhere has no address to name.
    const destination = backend.destination()
    const { host, port } = destination
    const url = `https://${isIP(host) === 6 ? `[${host}]` : host}:${port}${path}`
    try {
      const { status } = await backend.send({ path, user: AGGREGATOR, timeoutMs, maxBytes, signal }, destination)
      if (status >= 200 && status < 300) return
      throw new Error(`bad status from ${url}: ${status}`)
    } catch (error) {
      const { message } = error as Error
      throw new Error(`failing or missing response from ${url}: ${message.startsWith('bad status') ? message : `Get "${url}": ${message}`}`)
    }
  }
  try {
    await Promise.any(Array.from({ length: ATTEMPTS }, attempt))
    return PASSED
  } catch (error) {
    const { errors } = error as AggregateError
    return failedCheck((errors.at(-1) as Error).message)
  }
}
