/** Roles as the server keeps them: the index that decisions are made with, and those that every server has. */

import { randomUUID } from 'node:crypto'
import { clusterPolicy, namespacePolicy, type Wanted } from '../authz/bootstrap/policy.ts'
import { missingFromBinding, missingFromRole } from '../authz/bootstrap/reconcile.ts'
import { ROLE_RESOURCES, RoleIndex, type RoleResource } from '../authz/role-index.ts'
import type { Caches } from '../cache/caches.ts'
import type { Catalog } from '../registry/catalog.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { type Seed, seed } from '../registry/seed.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { type Noted, noteChanges } from './note-changes.ts'

type Parts = { readonly catalog: Catalog; readonly groupDomain: string }

/** An index of the roles and bindings in the caches, which every change reaches before it is answered. */
export function openRoleIndex({ catalog, groupDomain, caches }: Parts & { readonly caches: Caches }): RoleIndex {
  const index = new RoleIndex()
  for (const plural of ROLE_RESOURCES) {
    const resource = roleResource({ catalog, groupDomain }, plural)
    const noting = { put: (noted: Noted) => index.put(plural, noted), remove: (named: Omit<Noted, 'read'>) => index.remove(plural, named) }
    if (resource) noteChanges(caches, resource, noting)
  }
  return index
}

export type Ensuring = Parts & {
  readonly caches: Caches
  readonly client: LocalClient
  readonly now: () => Date
}

/** Creates the roles and bindings of the cluster that are not there, and adds to those that are what they lack. */
export const ensureClusterRoles = (ensuring: Ensuring): Promise<void> => ensureAll(clusterPolicy(ensuring.groupDomain), ensuring)

/** As of the cluster, in namespaces that are there. */
export const ensureNamespaceRoles = (ensuring: Ensuring): Promise<void> => ensureAll(namespacePolicy(ensuring.groupDomain), ensuring)

/** All at once: what is written together is committed together. */
async function ensureAll(policy: Iterable<Wanted>, ensuring: Ensuring): Promise<void> {
  const { client, caches, now } = ensuring
  const seeds: Seed[] = []
  const changes: Promise<void>[] = []
  for (const wanted of policy) {
    const resource = roleResource(ensuring, wanted.resource)
    const stored = resource && client.get(resource, wanted.object.metadata)
    if (stored) changes.push(complete(wanted, { resource, stored, client }))
    else if (resource) seeds.push({ resource, object: wanted.object })
  }
  await Promise.all([seed(seeds, { caches, newUid: randomUUID, now: now(), manager: MANAGER }), ...changes])
}

type There = { readonly resource: Resource; readonly stored: AnyObject; readonly client: LocalClient }

/** Adds what an object lacks. */
async function complete({ object }: Wanted, { resource, stored, client }: There): Promise<void> {
  const missing = 'roleRef' in object ? missingFromBinding(stored, object) : missingFromRole(stored, object)
  if (missing === 'recreate') {
    await client.remove(resource, stored)
    await client.create(resource, object, object.metadata.namespace)
  } else if (missing) await client.patch(resource, object.metadata, missing, { type: 'application/merge-patch+json' })
}

/** Who owns what the server writes on its own behalf. */
export const MANAGER = 'keelson'

const roleResource = ({ catalog, groupDomain }: Parts, plural: RoleResource): Resource | undefined =>
  catalog.find(`rbac.authorization.${groupDomain}`, 'v1', plural)
