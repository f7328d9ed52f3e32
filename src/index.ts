/** The library: real servers for tests in any runner, several in one process, each with its own store. `public.d.ts` is its contract. */
import { flagValues } from './flag-values.ts'
import { fixtureFor as fixtureWith } from './library/fixture.ts'
import { TestKit } from './library/test-kit.ts'
import { testServer } from './library/test-server.ts'
import type { RunnerHooks, RunningServer, StartOptions } from './public.d.ts'
import { ConfigError } from './server/config.ts'
import { FeatureGateError } from './server/feature-gates.ts'
import { startServer } from './server/start.ts'
import { configOf, inOptionNames, testOptionsOf } from './start-options.ts'

export { ApiError } from './library/api-error.ts'
export type * from './public.d.ts'
export { ConfigError } from './server/config.ts'
export { StoreUnavailable } from './storage/store.ts'
export { VERSION } from './version.ts'

export const fixtureFor = (hooks: RunnerHooks) => fixtureWith(hooks, start)

export async function start(options: StartOptions = {}): Promise<RunningServer> {
  const kit = new TestKit()
  const { apply, keepAlive, ...rest } = testOptionsOf(options)
  const config = configOf(rest)
  const endpoints = config.testEndpoints ? (await import('./library/test-endpoints.ts')).testEndpoints({ kit, ...config }) : []
  const server = await startServer(config, { ...kit.start, endpoints, flags: flagValues(config) }).catch(error => {
    if (error instanceof FeatureGateError) throw new ConfigError(`featureGates: ${error.message}`)
    if (error instanceof ConfigError) throw new ConfigError(inOptionNames(error.message))
    throw error
  })
  if (!(keepAlive ?? config.store !== 'memory')) server.unref()
  return testServer({ server, kit, groupDomain: config.groupDomain, apply }).catch(async error => {
    await server.close('the manifests could not be applied')
    throw error
  })
}
