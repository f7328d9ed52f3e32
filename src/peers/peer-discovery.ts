/** Finds the peers of this server by their identity leases, and reads what they serve when one comes, goes or starts anew. */
import type { BackendAnswer } from '../aggregation/backend.ts'
import { AGGREGATED_TYPE, groupsIn, isAggregated } from '../aggregation/description.ts'
import type { Change } from '../client/change.ts'
import { serverIdentity } from '../client/identity.ts'
import { ALL_SERVERS, isServerLease } from '../client/server-leases.ts'
import { parseJson } from '../codec/json.ts'
import { type Controller, defineController, watch } from '../controllers/controller.ts'
import { CustomResourceDefinition } from '../kinds/apiextensions/customresourcedefinition.ts'
import { APIService } from '../kinds/apiregistration/apiservice.ts'
import { Lease } from '../kinds/coordination/lease.ts'
import { LIMITS } from '../lib/limits.ts'
import { excludedAfter, NOTHING_EXCLUDED, nextEnd } from './excluded-versions.ts'
import type { KnownPeers, PeerApi } from './peers.ts'

/** The user of these requests, who may read discovery and nothing else. */
const SERVER = { name: 'system:apiserver', uid: 'system:apiserver', groups: ['system:authenticated'] }

/** A server that knows no peers ignores the parameter, or takes the type without it. */
const ACCEPT = `${AGGREGATED_TYPE};profile=nopeer,${AGGREGATED_TYPE},application/json`

const [PEERS, EXCLUDED] = ['peers', 'excluded'] as const
const FIRST_RETRY_MS = 100
const MAX_RETRY_MS = 60_000

export const peerDiscovery = (peers: KnownPeers): Controller =>
  defineController({
    name: 'peer-discovery-cache-sync',
    identity: serverIdentity(),
    isRoutine: true,
    create({ client, enqueue, signal }) {
      let exclusion = NOTHING_EXCLUDED
      let failures = 0
      /** Group versions by the object that is their reason. */
      const inStore = new Map<string, readonly string[]>()
      const versionsOf =
        <O>(kind: string, read: (object: O) => readonly string[]) =>
        ({ type, current }: Change<O>) => {
          const key = `${kind} ${current.name}`
          const { object } = current
          if (type === 'deleted' || object === undefined) inStore.delete(key)
          else inStore.set(key, read(object))
          return EXCLUDED
        }
      enqueue(EXCLUDED)
      return {
        watches: [
          watch(Lease, change => (isNews(change, peers.own) ? PEERS : undefined)),
          ...(client.find(CustomResourceDefinition)
            ? [watch(CustomResourceDefinition, versionsOf('definition', versionsOfDefinition))]
            : []),
          ...(client.find(APIService) ? [watch(APIService, versionsOf('service', versionsOfService))] : []),
        ],
        async reconcile(key) {
          if (key === EXCLUDED) {
            const now = client.now.getTime()
            exclusion = excludedAfter(exclusion, new Set([...inStore.values()].flat()), now)
            peers.exclude(exclusion)
            return nextEnd(exclusion, now)
          }
          const identities = [...client.of(Lease).list(ALL_SERVERS)]
            .filter(({ metadata, spec }) => metadata.name !== peers.own && spec.holderIdentity !== undefined)
            .map(({ metadata }) => metadata.name!)
          const found = await Promise.all(identities.map(identity => apiOf(peers, identity, signal)))
          if (signal.aborted) return undefined
          const isComplete = found.every(api => api !== undefined)
          // A peer that does not answer now still serves what it did: its clients should hear that it is unavailable, not that there is no such resource.
          const apis = identities.flatMap((identity, i): [string, PeerApi][] => {
            const api = found[i] ?? peers.known.get(identity)
            return api ? [[identity, api]] : []
          })
          peers.know(new Map(apis))
          failures = isComplete ? 0 : failures + 1
          return isComplete ? undefined : Math.min(FIRST_RETRY_MS * 2 ** failures, MAX_RETRY_MS)
        },
      }
    },
  })

/** Whether a lease is that of a peer that came, went or started anew. */
function isNews({ type, current, previous }: Change<Lease>, own: string): boolean {
  if (!isServerLease(current) || current.name === own) return false
  return type !== 'updated' || previous?.object?.spec.holderIdentity !== current.object?.spec.holderIdentity
}

const versionsOfDefinition = ({ spec: { group, versions } }: CustomResourceDefinition) => versions.map(({ name }) => `${group}/${name}`)

/** Only those that another server serves. */
const versionsOfService = ({ spec: { group = '', version = '', service } }: APIService) => (service ? [`${group}/${version}`] : [])

/** The API of a peer; undefined when it cannot be asked. */
async function apiOf(peers: KnownPeers, identity: string, signal: AbortSignal): Promise<PeerApi | undefined> {
  const backend = await peers.find(identity).catch(() => undefined)
  if (!backend) {
    peers.metrics.notDiscovered('hostport_resolution')
    return undefined
  }
  const read = async (path: string) => {
    const { aggregatedCheckMs: timeoutMs, aggregatedDocumentBytes: maxBytes } = LIMITS
    let answer: BackendAnswer | undefined
    try {
      answer = await backend.send({ path, user: SERVER, headers: { accept: ACCEPT }, timeoutMs, maxBytes, signal })
      if (answer.status === 200 && isAggregated(answer.headers['content-type'])) return groupsIn(parseJson(answer.body).value)
    } catch {
      // It was not reached, or its document cannot be read.
    } finally {
      peers.metrics.passedOn(answer?.status ?? 503, { group: '', version: '', resource: '' })
    }
    peers.metrics.notDiscovered('fetch_discovery')
    return undefined
  }
  const [core, others] = await Promise.all([read('/api'), read('/apis')])
  if (!core || !others) return undefined
  const resources = new Set<string>()
  for (const { metadata, versions } of [...core, ...others])
    for (const { version, resources: served = [] } of versions)
      for (const { resource } of served) resources.add(`${metadata.name}/${version}/${resource}`)
  return { resources, groups: others }
}
