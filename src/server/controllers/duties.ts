/** The duties that one server performs for all servers over a store: controllers, the scheduler and simulated nodes. */

import type { ApiAccess } from '../../client/api-access.ts'
import type { Controller } from '../../controllers/controller.ts'
import type { Signing } from '../../controllers/csrsigning/controller.ts'
import type { NodeRange } from '../../controllers/nodeipam/allocator.ts'
import type { QuotaControllerParts } from '../../controllers/resourcequota/controller.ts'
import { parseCIDR } from '../../lib/ip.ts'
import type { KeyPair } from '../../lib/x509/issue.ts'
import type { SchedulerMetrics } from '../../scheduler/scheduler-metrics.ts'
import type { SchedulerSettings } from '../../scheduler/settings.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Authentication } from '../access/authentication.ts'
import { autoscalerSettings, runsAnyController, simulatedNodes } from '../config.ts'
import type { ServerContext } from '../context.ts'
import { type ControllerRunner, startControllers } from './controller-runner.ts'
import { type NodeCommands, startSimulatedNodes } from './simulated-nodes.ts'

export type DutiesParts = {
  readonly quota: QuotaControllerParts
  /** Controllers in addition to the built-in ones. */
  readonly added: readonly Controller[]
  /** The authority by which clients verify this server; PEM. */
  readonly authority: string
  /** The current authority of the server, which signs where no other is configured. */
  readonly signer: () => KeyPair
  readonly accounts: Authentication['accounts']
  readonly api: ApiAccess
  readonly commands: NodeCommands
  /** The ranges of pod CIDRs. */
  readonly nodeRanges: readonly NodeRange[] | undefined
  readonly schedulerMetrics: SchedulerMetrics
  readonly schedulerSettings: SchedulerSettings | undefined
}

export interface Duties {
  /** Whether the configuration enables any duty. */
  readonly any: boolean
  /**
   * Starts them until the signal ends them. Resolves when the duties that the first clients rely on are done; `startOthers` then starts the
   * rest.
   */
  start(runner: Pick<ControllerRunner, 'run'>, signal: AbortSignal): Promise<{ startOthers(): Promise<void> }>
}

export function createDuties(context: ServerContext, parts: DutiesParts): Duties {
  const { config, catalog, gate, log, caches } = context
  const { quota, added, authority, signer, accounts, api, commands, nodeRanges: ranges, schedulerMetrics, schedulerSettings } = parts
  let signing: Promise<Signing> | undefined
  const openSigning = async () =>
    (await import('../credentials/signing.ts')).openSigning(config, { own: signer, log, signal: context.signal })
  const controllerParts = {
    ...quota,
    gate,
    served: catalog,
    isServed: (group: string, plural: string) =>
      catalog.storedResources().some(resource => resource.group === `${group}.${config.groupDomain}` && resource.plural === plural),
    authority,
    sign: (account: AnyObject, secret: AnyObject) => accounts.issueLegacy(account, secret),
    grace: { monitorMs: config.nodeMonitorGraceMs, startupMs: config.nodeStartupGraceMs },
    signing: () => (signing ??= openSigning()),
    ipam: ranges && { ranges, services: config.serviceClusterIpRange.flatMap(range => parseCIDR(range) ?? []) },
    api,
    autoscaling: autoscalerSettings(config),
    schedulerMetrics,
    schedulerSettings,
    extenderDial: context.egress.controlplane,
    assertions: caches.assertions,
  }
  // As in kube-apiserver, this is no controller that could be turned off.
  const electsLeaders = gate('CoordinatedLeaderElection') && controllerParts.isServed('coordination', 'leasecandidates')
  return {
    any: runsAnyController(config) || simulatedNodes(config) > 0 || added.length > 0 || electsLeaders,
    async start({ run }, signal) {
      const builtin = await startControllers(config, controllerParts, { run, gate, catalog, log, signal })
      return {
        async startOthers() {
          for (const controller of added) run(controller)
          if (electsLeaders) {
            const elections = await import('../../controllers/leaderelection/controller.ts')
            run(elections.leaderElectionController)
            run(elections.leaseCandidateCollector)
          }
          await startSimulatedNodes({ ...context, run, commands, signal })
          await builtin.startOthers()
        },
      }
    },
  }
}
