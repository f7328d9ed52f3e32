/** Starts a server for tests whose state, clock and faults a command uses itself. */
import { flagValues } from '../../flag-values.ts'
import { testEndpoints } from '../../library/test-endpoints.ts'
import { TestKit, type TestKitOptions } from '../../library/test-kit.ts'
import type { Config } from '../../server/config.ts'
import type { Server } from '../../server/running-server.ts'
import { startServer } from '../../server/start.ts'
import type { Store } from '../../storage/store.ts'
import { applyAtStart } from '../apply.ts'
import { NOT_APPLIED } from '../start.ts'

export type KitStart = TestKitOptions & {
  readonly apply?: readonly string[]
  /** The store to use, instead of the configured one. */
  readonly store?: Store | undefined
  /** Done before the state for `reset` is saved. */
  readonly prepare?: (server: Server) => Promise<void>
}

/** Resolves when the manifests are applied and the state for `reset` is saved. Throws ConfigError. */
export async function startWithKit(
  given: Config,
  { apply = [], store, prepare = async () => {}, ...options }: KitStart = {},
): Promise<{ server: Server; kit: TestKit }> {
  const config = { ...given, testEndpoints: true }
  const kit = new TestKit(options)
  const endpoints = testEndpoints({ kit, groupDomain: config.groupDomain })
  const server = await startServer(config, { ...kit.start, ...(store && { store }), endpoints, flags: flagValues(config) })
  try {
    kit.attach(server, async () => {
      await applyAtStart(server, apply)
      await prepare(server)
    })
    await kit.ready()
    return { server, kit }
  } catch (error) {
    await server.close(NOT_APPLIED)
    throw error
  }
}
