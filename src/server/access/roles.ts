/** The roles of a server: the index behind authorization, and the bootstrap roles. */

import { type BootstrapObject, clusterPolicy, namespacePolicy, type PolicyOptions } from '../../authz/bootstrap/policy.ts'
import { missingFromBinding, missingFromRole } from '../../authz/bootstrap/reconcile.ts'
import { ROLE_RESOURCES, RoleIndex, type RoleResource } from '../../authz/role-index.ts'
import type { Caches } from '../../cache/caches.ts'
import type { Client, ResourceClient } from '../../client/client.ts'
import { serverIdentity } from '../../client/identity.ts'
import { ClusterRole } from '../../kinds/rbac/clusterrole.ts'
import { ClusterRoleBinding } from '../../kinds/rbac/clusterrolebinding.ts'
import { Role } from '../../kinds/rbac/role.ts'
import { RoleBinding } from '../../kinds/rbac/rolebinding.ts'
import { newUuid } from '../../lib/environment.ts'
import { type Seed, seed } from '../../registry/seed.ts'
import type { Kind } from '../../schema/kind.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import type { ServerContext } from '../context.ts'

const KINDS = { clusterroles: ClusterRole, clusterrolebindings: ClusterRoleBinding, roles: Role, rolebindings: RoleBinding } as const

/** An index of the stored roles and bindings; a write is answered after it. `synced` resolves when all existing ones are in it. */
export function openRoleIndex({ clientFor, answered }: Pick<ServerContext, 'clientFor' | 'answered'>): {
  index: RoleIndex
  synced: Promise<void>
} {
  const index = new RoleIndex()
  const client = clientFor(serverIdentity())
  const watching = ROLE_RESOURCES.map(plural =>
    client.of(resourceOf(client, plural)).watch(({ type, current }) => {
      const { namespace, name } = current
      if (type === 'deleted') index.remove(plural, { namespace, name })
      else index.put(plural, { namespace, name, read: () => current.object })
    }, answered),
  )
  return { index, synced: Promise.all(watching).then(() => {}) }
}

export type Ensuring = PolicyOptions & {
  readonly client: Client
  readonly caches: Caches
  readonly groupDomain: string
}

/** Creates missing roles and bindings of the cluster, and adds missing rules to existing ones. */
export const ensureClusterRoles = (ensuring: Ensuring): Promise<void> => ensureAll(clusterPolicy(ensuring.groupDomain, ensuring), ensuring)

/** The same in namespaces, which exist by now. */
export const ensureNamespaceRoles = (ensuring: Ensuring): Promise<void> =>
  ensureAll(namespacePolicy(ensuring.groupDomain, ensuring), ensuring)

/** Writes all at once, so that they share a commit. */
async function ensureAll(policy: Iterable<BootstrapObject>, { client, caches }: Ensuring): Promise<void> {
  const seeds: Seed[] = []
  const changes: Promise<void>[] = []
  for (const { resource: plural, object } of policy) {
    const resource = resourceOf(client, plural)
    const stored = client.of(resource).get(object.metadata)
    if (stored) changes.push(complete(object, stored, client.of(resource)))
    else seeds.push({ resource, object })
  }
  await Promise.all([seed(seeds, { caches, newUid: newUuid, now: client.now, manager: client.identity.manager }), ...changes])
}

/** Adds the missing parts of an object. */
async function complete(object: BootstrapObject['object'], stored: AnyObject, objects: ResourceClient<AnyObject>): Promise<void> {
  const missing = 'roleRef' in object ? missingFromBinding(stored, object) : missingFromRole(stored, object)
  if (missing === 'recreate') {
    await objects.delete(stored)
    await objects.create(object)
  } else if (missing) await objects.patch(object.metadata, missing)
}

const resourceOf = (client: Client, plural: RoleResource): Resource => client.of<Kind<AnyObject>>(KINDS[plural]).resource
