/** `--apply`: applies manifests before the server is announced as ready. */
import { ConfigError } from '../server/config.ts'
import type { Server } from '../server/running-server.ts'

/** Applies files and folders of manifests; throws ConfigError. */
export async function applyAtStart({ client }: Server, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return
  const { applyTo } = await import('../library/apply.ts')
  const { ManifestError } = await import('../library/manifests.ts')
  try {
    await applyTo(client, paths)
  } catch (error) {
    throw error instanceof ManifestError ? new ConfigError(error.message) : error
  }
}
