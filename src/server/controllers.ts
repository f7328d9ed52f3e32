/** The controllers of the server: which there are, which of them run, and how they are stopped. */
import type { ClientFor } from '../client/client.ts'
import { QueueMetrics } from '../client/queue-metrics.ts'
import { clusterRoleAggregationController } from '../controllers/clusterroleaggregation/controller.ts'
import { type Controller, type RunningController, startController } from '../controllers/controller.ts'
import { garbageCollector } from '../controllers/garbagecollector/controller.ts'
import { namespaceController } from '../controllers/namespace/controller.ts'
import { podGarbageCollector } from '../controllers/podgc/controller.ts'
import { attributesClassProtection, claimProtection, volumeProtection } from '../controllers/protection/controller.ts'
import { type QuotaControllerParts, resourceQuotaController } from '../controllers/resourcequota/controller.ts'
import { rootCaPublisher } from '../controllers/root-ca-cert-publisher/controller.ts'
import { serviceAccountController } from '../controllers/serviceaccount/controller.ts'
import { type TokenControllerParts, tokenController } from '../controllers/serviceaccount-token/controller.ts'
import { serviceCIDRController } from '../controllers/servicecidr/controller.ts'
import type { Log } from '../http/observability/log.ts'
import { type CONTROLLERS, type Config, runsController } from './config.ts'

/** Those whose work the first clients rely on: what is there has been dealt with when the server is ready. */
const accountControllers = (parts: TokenControllerParts): readonly Controller[] => [
  serviceAccountController,
  rootCaPublisher(parts.authority),
  tokenController(parts),
]

/** The other ones: nobody waits for them. */
const otherControllers = (parts: QuotaControllerParts): readonly Controller[] => [
  clusterRoleAggregationController,
  serviceCIDRController,
  namespaceController,
  podGarbageCollector,
  garbageCollector,
  claimProtection,
  volumeProtection,
  attributesClassProtection,
  resourceQuotaController(parts),
]

/** Starts the controllers that the configuration names. Resolves when every namespace has its service account and certificate authority. */
export async function startControllers(
  config: Config,
  { run, ...parts }: TokenControllerParts & QuotaControllerParts & { readonly run: (controller: Controller) => RunningController },
): Promise<void> {
  const isOn = ({ name }: Controller) => runsController(config, name as (typeof CONTROLLERS)[number])
  const first = accountControllers(parts).filter(isOn).map(run)
  for (const controller of otherControllers(parts).filter(isOn)) run(controller)
  await Promise.all(first.map(running => running.idle()))
}

export type RunnerParts = { readonly clientFor: ClientFor; readonly groupDomain: string; readonly log: Log; readonly signal: AbortSignal }

export interface ControllerRunner {
  run(controller: Controller): RunningController
  /** What the queues of the controllers count. */
  readonly queues: readonly QueueMetrics[]
  /** After the signal: resolves when what was under way is done. */
  stopped(): Promise<void>
}

/** Runs controllers until the signal ends them all. */
export function controllerRunner({ clientFor, groupDomain, log, signal }: RunnerParts): ControllerRunner {
  const queues: QueueMetrics[] = []
  const running: RunningController[] = []
  return {
    queues,
    run(controller) {
      const { name } = controller
      const metrics = new QueueMetrics(name)
      const onError = (error: unknown, key: string | undefined) => {
        if (!signal.aborted)
          log.warn({ controller: name, ...(key && { key }), error: String(error) }, 'reconciling failed; it will be retried')
      }
      const started = startController(controller, { clientFor, groupDomain, onError, signal, metrics })
      started.synced.catch(error => onError(error, undefined))
      queues.push(metrics)
      running.push(started)
      return started
    },
    async stopped() {
      await Promise.allSettled(running.map(each => each.idle()))
    },
  }
}
