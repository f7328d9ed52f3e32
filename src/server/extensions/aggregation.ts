/** API groups of other servers, found by their APIServices; their controllers start with the first of them. */
import { type RegistrationParts, Registrations } from '../../aggregation/registrations.ts'
import type { ApiAccess } from '../../client/api-access.ts'
import { serverIdentity } from '../../client/identity.ts'
import { randomBytes } from '../../lib/environment.ts'
import { runsController } from '../config.ts'
import type { ServerContext } from '../context.ts'

export type AggregatedApis = {
  readonly registrations: Registrations
  /** Resolves when all existing APIServices are known. */
  readonly followed: Promise<void>
  /** Starts the controllers that check availability and read discovery of the servers behind them. */
  start(api: ApiAccess): Promise<void>
}

export function aggregatedApis({ config, clientFor, destinations, run, gate, signal, certificate }: AggregationParts): AggregatedApis {
  const client = clientFor(serverIdentity())
  const registrations = new Registrations(
    {
      destination: destinations.service,
      certificate,
      serverName: `keelson-${randomBytes(8).toString('hex')}`,
      sendsUid: gate('RemoteRequestHeaderUID'),
    },
    config.groupDomain,
  )
  let isNeeded = false
  let access: ApiAccess | undefined
  /** Loads the controllers with the first APIService. */
  const startControllers = async () => {
    if (!isNeeded || !access || signal.aborted) return
    const [{ availabilityController }, { descriptionController }, { aggregatedGarbageCollector }] = await Promise.all([
      import('../../aggregation/availability-controller.ts'),
      import('../../aggregation/description-controller.ts'),
      import('../../controllers/garbagecollector/aggregated-objects.ts'),
    ])
    if (signal.aborted) return
    run(availabilityController(registrations))
    run(descriptionController(registrations))
    if (runsController(config, 'garbage-collector-controller')) run(aggregatedGarbageCollector(access))
  }
  const followed = registrations.follow(client, signal, () => {
    isNeeded = true
    void startControllers()
  })
  return {
    registrations,
    followed,
    async start(api) {
      access = api
      await startControllers()
    },
  }
}

export type AggregationParts = Pick<ServerContext, 'config' | 'clientFor' | 'destinations' | 'run' | 'gate' | 'signal'> &
  Pick<RegistrationParts, 'certificate'>
