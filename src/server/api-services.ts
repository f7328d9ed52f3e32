/** APIServices for every group version that this server answers for itself: those built in, and those of custom kinds as they come and go. */
import { randomUUID } from 'node:crypto'
import type { Caches } from '../cache/caches.ts'
import { Loop } from '../controllers/loop.ts'
import type { CustomDefinition } from '../custom/definition.ts'
import { deepEqual } from '../lib/json-value.ts'
import { formatTime, instantOf } from '../lib/time.ts'
import type { Catalog } from '../registry/catalog.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { seed } from '../registry/seed.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'

export type ApiServicesParts = {
  readonly caches: Caches
  readonly catalog: Catalog
  readonly client: LocalClient
  readonly groupDomain: string
  readonly now: () => Date
  readonly onError: (error: unknown) => void
  readonly signal: AbortSignal
}

type Spec = { readonly group?: string; readonly version: string; readonly groupPriorityMinimum: number; readonly versionPriority: number }
type Wanted = { readonly name: string; readonly spec: Spec; readonly managed: Managed }
/** Whether one is looked after at the start alone, or always. */
type Managed = 'onstart' | 'true'

const LABEL = 'kube-aggregator.kubernetes.io/automanaged'

/** How groups are ordered for clients, the first part of their name standing for those under the domain of the server. */
const PRIORITIES: Readonly<Record<string, number>> = {
  '': 18_000,
  apps: 17_800,
  events: 17_750,
  authentication: 17_700,
  authorization: 17_600,
  autoscaling: 17_500,
  batch: 17_400,
  certificates: 17_300,
  networking: 17_200,
  policy: 17_100,
  'rbac.authorization': 17_000,
  storage: 16_800,
  apiextensions: 16_700,
  admissionregistration: 16_700,
  scheduling: 16_600,
  coordination: 16_500,
  node: 16_300,
  discovery: 16_200,
  resource: 16_200,
  'flowcontrol.apiserver': 16_100,
  'internal.apiserver': 16_000,
  storagemigration: 15_800,
  lifecycle: 15_700,
}
/** How versions are ordered in their group, where it is not the usual. */
const VERSIONS: Readonly<Record<string, number>> = {
  '/v1': 1,
  'autoscaling/v2': 30,
  'flowcontrol.apiserver/v1': 21,
  'resource/v1': 21,
  'resource/v1beta2': 15,
  'resource/v1alpha3': 1,
  'admissionregistration/v1beta1': 12,
  'admissionregistration/v1alpha1': 9,
  'coordination/v1beta1': 13,
  'coordination/v1alpha2': 12,
}
const USUAL_VERSIONS = [15, 9, 1] as const
const CUSTOM = { groupPriorityMinimum: 1000, versionPriority: 100 }

/** Creates what is missing, takes away what is no longer served, and follows the definitions of custom kinds. */
export async function startApiServices(parts: ApiServicesParts): Promise<void> {
  const { catalog, client, groupDomain, onError, signal } = parts
  const services = catalog.find(`apiregistration.${groupDomain}`, 'v1', 'apiservices')
  if (!services) return
  const definitions = catalog.find(`apiextensions.${groupDomain}`, 'v1', 'customresourcedefinitions')
  const custom = () => (definitions ? [...ofDefinitions(client.list(definitions) as Iterable<CustomDefinition>)] : [])
  await begin(parts, services, [...ofServed(catalog, groupDomain), ...custom()])
  if (!definitions) return
  const loop = new Loop<'all'>({ settle: () => follow(client, services, custom()), onError, signal })
  for (const resource of [definitions, services]) client.follow(resource, () => void loop.wake('all'), signal)
  void loop.wake('all')
}

function* ofServed(catalog: Catalog, groupDomain: string): Iterable<Wanted> {
  const seen = new Set<string>()
  for (const { group, version, def } of catalog) {
    const name = `${version}.${group}`
    if (def.custom || seen.has(name) || group === `apiregistration.${groupDomain}`) continue
    seen.add(name)
    const short = group.endsWith(`.${groupDomain}`) ? group.slice(0, -groupDomain.length - 1) : group
    const minimum = Object.hasOwn(PRIORITIES, short) ? PRIORITIES[short] : undefined
    const usual = USUAL_VERSIONS[version.includes('alpha') ? 2 : version.includes('beta') ? 1 : 0]
    const priorities =
      minimum === undefined ? CUSTOM : { groupPriorityMinimum: minimum, versionPriority: VERSIONS[`${short}/${version}`] ?? usual }
    yield { name, spec: { ...(group !== '' && { group }), version, ...priorities }, managed: 'onstart' }
  }
}

function* ofDefinitions(definitions: Iterable<CustomDefinition>): Iterable<Wanted> {
  const seen = new Set<string>()
  for (const { spec } of definitions)
    for (const { name: version, served } of spec.versions ?? []) {
      const name = `${version}.${spec.group}`
      if (!served || seen.has(name)) continue
      seen.add(name)
      yield { name, spec: { group: spec.group, version, ...CUSTOM }, managed: 'true' }
    }
}

/** Brings all that is looked after in line, those that are missing in one commit. */
async function begin({ caches, client, now }: ApiServicesParts, services: Resource, all: readonly Wanted[]): Promise<void> {
  const wanted = new Map(all.map(each => [each.name, each]))
  const lastTransitionTime = formatTime(instantOf(now().getTime()))
  const status = { conditions: [{ type: 'Available', status: 'True', lastTransitionTime, reason: 'Local', message: LOCAL }] }
  const absent = [...wanted.values()].filter(({ name }) => !client.exists(services, { name }))
  const seeds = absent.map(each => ({ resource: services, object: { ...bodyOf(each), status } }))
  await Promise.all([
    seed(seeds, { caches, newUid: randomUUID, now: now(), manager: MANAGER }),
    ...Array.from(client.list(services), stored => align(client, services, { stored, wanted: wanted.get(stored.metadata.name!) })),
  ])
}

/** Those of custom kinds are made and taken away as their definitions say. */
async function follow(client: LocalClient, services: Resource, all: readonly Wanted[]): Promise<void> {
  const wanted = new Map(all.map(each => [each.name, each]))
  const absent = all.filter(({ name }) => !client.exists(services, { name }))
  await Promise.all([
    ...absent.map(each => client.create(services, bodyOf(each))),
    ...[...client.list(services)]
      .filter(stored => managedOf(stored) === 'true')
      .map(stored => align(client, services, { stored, wanted: wanted.get(stored.metadata.name!) })),
  ])
}

/** What somebody has made his own is left alone. */
async function align(
  client: LocalClient,
  services: Resource,
  { stored, wanted }: { stored: AnyObject; wanted: Wanted | undefined },
): Promise<void> {
  if (managedOf(stored) === undefined) return
  if (!wanted) await client.remove(services, stored)
  else if (!deepEqual(stored['spec'], wanted.spec)) await client.replace(services, { ...stored, spec: wanted.spec })
}

const bodyOf = ({ name, spec, managed }: Wanted) => ({ metadata: { name, labels: { [LABEL]: managed } }, spec })

function managedOf({ metadata }: AnyObject): Managed | undefined {
  const managed = metadata.labels?.[LABEL]
  return managed === 'onstart' || managed === 'true' ? managed : undefined
}

const MANAGER = 'kube-apiserver'
const LOCAL = 'Local APIServices are always available'
