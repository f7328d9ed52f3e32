/** What decides about requests: the modes that were configured, over the roles that are stored. */
import type { May, RefusalOf, Roles } from '../admission/permission.ts'
import { type Authorizer, forbidden, type RuleResolver } from '../authz/authorizer.ts'
import { alwaysAllow, alwaysDeny, inTurn, type NamedAuthorizer } from '../authz/modes.ts'
import { NodeGraph } from '../authz/node/graph.ts'
import { nodeAuthorizer } from '../authz/node/node-authorizer.ts'
import { RELATING, type RelatingResource } from '../authz/node/relations.ts'
import { rbacAuthorizer, rulesOf, rulesOfUser } from '../authz/rbac.ts'
import { startClusterRoleAggregationController } from '../controllers/clusterroleaggregation/controller.ts'
import { type AUTHORIZATION_MODES, type Config, runsController } from './config.ts'
import { clientFor, type Inner, SERVER } from './inner.ts'
import { type Noted, noteChanges } from './note-changes.ts'
import { ensureClusterRoles, ensureNamespaceRoles, MANAGER, openRoleIndex } from './roles.ts'

export interface Authorization {
  readonly authorizer: Authorizer & RuleResolver
  /** What plugins ask. */
  readonly may: May
  readonly refusalOf: RefusalOf
  readonly roles: Roles
  /** Creates the roles of the cluster that every server has. Before anything is served. */
  prepare(): Promise<void>
  /** Creates those of namespaces, which are there by now, and starts what keeps roles up to date. */
  start(): Promise<void>
}

/** What relates objects to nodes, in the caches and kept up to date. */
function openNodeGraph({ catalog, caches }: Inner, groupDomain: string): NodeGraph {
  const graph = new NodeGraph()
  for (const [plural, prefix] of Object.entries(RELATING) as [RelatingResource, string][]) {
    const resource = catalog.find(prefix === '' ? '' : prefix + groupDomain, 'v1', plural)
    const noting = { put: (noted: Noted) => graph.put(plural, noted), remove: (named: Omit<Noted, 'read'>) => graph.remove(plural, named) }
    if (resource) noteChanges(caches, resource, noting)
  }
  return graph
}

/** Nobody gives up on what plugins ask. */
const UNHURRIED = new AbortController()

export function openAuthorization(config: Config, parts: Inner): Authorization {
  const { store, caches, catalog, gate, now, log, signal } = parts
  const { groupDomain } = config
  const roles = openRoleIndex({ catalog, groupDomain, caches })
  const byMode: Readonly<Record<(typeof AUTHORIZATION_MODES)[number], () => NamedAuthorizer>> = {
    RBAC: () => rbacAuthorizer(roles, groupDomain),
    AlwaysAllow: () => alwaysAllow,
    AlwaysDeny: () => alwaysDeny,
    Node: () => nodeAuthorizer({ graph: openNodeGraph(parts, groupDomain), groupDomain, gate }),
  }
  const authorizer = inTurn(config.authorizationMode.map(mode => byMode[mode as keyof typeof byMode]()))
  const clientOf = (manager: string) => clientFor(parts, { user: SERVER, manager, groupDomain })
  const ensuring = () => ({ catalog, groupDomain, store, caches, client: clientOf(MANAGER), now })
  return {
    authorizer,
    may: async (user, attributes) => (await authorizer.authorize(user, attributes, UNHURRIED)).verdict === 'allow',
    async refusalOf(user, attributes) {
      const { verdict, reason } = await authorizer.authorize(user, attributes, UNHURRIED)
      return verdict === 'allow' ? undefined : forbidden(user, attributes, reason).message
    },
    roles: {
      ofUser: (user, namespace) => rulesOfUser(roles, user, namespace),
      referred: ({ kind, name }, namespace) => rulesOf(roles, { roleRef: { apiGroup: '', kind, name }, namespace })?.all,
    },
    prepare: () => ensureClusterRoles(ensuring()),
    async start() {
      await ensureNamespaceRoles(ensuring())
      const resource = catalog.find(`rbac.authorization.${groupDomain}`, 'v1', 'clusterroles')
      if (!resource || !runsController(config, 'clusterrole-aggregation-controller')) return
      const onError = (error: unknown) => {
        if (!signal.aborted) log.warn({ error: String(error) }, 'a ClusterRole could not be brought up to date; it will be tried again')
      }
      const api = clientOf('clusterrole-aggregation-controller')
      void startClusterRoleAggregationController({ api, roles: resource, onError, signal })
    },
  }
}
