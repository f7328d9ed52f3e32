/** APIServices for every group version that this server answers for itself: those built in, and those of custom kinds. */
import { randomUUID } from 'node:crypto'
import type { Caches } from '../cache/caches.ts'
import type { Client, ResourceClient } from '../client/client.ts'
import { serverIdentity } from '../client/identity.ts'
import { type Controller, defineController, watch } from '../controllers/controller.ts'
import type { CustomDefinition } from '../custom/definition.ts'
import { CustomResourceDefinition } from '../kinds/apiextensions/customresourcedefinition.ts'
import { APIService } from '../kinds/apiregistration/apiservice.ts'
import { deepEqual, type Json } from '../lib/json-value.ts'
import { formatTime, instantOf } from '../lib/time.ts'
import type { Catalog } from '../registry/catalog.ts'
import { seed } from '../registry/seed.ts'
import type { ObjectOf } from '../schema/kind.ts'

type Stored = ObjectOf<typeof APIService>
type Services = ResourceClient<Stored>

type Spec = { readonly group?: string; readonly version: string; readonly groupPriorityMinimum: number; readonly versionPriority: number }
type Wanted = { readonly name: string; readonly spec: Spec; readonly managed: Managed }
/** Whether one is managed at the start alone, or always. */
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

/** Creates what is missing and deletes what is no longer served, before the first request. */
export async function ensureApiServices({ catalog, caches, client, groupDomain }: ApiServicesParts): Promise<void> {
  const services = client.of(APIService)
  const wanted = new Map(
    [...ofServed(catalog, groupDomain), ...ofDefinitions(catalog, definitionsOf(client))].map(each => [each.name, each]),
  )
  const lastTransitionTime = formatTime(instantOf(client.now.getTime()))
  const status = { conditions: [{ type: 'Available', status: 'True', lastTransitionTime, reason: 'Local', message: LOCAL }] }
  const absent = [...wanted.values()].filter(({ name }) => !services.exists({ name }))
  const statusManager = { manager: client.identity.manager, operation: 'Update' } as const
  const seeds = absent.map(each => ({ resource: services.resource, object: { ...bodyOf(each), status }, statusManager }))
  await Promise.all([
    // In one commit: there are dozens of them.
    seed(seeds, { caches, newUid: randomUUID, now: client.now, manager: client.identity.manager }),
    ...Array.from(services.list(), stored => align(services, stored, wanted.get(stored.metadata.name!))),
  ])
}

export type ApiServicesParts = {
  readonly catalog: Catalog
  readonly caches: Caches
  readonly client: Client
  readonly groupDomain: string
}

const ALL = 'all'

/** Creates and deletes those of custom kinds as definitions come and go. */
export const apiServiceController = (catalog: Catalog): Controller =>
  defineController({
    name: 'crd-autoregister-controller',
    identity: serverIdentity(),
    create({ client }) {
      const services = client.of(APIService)
      return {
        watches: [watch(CustomResourceDefinition, () => ALL), watch(APIService, () => ALL)],
        async reconcile() {
          const wanted = new Map(Array.from(ofDefinitions(catalog, definitionsOf(client)), each => [each.name, each]))
          const absent = [...wanted.values()].filter(({ name }) => !services.exists({ name }))
          const managed = [...services.list()].filter(stored => managedOf(stored) === 'true')
          await Promise.all([
            ...absent.map(each => services.create(bodyOf(each))),
            ...managed.map(stored => align(services, stored, wanted.get(stored.metadata.name!))),
          ])
        },
      }
    },
  })

const definitionsOf = (client: Client): Iterable<CustomDefinition> => client.of(CustomResourceDefinition).list()

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

/** Group versions of built-in kinds stay what they are, whatever is defined in them. */
function* ofDefinitions(catalog: Catalog, definitions: Iterable<CustomDefinition>): Iterable<Wanted> {
  const seen = new Set<string>()
  for (const { spec } of definitions)
    for (const { name: version, served } of spec.versions ?? []) {
      const name = `${version}.${spec.group}`
      if (!served || seen.has(name) || catalog.isBuiltIn(spec.group, version)) continue
      seen.add(name)
      yield { name, spec: { group: spec.group, version, ...CUSTOM }, managed: 'true' }
    }
}

/** Brings one that the server manages in line. */
async function align(services: Services, stored: Stored, wanted: Wanted | undefined): Promise<void> {
  if (managedOf(stored) === undefined) return
  if (!wanted) await services.delete(stored)
  else if (!deepEqual(stored.spec as Json, wanted.spec as Json)) await services.update({ ...stored, spec: wanted.spec as Stored['spec'] })
}

const bodyOf = ({ name, spec, managed }: Wanted) => ({ metadata: { name, labels: { [LABEL]: managed } }, spec })

function managedOf({ metadata }: Stored): Managed | undefined {
  const managed = metadata.labels?.[LABEL]
  return managed === 'onstart' || managed === 'true' ? managed : undefined
}

const LOCAL = 'Local APIServices are always available'
