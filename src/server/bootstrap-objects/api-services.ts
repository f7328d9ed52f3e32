/** APIServices of all group versions that this server serves itself: built-in ones, and those of custom kinds. */
import type { Caches } from '../../cache/caches.ts'
import type { Client, ResourceClient } from '../../client/client.ts'
import { serverIdentity } from '../../client/identity.ts'
import { type Controller, defineController, watch } from '../../controllers/controller.ts'
import type { CustomDefinition } from '../../custom/definition.ts'
import { CustomResourceDefinition } from '../../kinds/apiextensions/customresourcedefinition.ts'
import { APIService } from '../../kinds/apiregistration/apiservice.ts'
import { newUuid } from '../../lib/environment.ts'
import { deepEqual, type Json } from '../../lib/json-value.ts'
import { timestampOf } from '../../lib/time.ts'
import type { Catalog } from '../../registry/catalog.ts'
import { CUSTOM_PRIORITIES, prioritiesOf } from '../../registry/group-priorities.ts'
import { seed } from '../../registry/seed.ts'

type Stored = APIService
type Services = ResourceClient<Stored>

type Spec = { readonly group?: string; readonly version: string; readonly groupPriorityMinimum: number; readonly versionPriority: number }
type ManagedApiService = {
  readonly name: string
  readonly spec: Spec
  readonly managed: Managed
  /** Whether another server may take the group version over: an APIService that names a service is left alone. */
  readonly isReplaceable?: boolean
}
/**
 * Whether an APIService is managed at the start only, or always. A kube-apiserver on the same etcd would delete one of the latter at any
 * time, if it does not serve it.
 */
type Managed = 'onstart' | 'true'

const LABEL = 'kube-aggregator.kubernetes.io/automanaged'

/** Creates missing APIServices and deletes those that are no longer served, before the first request. */
export async function ensureApiServices({ catalog, caches, client, groupDomain }: ApiServicesParts): Promise<void> {
  const services = client.of(APIService)
  const expected = new Map(
    [...ofServed(catalog, groupDomain), ...ofDefinitions(catalog, definitionsOf(client))].map(each => [each.name, each]),
  )
  const lastTransitionTime = timestampOf(client.now)
  const status = { conditions: [{ type: 'Available', status: 'True', lastTransitionTime, reason: 'Local', message: LOCAL }] }
  const absent = [...expected.values()].filter(({ name }) => !services.exists({ name }))
  const seeds = absent.map(each => ({ resource: services.resource, object: { ...bodyOf(each), status } }))
  await Promise.all([
    // All in one commit: there are dozens of them.
    seed(seeds, { caches, newUid: newUuid, now: client.now, manager: client.identity.manager }),
    ...Array.from(services.list(), stored => align(services, stored, expected.get(stored.metadata.name!))),
  ])
}

export type ApiServicesParts = {
  readonly catalog: Catalog
  readonly caches: Caches
  readonly client: Client
  readonly groupDomain: string
}

const ALL = 'all'

/** Creates and deletes the APIServices of custom kinds with their definitions, and restores those that another server gives up. */
export const apiServiceController = (catalog: Catalog): Controller =>
  defineController({
    name: 'crd-autoregister-controller',
    identity: serverIdentity(),
    create({ client, groupDomain }) {
      const services = client.of(APIService)
      return {
        watches: [watch(CustomResourceDefinition, () => ALL), watch(APIService, () => ALL)],
        async reconcile() {
          const replaceable = [...ofServed(catalog, groupDomain)].filter(each => each.isReplaceable)
          const expected = new Map([...replaceable, ...ofDefinitions(catalog, definitionsOf(client))].map(each => [each.name, each]))
          const absent = [...expected.values()].filter(({ name }) => !services.exists({ name }))
          const managed = [...services.list()].filter(stored => managedOf(stored) === 'true')
          await Promise.all([
            ...absent.map(each => services.create(bodyOf(each))),
            ...managed.map(stored => align(services, stored, expected.get(stored.metadata.name!))),
          ])
        },
      }
    },
  })

const definitionsOf = (client: Client): Iterable<CustomDefinition> => client.of(CustomResourceDefinition).list()

function* ofServed(catalog: Catalog, groupDomain: string): Iterable<ManagedApiService> {
  const seen = new Set<string>()
  for (const { group, version, def } of catalog) {
    const name = `${version}.${group}`
    if (def.custom || seen.has(name) || group === `apiregistration.${groupDomain}`) continue
    seen.add(name)
    const short = group.endsWith(`.${groupDomain}`) ? group.slice(0, -groupDomain.length - 1) : group
    const spec = { ...(group !== '' && { group }), version, ...prioritiesOf(short, version) }
    yield { name, spec, managed: 'onstart', ...(def.replaceable && { isReplaceable: true }) }
  }
}

/** Definitions do not change group versions of built-in kinds. */
function* ofDefinitions(catalog: Catalog, definitions: Iterable<CustomDefinition>): Iterable<ManagedApiService> {
  const seen = new Set<string>()
  for (const { spec } of definitions)
    for (const { name: version, served } of spec.versions ?? []) {
      const name = `${version}.${spec.group}`
      if (!served || seen.has(name) || catalog.isBuiltIn(spec.group, version)) continue
      seen.add(name)
      yield { name, spec: { group: spec.group, version, ...CUSTOM_PRIORITIES }, managed: 'true' }
    }
}

/** Updates or deletes a managed APIService. One that another server has taken over is no longer managed. */
async function align(services: Services, stored: Stored, expected: ManagedApiService | undefined): Promise<void> {
  if (managedOf(stored) === undefined || (stored.spec.service && (!expected || expected.isReplaceable))) return
  if (!expected) await services.delete(stored)
  else if (!deepEqual(stored.spec as Json, expected.spec as Json))
    await services.update({ ...stored, spec: expected.spec as Stored['spec'] })
}

const bodyOf = ({ name, spec, managed }: ManagedApiService) => ({ metadata: { name, labels: { [LABEL]: managed } }, spec })

function managedOf({ metadata }: Stored): Managed | undefined {
  const managed = metadata.labels?.[LABEL]
  return managed === 'onstart' || managed === 'true' ? managed : undefined
}

const LOCAL = 'Local APIServices are always available'
