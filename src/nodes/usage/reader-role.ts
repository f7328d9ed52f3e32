/** The role that lets viewers, editors and admins read metrics; metrics servers bring the same one. */
import type { Client } from '../../client/client.ts'
import { ClusterRole } from '../../kinds/rbac/clusterrole.ts'

const NAME = 'system:aggregated-metrics-reader'
const AGGREGATED = ['admin', 'edit', 'view']

/** Creates the role unless it exists. */
export async function ensureReaderRole(client: Client, groupDomain: string): Promise<void> {
  const roles = client.of(ClusterRole)
  if (roles.exists({ name: NAME })) return
  const labels = Object.fromEntries(AGGREGATED.map(role => [`rbac.authorization.${groupDomain}/aggregate-to-${role}`, 'true']))
  const rules = [{ apiGroups: [`metrics.${groupDomain}`], resources: ['pods', 'nodes'], verbs: ['get', 'list', 'watch'] }]
  await roles.create({ metadata: { name: NAME, labels }, rules })
}
