/** A registry with the client of the server's components and controllers over it, for tests. */
import assert from 'node:assert/strict'
import { setMaxListeners } from 'node:events'
import type { Authorizer } from '../../src/authz/authorizer.ts'
import type { Client, ClientFor } from '../../src/client/client.ts'
import type { EventRecorder } from '../../src/client/event-recorder.ts'
import { type Controller, type RunningController, startController } from '../../src/controllers/controller.ts'
import { Catalog } from '../../src/registry/catalog.ts'
import type { Kind } from '../../src/schema/kind.ts'
import { resourcesOf } from '../../src/schema/resource.ts'
import { createClients } from '../../src/server/clients/client-backend.ts'
import { isAlwaysOn, readFeatureGates } from '../../src/server/feature-gates.ts'
import { type Bench, type BenchOptions, NOW, openBench } from './registry.ts'

/** The feature gates of a server that is told nothing about them. */
export const DEFAULT_GATES = readFeatureGates('')

export type Scope = { after(undo: () => unknown): void }

export type ClientBench = {
  readonly catalog: Catalog
  readonly clientFor: ClientFor
  /** The API for the test. */
  readonly client: Client
  readonly signal: AbortSignal
  /** Ends every controller. */
  readonly stop: () => void
  /** Runs a controller until the test ends; its errors fail the test. */
  readonly run: (controller: Controller) => RunningController
}

export type ClientOptions = {
  readonly now?: () => Date
  readonly authorizer?: Authorizer
  readonly catalog?: Catalog
  /** Whether a feature is on. Unless given, those that cannot be changed are for clients, and controllers have the defaults of the server. */
  readonly gate?: (name: string) => boolean
}

/** The client over an existing registry. */
export function clientsOver(
  bench: Pick<Bench, 'registry' | 'caches'>,
  kinds: readonly Kind<any>[],
  { now = () => NOW, authorizer, catalog = new Catalog(resourcesOf(kinds, 'k8s.io')), gate }: ClientOptions = {},
): ClientBench {
  const ending = new AbortController()
  const { signal } = ending
  setMaxListeners(0, signal)
  const parts = { caches: bench.caches, catalog, groupDomain: 'k8s.io', gate: gate ?? isAlwaysOn, now, signal, onError: assert.ifError }
  const { clientFor } = createClients({ ...parts, registry: () => bench.registry, ...(authorizer && { authorizer: () => authorizer }) })
  return {
    catalog,
    clientFor,
    client: clientFor({ user: { name: 'tester', groups: [] }, manager: 'test' }),
    signal,
    stop: () => ending.abort(),
    run: controller =>
      startController(controller, { clientFor, groupDomain: 'k8s.io', gate: gate ?? DEFAULT_GATES, onError: assert.ifError, signal }),
  }
}

/** A registry in memory and the client over it. */
export async function openControllerBench(
  t: Scope,
  kinds: readonly Kind<any>[],
  { now, authorizer, catalog, gate, ...options }: BenchOptions & ClientOptions = {},
): Promise<Bench & ClientBench> {
  const bench = await openBench(kinds, options)
  const clients = clientsOver(bench, kinds, {
    ...(now && { now }),
    ...(authorizer && { authorizer }),
    ...(catalog && { catalog }),
    ...(gate && { gate }),
  })
  t.after(() => {
    clients.stop()
    return bench.close()
  })
  return { ...bench, ...clients }
}

/** Reads again and again until a condition holds: for state without an event to wait for. */
export async function becomes<T>(read: () => T | Promise<T>, holds: (value: T) => boolean): Promise<T> {
  for (let round = 0; round < 100_000; round++) {
    const value = await read()
    if (holds(value)) return value
    await new Promise(setImmediate)
  }
  throw new Error('what was waited for did not happen')
}

/** A recorder that keeps its events as `NAME TYPE REASON: MESSAGE`. */
export function listRecorder(): EventRecorder & { readonly events: string[] } {
  const events: string[] = []
  return {
    events,
    event: ({ metadata }, type, reason, message) => void events.push(`${metadata.name} ${type} ${reason}: ${message}`),
    flushed: async () => {},
  }
}
