/** Extended resources that devices stand for: the claim that is made for a pod which requests them. */

import type { Pod } from '../kinds/core/pod/pod.ts'
import type { DeviceRequest } from '../kinds/resource/claim-shapes.ts'
import type { DeviceClass } from '../kinds/resource/deviceclass.ts'
import { isSidecar } from '../kinds/rules/pod/containers/container.ts'
import { isExtendedResourceName } from '../kinds/rules/pod/resources/resource-rules.ts'
import type { PodExtendedResourceClaimStatus } from '../kinds/rules/pod/status/status.ts'
import { getOwn } from '../lib/json-value.ts'
import { parseQuantity } from '../lib/quantity.ts'
import { millisecondsAt } from '../lib/time.ts'
import type { AllocatorFeatures } from './features.ts'

/** Every class can be requested under this and its name. */
const CLASS_PREFIX = 'deviceclass.resource.kubernetes.io/'

export const isDeviceResource = (name: string): boolean => isExtendedResourceName(name) || name.startsWith(CLASS_PREFIX)

/** The classes behind extended resources, kept up to date class by class. */
export class ResourceClasses {
  readonly #classes = new Map<string, DeviceClass>()
  readonly #byResource = new Map<string, Set<DeviceClass>>()
  /** The one of them that stands for the resource. */
  readonly #behind = new Map<string, DeviceClass>()
  readonly #features: Pick<AllocatorFeatures, 'extendedResources'>

  constructor(features: Pick<AllocatorFeatures, 'extendedResources'>) {
    this.#features = features
  }

  set(object: DeviceClass): void {
    const { name = '' } = object.metadata
    this.remove(name)
    this.#classes.set(name, object)
    const resource = object.spec.extendedResourceName
    if (resource === undefined) return
    const classes = this.#byResource.get(resource) ?? new Set()
    this.#byResource.set(resource, classes.add(object))
    this.#behind.set(resource, newestOf(classes))
  }

  remove(name: string): void {
    const known = this.#classes.get(name)
    const resource = known?.spec.extendedResourceName
    this.#classes.delete(name)
    if (!known || resource === undefined) return
    const classes = this.#byResource.get(resource)!
    classes.delete(known)
    if (classes.size > 0) this.#behind.set(resource, newestOf(classes))
    else {
      this.#byResource.delete(resource)
      this.#behind.delete(resource)
    }
  }

  get(name: string): DeviceClass | undefined {
    return this.#classes.get(name)
  }

  /** The class whose devices stand for a resource: of several the newest, and then the first by name. */
  behind(resource: string): DeviceClass | undefined {
    if (!this.#features.extendedResources) return undefined
    if (resource.startsWith(CLASS_PREFIX)) {
      const named = this.#classes.get(resource.slice(CLASS_PREFIX.length))
      if (named) return named
    }
    return this.#behind.get(resource)
  }
}

function newestOf(classes: ReadonlySet<DeviceClass>): DeviceClass {
  const byName = [...classes].sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))
  return byName.reduce((best, next) => (createdAt(next) > createdAt(best) ? next : best))
}
const createdAt = ({ metadata }: DeviceClass): number => millisecondsAt(metadata.creationTimestamp)

type Mapping = NonNullable<PodExtendedResourceClaimStatus['requestMappings']>[number]
type Container = NonNullable<Pod['spec']['containers']>[number]

/** The requests of the claim for some resources of a pod, and which container has which of them. */
export function extendedRequests(
  { spec }: Pod,
  resources: readonly string[],
  classBehind: (resource: string) => DeviceClass | undefined,
): { readonly requests: DeviceRequest[]; readonly mappings: Mapping[] } {
  const init = spec.initContainers ?? []
  const containers: Container[] = [...init, ...(spec.containers ?? [])]
  const isShortLived = (i: number) => i < init.length && !isSidecar(init[i]!)
  const requests: DeviceRequest[] = []
  const mappings: Mapping[] = []
  for (const resource of [...resources].sort()) {
    const found = classBehind(resource)
    if (!found) continue
    const made = containers.map((container, i) =>
      isShortLived(i) ? undefined : requestFor({ container, index: i, resource, className: found.metadata.name ?? '', reusable: [] }),
    )
    // Init containers are over before the others run: they use what those that come later have, and one request is enough for them all.
    const before = containers.map((container, i) =>
      isShortLived(i)
        ? requestFor({
            container,
            index: i,
            resource,
            className: found.metadata.name ?? '',
            reusable: made.slice(i).flatMap(each => each?.request ?? []),
          })
        : undefined,
    )
    const own = before.flatMap(each => each?.request ?? [])
    const largest = own.reduce<DeviceRequest | undefined>((best, next) => (best && countOf(best) >= countOf(next) ? best : next), undefined)
    const replaced = new Set(own.map(({ name }) => name))
    if (largest) requests.push(largest)
    for (const each of made) if (each?.request) requests.push(each.request)
    for (const each of made) mappings.push(...(each?.mappings ?? []))
    for (const each of before)
      for (const mapping of each?.mappings ?? [])
        mappings.push(replaced.has(mapping.requestName) ? { ...mapping, requestName: largest!.name } : mapping)
  }
  requests.sort((a, b) => (a.name < b.name ? -1 : 1))
  return { requests, mappings }
}

const countOf = ({ exactly }: DeviceRequest): number => Number(exactly?.count ?? 0)

type ResourceRequest = {
  readonly container: Container
  readonly index: number
  readonly resource: string
  readonly className: string
  /** Requests of others whose devices the container can use. */
  readonly reusable: readonly DeviceRequest[]
}

function requestFor({
  container,
  index,
  resource,
  className,
  reusable,
}: ResourceRequest): { request?: DeviceRequest; mappings: Mapping[] } | undefined {
  const asked = container.resources?.requests ?? {}
  const text = getOwn(asked, resource)
  const quantity = text === undefined ? undefined : parseQuantity(text)
  const count = quantity && quantity.scale >= 0 ? Number(quantity.unscaled) * 10 ** quantity.scale : 0
  if (count === 0) return undefined
  const mappings: Mapping[] = []
  const map = (requestName: string) => mappings.push({ containerName: container.name, resourceName: resource, requestName })
  let had = 0
  for (const request of reusable) {
    had += countOf(request)
    map(request.name)
    if (had >= count) return { mappings }
  }
  const name = `container-${index}-request-${Object.keys(asked).sort().indexOf(resource)}`
  map(name)
  const exactly = { deviceClassName: className, allocationMode: 'ExactCount', count: count - had }
  return { request: { name, exactly }, mappings }
}
