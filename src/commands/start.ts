/** Starts the server of a command, with the manifests of `--apply` and, where they are wanted, the endpoints for tests. */
import { flagValues } from '../flag-values.ts'
import type { TestKit } from '../library/test-kit.ts'
import type { Config } from '../server/config.ts'
import type { Server } from '../server/running-server.ts'
import { startServer } from '../server/start.ts'
import { applyAtStart } from './apply.ts'

export type CommandStart = { readonly config: Config; readonly apply: readonly string[]; readonly flags?: Readonly<Record<string, string>> }

/** Resolves when the manifests are applied. Throws ConfigError. */
export async function startFor({ config, apply, flags = {} }: CommandStart): Promise<Server> {
  const kit = config.testEndpoints ? await testKit(config) : undefined
  const workspaces = config.workspaces ? await workspacesOf(config, kit?.kit) : undefined
  const endpoints = [...(kit?.parts.endpoints ?? []), ...(workspaces?.endpoints ?? [])]
  const server = await startServer(config, { ...kit?.parts, ...workspaces, endpoints, flags: { ...flagValues(config), ...flags } })
  try {
    if (kit) await kit.begin(server, () => applyAtStart(server, apply))
    else await applyAtStart(server, apply)
    return server
  } catch (error) {
    await server.close(NOT_APPLIED)
    throw error
  }
}

/** The code of workspaces is loaded only where they are wanted, too. */
async function workspacesOf(config: Config, kit: TestKit | undefined) {
  return (await import('../workspaces/open-workspaces.ts')).openWorkspaces(config, kit).parts
}

/** A reason for the log. */
export const NOT_APPLIED = 'the manifests of --apply could not be applied'

/** The code for tests is loaded only where it is wanted. */
async function testKit({ groupDomain }: Config) {
  const { TestKit } = await import('../library/test-kit.ts')
  const { testEndpoints } = await import('../library/test-endpoints.ts')
  const kit = new TestKit()
  return {
    kit,
    parts: { ...kit.start, endpoints: testEndpoints({ kit, groupDomain }) },
    async begin(server: Server, prepare: () => Promise<void>) {
      kit.attach(server, prepare)
      await kit.ready()
    },
  }
}
