/** Selects, starts and stops the controllers of the server. */
import { type ClientFor, NotServed } from '../../client/client.ts'
import { QueueMetrics } from '../../client/queue-metrics.ts'
import { type Controller, type RunningController, startController } from '../../controllers/controller.ts'
import { failureText } from '../../http/observability/failure-text.ts'
import type { Log } from '../../http/observability/log.ts'
import type { Clock } from '../../lib/clock.ts'
import { yieldToOthers } from '../../lib/yield.ts'
import type { Catalog } from '../../registry/catalog.ts'
import { type Config, namesController, runsController } from '../config.ts'
import type { ServerContext } from '../context.ts'
import { CONTROLLERS, type ControllerEntry, type ControllerParts } from '../controller-table.ts'

/**
 * Starts the controllers that the configuration names. Resolves when those that the first clients rely on have processed the existing
 * objects; `startOthers` then starts the rest, one at a time, so that requests are served meanwhile.
 */
export async function startControllers(
  config: Config,
  parts: ControllerParts,
  { run, gate, catalog, log, signal }: Start,
): Promise<{ startOthers(): Promise<void> }> {
  const [first, others]: [Chosen[], Chosen[]] = [[], []]
  const served = servedNames(catalog, config.groupDomain)
  for (const [name, entry] of CONTROLLERS)
    if (runsController(config, name) && (entry.gate === undefined || gate(entry.gate)))
      if (entry.needs === undefined || served.has(entry.needs))
        (entry.first ? first : others).push({ ...entry, isNamed: namesController(config, name) })
  const start = async ({ load, isNamed }: Chosen) => {
    const controller = await load(parts)
    try {
      return controller && run(controller)
    } catch (error) {
      if (!(error instanceof NotServed)) throw error
      // Nobody has asked for one that is only among all.
      log[isNamed ? 'warn' : 'debug']({ controller: controller!.name }, `a controller is left out: ${error.message}`)
      return undefined
    }
  }
  await Promise.all(first.map(async entry => (await start(entry))?.idle()))
  return {
    async startOthers() {
      for (const entry of others) {
        await yieldToOthers()
        if (signal.aborted) return
        await start(entry)
      }
    },
  }
}

type Chosen = ControllerEntry & { readonly isNamed: boolean }
type Start = Pick<ControllerRunner, 'run'> & Pick<ServerContext, 'gate' | 'catalog' | 'log' | 'signal'>

/** The resources that the server has, by plural and the group without its domain. */
const servedNames = (catalog: Catalog, groupDomain: string): ReadonlySet<string> =>
  new Set(catalog.storedResources().map(({ qualified }) => trimEnd(qualified, `.${groupDomain}`)))
const trimEnd = (text: string, end: string) => (text.endsWith(end) ? text.slice(0, -end.length) : text)

export type RunnerParts = {
  readonly clientFor: ClientFor
  readonly groupDomain: string
  readonly gate: (name: string) => boolean
  readonly log: Log
  readonly clock: Clock
  readonly signal: AbortSignal
}

export interface ControllerRunner {
  run(controller: Controller): RunningController
  /** The metrics of the controllers' queues. */
  readonly queues: readonly QueueMetrics[]
  /** Resolves when all controllers only wait for a time to pass. After the signal: when work under way is done. */
  idle(): Promise<void>
}

/** Runs controllers until the signal ends them all. */
export function controllerRunner({ clientFor, groupDomain, gate, log, clock, signal }: RunnerParts): ControllerRunner {
  const queues: QueueMetrics[] = []
  const running: RunningController[] = []
  return {
    queues,
    run(controller) {
      const { name } = controller
      const metrics = new QueueMetrics(name)
      const onError = (error: unknown, key: string | undefined) => {
        if (!signal.aborted)
          log.warn({ controller: name, ...(key && { key }), error: failureText(error) }, 'reconciling failed; it will be retried')
      }
      const started = startController(controller, { clientFor, groupDomain, gate, onError, signal, metrics, clock })
      started.synced.catch(error => onError(error, undefined))
      queues.push(metrics)
      running.push(started)
      return started
    },
    async idle() {
      await Promise.allSettled(running.map(each => each.idle()))
    },
  }
}
