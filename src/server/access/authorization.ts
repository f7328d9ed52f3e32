/** Authorization: the configured modes, over the stored roles. */
import { readFileSync } from 'node:fs'
import type { May, ReasonAgainst, RefusalOf, Roles } from '../../admission/permission.ts'
import { abacAuthorizer, type Policy, PolicyError, readPolicies } from '../../authz/abac.ts'
import type { Authorizer, RuleResolver } from '../../authz/authorizer.ts'
import { alwaysAllow, alwaysDeny, counted, inTurn, type NamedAuthorizer } from '../../authz/modes.ts'
import { NodeGraph } from '../../authz/node/graph.ts'
import { nodeAuthorizer } from '../../authz/node/node-authorizer.ts'
import { RELATING, type RelatingResource } from '../../authz/node/relations.ts'
import { bindingsThatPermit, rbacAuthorizer, rulesOf, rulesOfUser } from '../../authz/rbac.ts'
import type { Binding } from '../../authz/role-index.ts'
import type { Change } from '../../client/change.ts'
import { serverIdentity } from '../../client/identity.ts'
import type { Log } from '../../http/observability/log.ts'
import { waitFor } from '../../lib/step.ts'
import type { Catalog } from '../../registry/catalog.ts'
import type { Attributes } from '../../schema/access.ts'
import { forbidden } from '../../schema/forbidden.ts'
import { type AUTHORIZATION_MODES, ConfigError } from '../config.ts'
import type { ServerContext } from '../context.ts'
import type { AccessMetrics } from './access-metrics.ts'
import { ensureClusterRoles, ensureNamespaceRoles, openRoleIndex } from './roles.ts'

export interface Authorization {
  readonly authorizer: Authorizer & RuleResolver
  /** The part that admission plugins use. */
  readonly may: May
  readonly reasonAgainst: ReasonAgainst
  readonly refusalOf: RefusalOf
  readonly roles: Roles
  /** The bindings that permit a request. */
  readonly permittedBy: (attributes: Attributes) => Promise<readonly Binding[]>
  /** Resolves when all stored roles are known. */
  readonly synced: Promise<unknown>
  /** Creates the bootstrap roles of the cluster, unless they are there. Runs before anything is served. */
  prepare(): Promise<void>
  /** Creates the bootstrap roles of namespaces, which exist by now. */
  start(): Promise<void>
}

/** The graph that relates objects to nodes, kept up to date. */
function openNodeGraph({ config, catalog, clientFor, answered }: ServerContext): { graph: NodeGraph; synced: Promise<void> } {
  const graph = new NodeGraph()
  const client = clientFor(serverIdentity())
  const watching: Promise<void>[] = []
  for (const [plural, prefix] of Object.entries(RELATING) as [RelatingResource, string][]) {
    const resource = catalog.findKnown(prefix === '' ? '' : prefix + config.groupDomain, 'v1', plural)
    if (!resource) continue
    const onChange = ({ type, current }: Change) => {
      const { namespace, name } = current
      if (type === 'deleted') graph.remove(plural, { namespace, name })
      else graph.put(plural, { namespace, name, read: () => current.object })
    }
    watching.push(client.of(resource).watch(onChange, answered))
  }
  return { graph, synced: Promise.all(watching).then(() => {}) }
}

/** Checks of admission plugins are never cancelled. */
const NEVER_CANCELLED = new AbortController()

export async function openAuthorization(context: ServerContext, metrics: AccessMetrics): Promise<Authorization> {
  const { config, caches, gate, clientFor, log, signal } = context
  const { groupDomain } = config
  const { index: roles, synced } = openRoleIndex(context)
  const syncing = [synced]
  const policies = config.authorizationPolicyFile === undefined ? [] : policiesIn(config.authorizationPolicyFile, log)
  const byMode: Readonly<Record<Exclude<(typeof AUTHORIZATION_MODES)[number], 'Webhook'>, () => NamedAuthorizer>> = {
    RBAC: () => rbacAuthorizer(roles, groupDomain),
    ABAC: () => abacAuthorizer(policies),
    AlwaysAllow: () => alwaysAllow,
    AlwaysDeny: () => alwaysDeny,
    Node: () => {
      const { graph, synced } = openNodeGraph(context)
      syncing.push(synced)
      return nodeAuthorizer({ graph, groupDomain, gate })
    },
  }
  const plain = (mode: keyof typeof byMode) => counted(byMode[mode](), metrics.decisionsOf(mode, mode.toLowerCase()))
  const authorizer =
    config.authorizationConfig === undefined && !config.authorizationMode.includes('Webhook')
      ? inTurn(config.authorizationMode.map(mode => plain(mode as keyof typeof byMode)))
      : (await import('./configured-authorizers.ts')).configuredAuthorizers({
          config,
          plain,
          metrics,
          dial: context.egress.controlplane,
          log,
          signal,
        })
  const allSynced = Promise.all(syncing)
  const ensuring = {
    client: clientFor(serverIdentity()),
    caches,
    groupDomain,
    gate,
    // As in kube-apiserver, `--runtime-config` leaves out no role.
    ...(config.api !== 'all' && { isServed: servedBy(context.catalog) }),
  }
  return {
    authorizer,
    *may(user, attributes) {
      return (yield* waitFor(authorizer.authorize(user, attributes, NEVER_CANCELLED))).verdict === 'allow'
    },
    *reasonAgainst(user, attributes) {
      const { verdict, reason = '' } = yield* waitFor(authorizer.authorize(user, attributes, NEVER_CANCELLED))
      return verdict === 'allow' ? undefined : reason
    },
    *refusalOf(user, attributes) {
      const { verdict, reason } = yield* waitFor(authorizer.authorize(user, attributes, NEVER_CANCELLED))
      return verdict === 'allow' ? undefined : forbidden(user, attributes, reason).message
    },
    roles: {
      ofUser: (user, namespace) => rulesOfUser(roles, user, namespace),
      referred: ({ kind, name }, namespace) => rulesOf(roles, { roleRef: { apiGroup: '', kind, name }, namespace })?.all,
    },
    permittedBy: attributes => bindingsThatPermit(roles, attributes),
    synced: allSynced,
    async prepare() {
      await allSynced
      await ensureClusterRoles(ensuring)
    },
    start: () => ensureNamespaceRoles(ensuring),
  }
}

/** Whether a resource is served in any version. */
function servedBy(catalog: Catalog): (group: string, plural: string) => boolean {
  const served = new Set([...catalog].map(({ group, plural }) => `${group}/${plural}`))
  return (group, plural) => served.has(`${group}/${plural}`)
}

/** The policies of the mode ABAC. Throws ConfigError. */
function policiesIn(file: string, log: Log): readonly Policy[] {
  try {
    const { policies, hasUnversioned } = readPolicies(readFileSync(file, 'utf8'), file)
    if (hasUnversioned) log.warn({ file }, 'the authorization policy file contains unversioned rules')
    return policies
  } catch (error) {
    if (error instanceof PolicyError) throw new ConfigError(error.message)
    throw new ConfigError(`--authorization-policy-file: ${(error as Error).message}`)
  }
}
