/** The library: real servers for tests in any runner, several in one process, each with its own store. `public.d.ts` is its contract. */
import { flagValues } from './flag-values.ts'
import { fixtureFor as fixtureWith } from './library/fixture.ts'
import { TestKit } from './library/test-kit.ts'
import { testServer } from './library/test-server.ts'
import type { ExploreOptions, ExploreReport, RunnerHooks, RunningServer, StartOptions } from './public.d.ts'
import { type Config, ConfigError } from './server/config.ts'
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
  return (await startWith(options, new TestKit())).access
}

export async function explore(workload: (server: RunningServer) => Promise<unknown>, options: ExploreOptions): Promise<ExploreReport> {
  const { exploreInProcess } = await import('./library/explore/in-process.ts')
  return exploreInProcess((server, perturber) => startWith(server, new TestKit({ perturber })), workload, options)
}

async function startWith(options: StartOptions, kit: TestKit) {
  const { apply, keepAlive, ...rest } = testOptionsOf(options)
  const config = configOf(rest)
  const tests = config.testEndpoints ? await testEndpointsOf(kit, config) : []
  const workspaces = config.workspaces ? (await import('./workspaces/open-workspaces.ts')).openWorkspaces(config, kit) : undefined
  const endpoints = [...tests, ...(workspaces?.parts.endpoints ?? [])]
  const server = await startServer(config, { ...kit.start, ...workspaces?.parts, endpoints, flags: flagValues(config) }).catch(error => {
    if (error instanceof FeatureGateError) throw new ConfigError(`featureGates: ${error.message}`)
    if (error instanceof ConfigError) throw new ConfigError(inOptionNames(error.message))
    throw error
  })
  if (!(keepAlive ?? config.store !== 'memory')) server.unref()
  const access = await testServer({ server, kit, groupDomain: config.groupDomain, workspaces: workspaces?.workspaces, apply }).catch(
    async error => {
      await server.close('the manifests could not be applied')
      throw error
    },
  )
  return { server, access, close: () => access.close() }
}

/** The code for tests over HTTP is loaded only where it is wanted. */
async function testEndpointsOf(kit: TestKit, config: Config) {
  return (await import('./library/test-endpoints.ts')).testEndpoints({ kit, ...config })
}
