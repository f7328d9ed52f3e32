/** Connects injected faults with a server; loaded only if enabled. */
import type { Caches } from '../../cache/caches.ts'
import { faultsEndpoint } from '../../faults/endpoint.ts'
import { FAULTS_PATH, Faults, type Restart } from '../../faults/faults.ts'
import type { EndpointRule } from '../../http/endpoints.ts'
import type { Handler } from '../../http/exchange.ts'
import type { Port } from '../../http/listener/listen.ts'
import { sleep } from '../../lib/environment.ts'
import type { Registry } from '../../registry/api.ts'
import type { Config } from '../config.ts'

/** The parts of a server that a restart affects, until the signal ends it. */
type Restartable = { readonly listener: Port; readonly caches: Caches; readonly signal: AbortSignal }

export type FaultInjection = {
  /** Wraps the handling of authenticated requests. */
  readonly disturb: (next: Handler) => Handler
  /** Wraps the registry that clients reach. */
  readonly around: (inner: Registry, revision: () => number) => Registry
  readonly endpoints: readonly EndpointRule[]
  attach(parts: Restartable): void
}

/** Faults come from a test in this process, or over HTTP alone. */
export function faultInjection({ enableFaultInjection }: Config, faults = new Faults()): FaultInjection {
  return {
    disturb: faults.disturb,
    around: faults.around,
    endpoints: enableFaultInjection ? [faultsEndpoint(faults, FAULTS_PATH)] : [],
    attach(parts) {
      faults.restartBy(restartOf(parts))
      parts.signal.addEventListener('abort', () => faults.stop(), { once: true })
    },
  }
}

/** Time that a restart waits for writes under way. */
const WRITES_MS = 2_000

/**
 * Simulates a restart for clients: every connection is cut, new ones are refused for a while, and then the previous history is
 * dropped, so that watches have to start again. Controllers go on.
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

const pause = (ms: number, signal: AbortSignal) => sleep(ms, { signal, ref: false }).catch(() => {})
