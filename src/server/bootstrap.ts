/** What a fresh server has: the namespaces and priority classes that clients count on, and the range of its services' addresses. */
import { SYSTEM_PRIORITY_CLASSES } from '../kinds/scheduling/priorityclass.ts'
import { deepEqual } from '../lib/json-value.ts'
import type { Catalog } from '../registry/catalog.ts'
import type { LocalClient } from '../registry/local-client.ts'

const NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease']
/** The range named in the configuration. */
const RANGE = { name: 'kubernetes' }

export type Bootstrap = {
  readonly client: LocalClient
  readonly catalog: Catalog
  readonly groupDomain: string
  /** Ranges of service addresses, at most one of each family. */
  readonly ranges: readonly string[]
}

/** Creates what is not there yet; what is there stays as it is, but that a range may get its second family. */
export async function bootstrap(setup: Bootstrap): Promise<void> {
  await Promise.all([...NAMESPACES.map(name => ensureNamespace(setup, name)), ensurePriorityClasses(setup), ensureRange(setup)])
}

async function ensurePriorityClasses({ client, catalog, groupDomain }: Bootstrap): Promise<void> {
  const resource = catalog.find(`scheduling.${groupDomain}`, 'v1', 'priorityclasses')
  if (!resource) return
  const absent = SYSTEM_PRIORITY_CLASSES.filter(({ name }) => !client.get(resource, { name }))
  await Promise.all(absent.map(({ name, ...fields }) => client.create(resource, { metadata: { name }, ...fields })))
}

async function ensureNamespace({ client, catalog }: Bootstrap, name: string): Promise<void> {
  const resource = catalog.find('', 'v1', 'namespaces')
  if (resource && !client.get(resource, { name })) await client.create(resource, { metadata: { name } })
}

/** Also called while the server runs, in case the range was deleted. */
export async function ensureRange({ client, catalog, groupDomain, ranges: cidrs }: Bootstrap): Promise<void> {
  const resource = catalog.find(`networking.${groupDomain}`, 'v1', 'servicecidrs')
  if (!resource) return
  const stored = client.get(resource, RANGE)
  const has: readonly string[] = stored?.['spec'].cidrs ?? []
  if (!stored) await client.create(resource, { metadata: RANGE, spec: { cidrs } })
  else if (has.length === 1 && cidrs.length === 2 && has[0] === cidrs[0])
    await client.patch(resource, RANGE, { spec: { cidrs } }, { type: 'application/merge-patch+json' })
}

/** The server itself says that its own range is ready, until a controller says something about it. */
export async function reportRange({ client, catalog, groupDomain, ranges: cidrs }: Bootstrap): Promise<void> {
  const resource = catalog.find(`networking.${groupDomain}`, 'v1', 'servicecidrs')
  const stored = resource && client.get(resource, RANGE)
  const { conditions = [] } = stored?.['status'] ?? {}
  const isSaid = (conditions as { type: string }[]).some(({ type }) => type === 'Ready')
  if (!stored || stored.metadata.deletionTimestamp || isSaid || !deepEqual(stored['spec'].cidrs, [...cidrs])) return
  const lastTransitionTime = client.now.toISOString().replace(/\.\d+Z$/, 'Z')
  const message = 'Kubernetes default Service CIDR is ready'
  const patch = { status: { conditions: [{ type: 'Ready', status: 'True', reason: '', message, lastTransitionTime }] } }
  const query = 'fieldManager=kubernetes-service-cidr-controller'
  await client.patch(resource, RANGE, patch, { type: 'application/merge-patch+json', subresource: 'status', query })
}
