/** The workspaces that a configuration asks for, as parts of the server that has them. */
import type { TestKit } from '../library/test-kit.ts'
import { badRequest } from '../schema/status-error.ts'
import type { Config } from '../server/config.ts'
import type { StartParts } from '../server/start-parts.ts'
import { workspaceEndpoints } from './endpoints.ts'
import { Workspaces } from './workspaces.ts'

export type WorkspacesOfServer = {
  readonly workspaces: Workspaces
  readonly parts: Required<Pick<StartParts, 'front' | 'families' | 'endpoints'>>
}

/** `kit` keeps the snapshots, where the server has them. */
export function openWorkspaces(config: Config, kit: TestKit | undefined): WorkspacesOfServer {
  const snapshot = (name: string) => {
    if (!kit) throw badRequest('from: snapshots are kept by a server with --test-endpoints; {"workspace": NAME} needs none')
    return kit.snapshots.get(name).state
  }
  const workspaces = new Workspaces(config, snapshot)
  const { front, families } = workspaces
  return { workspaces, parts: { front, families, endpoints: workspaceEndpoints(workspaces) } }
}
