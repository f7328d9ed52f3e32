/** What a server needs so that faults can be injected; loaded only where that is asked for. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Caches } from '../../cache/caches.ts'
import { faultsEndpoint } from '../../faults/endpoint.ts'
import { Faults, type Restart } from '../../faults/faults.ts'
import type { EndpointRule } from '../../http/endpoints.ts'
import type { Handler } from '../../http/exchange.ts'
import type { Listener } from '../../http/listener/listen.ts'
import type { Registry } from '../../registry/api.ts'
import type { Config } from '../config.ts'

/** What can be restarted, until the signal says that it ends. */
type Restartable = { readonly listener: Listener; readonly caches: Caches; readonly signal: AbortSignal }

export type FaultInjection = {
  /** Comes between a request whose sender is known and its answer. */
  readonly disturb: (next: Handler) => Handler
  /** Comes around the registry that clients reach. */
  readonly around: (inner: Registry, revision: () => number) => Registry
  readonly endpoints: readonly EndpointRule[]
  attach(parts: Restartable): void
}

/** Faults are those of a test in this process, or come over HTTP alone. */
export function faultInjection({ enableFaultInjection }: Config, faults = new Faults()): FaultInjection {
  return {
    disturb: faults.disturb,
    around: faults.around,
    endpoints: enableFaultInjection ? [faultsEndpoint(faults)] : [],
    attach(parts) {
      faults.restartBy(restartOf(parts))
      parts.signal.addEventListener('abort', () => faults.stop(), { once: true })
    },
  }
}

/** How long a restart waits for writes that are under way. */
const WRITES_MS = 2_000

/**
 * What clients see of a restart: every connection is cut, new ones are refused for a while, and then the history from before is
 * forgotten, so that watches have to begin anew. Controllers go on.
 */
function restartOf({ listener, caches, signal }: Restartable): Restart {
  let restarting: Promise<void> | undefined
  const restart = async (downMs: number, written: Promise<unknown>) => {
    const accept = listener.cutAll()
    try {
      await Promise.race([written, pause(WRITES_MS, signal)])
      if (!signal.aborted) await caches.reload()
      await pause(downMs, signal)
    } finally {
      restarting = undefined
      accept()
    }
  }
  return (downMs, written) => (restarting ??= restart(downMs, written))
}

const pause = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal, ref: false }).catch(() => {})
