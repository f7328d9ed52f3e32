/**
 * Garbage collection across servers: deletes objects of aggregated API servers whose owners are all gone, and objects here whose owners
 * were there. Other servers are not watched, so all of it is listed periodically, and when an owner here is deleted.
 */
import type { ApiAccess, DiscoveredResource } from '../../client/api-access.ts'
import type { Change } from '../../client/change.ts'
import { isObject, type Json } from '../../lib/json-value.ts'
import { Pace } from '../../lib/pace.ts'
import { run, type Step } from '../../lib/step.ts'
import type { ObjectMeta, OwnerReference } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import { StatusError } from '../../schema/status-error.ts'
import { type Controller, type ControllerContext, defineController, watchAll } from '../controller.ts'

const SWEEP = 'sweep'
const SWEEP_MS = 30_000
/** An owner counts as deleted when it was missing twice: writes of other replicas arrive with a delay. */
const CONFIRM_MS = 1000
/** A server that was just registered is listed soon after. */
const UNDISCOVERED_MS = 3000
const PAGE = 500

type Found = { readonly resource: DiscoveredResource; readonly metadata: ObjectMeta }
type OwnerState = 'present' | 'absent' | 'unknown'

export const aggregatedGarbageCollector = (api: ApiAccess): Controller =>
  defineController({
    name: 'garbage-collector-elsewhere',
    identity: 'generic-garbage-collector',
    create(context) {
      const collector = new FarCollector(api, context)
      context.enqueue(SWEEP)
      return {
        watches: [
          watchAll({ changed: (resource, change) => collector.changed(resource, change), joined: () => {} }, async () =>
            run(collector.readAll(), new Pace()),
          ),
        ],
        reconcile: () => collector.sweep(),
      }
    },
  })

type Near = { readonly resource: Resource; readonly namespace: string; readonly name: string; readonly uid: string }

class FarCollector {
  readonly #api: ApiAccess
  readonly #context: ControllerContext
  /** Objects of this server with an owner of a kind that another server serves, by key. */
  readonly #near = new Map<string, Near>()
  /** Owners of objects on other servers. */
  #owners: ReadonlySet<string> = new Set()
  /** Objects whose owner was missing at the last list. */
  #suspects: ReadonlySet<string> = new Set()

  constructor(api: ApiAccess, context: ControllerContext) {
    this.#api = api
    this.#context = context
  }

  *readAll(): Step<void> {
    const { client, signal } = this.#context
    for (const resource of client.resources())
      for (const current of client.of(resource).revisions()) {
        this.changed(resource, { type: 'added', current, previous: undefined })
        yield
        if (signal.aborted) return
      }
  }

  changed(resource: Resource, { type, current }: Change): void {
    const { key, namespace, name, uid, owners } = current
    if (type === 'deleted' && this.#owners.has(uid)) this.#context.enqueue(SWEEP)
    if (owners.length === 0 && !this.#near.has(key)) return
    const isFar = ({ apiVersion, kind }: OwnerReference) => this.#context.client.ofKind(apiVersion, kind) === undefined
    const isKept = type !== 'deleted' && resource.verbs.includes('delete') && current.object?.metadata.ownerReferences?.some(isFar)
    if (isKept) this.#near.set(key, { resource, namespace, name, uid })
    else this.#near.delete(key)
  }

  async sweep(): Promise<number> {
    const { client, signal, onError } = this.#context
    const { resources, unknown } = this.#api.elsewhere()
    const found: Found[] = []
    for (const resource of resources.filter(({ verbs }) => verbs.includes('list') && verbs.includes('delete'))) {
      try {
        found.push(...(await this.#list(resource)))
      } catch (error) {
        if (!signal.aborted) onError(error)
      }
    }
    const uids = new Set(found.map(({ metadata }) => metadata.uid!))
    this.#owners = new Set(found.flatMap(({ metadata }) => (metadata.ownerReferences ?? []).map(({ uid }) => uid)))
    const suspects = new Set<string>()
    for (const { resource, metadata } of found) {
      if (!(await this.#isOrphan(metadata, uids))) continue
      suspects.add(metadata.uid!)
      if (this.#suspects.has(metadata.uid!)) await this.#delete(resource, metadata)
    }
    for (const { resource, uid, ...named } of this.#near.values()) {
      const object = client.of(resource).get(named)
      if (object?.metadata.uid !== uid || !(await this.#isOrphan(object.metadata, uids))) continue
      suspects.add(uid)
      if (this.#suspects.has(uid)) await client.of(resource).delete(object, { propagationPolicy: 'Background', unchanged: true })
    }
    const isNew = [...suspects].some(uid => !this.#suspects.has(uid))
    this.#suspects = suspects
    return isNew ? CONFIRM_MS : unknown.length > 0 ? UNDISCOVERED_MS : SWEEP_MS
  }

  async #list(resource: DiscoveredResource): Promise<Found[]> {
    const { client, signal } = this.#context
    const all: Found[] = []
    for (let token = ''; ; ) {
      const query = { limit: String(PAGE), ...(token !== '' && { continue: token }) }
      const page = await this.#api.send(client.identity, { method: 'GET', path: pathOf(resource, ''), query }, signal)
      for (const item of itemsOf(page)) all.push({ resource, metadata: item })
      const meta = isObject(page) && isObject(page['metadata']) ? page['metadata'] : {}
      token = typeof meta['continue'] === 'string' ? meta['continue'] : ''
      if (token === '') return all
    }
  }

  /** Whether it has owners, and none of them is there any more. */
  async #isOrphan({ ownerReferences = [], namespace = '', deletionTimestamp }: ObjectMeta, uids: ReadonlySet<string>): Promise<boolean> {
    if (ownerReferences.length === 0 || deletionTimestamp) return false
    for (const reference of ownerReferences) if ((await this.#stateOf(reference, namespace, uids)) !== 'absent') return false
    return true
  }

  async #stateOf({ apiVersion, kind, name, uid }: OwnerReference, namespace: string, uids: ReadonlySet<string>): Promise<OwnerState> {
    const { client, signal } = this.#context
    if (uids.has(uid)) return 'present'
    const here = client.ofKind(apiVersion, kind)
    if (here) {
      if (here.resource.namespaced && namespace === '') return 'unknown'
      return here.revision({ namespace: here.resource.namespaced ? namespace : '', name })?.uid === uid ? 'present' : 'absent'
    }
    const group = apiVersion.includes('/') ? apiVersion.split('/')[0]! : ''
    const [there] = this.#api.resourcesOfKind(group, kind)
    if (!there || (there.namespaced && namespace === '')) return 'unknown'
    try {
      const path = `${pathOf(there, there.namespaced ? namespace : '')}/${encodeURIComponent(name)}`
      const owner = await this.#api.send(client.identity, { method: 'GET', path }, signal)
      return isObject(owner) && isObject(owner['metadata']) && owner['metadata']['uid'] === uid ? 'present' : 'absent'
    } catch (error) {
      return error instanceof StatusError && error.code === 404 ? 'absent' : 'unknown'
    }
  }

  async #delete(resource: DiscoveredResource, { namespace = '', name = '', uid = '' }: ObjectMeta): Promise<void> {
    const { client, signal } = this.#context
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid }, propagationPolicy: 'Background' }
    try {
      await this.#api.send(
        client.identity,
        { method: 'DELETE', path: `${pathOf(resource, namespace)}/${encodeURIComponent(name)}`, body },
        signal,
      )
    } catch (error) {
      if (!(error instanceof StatusError && (error.code === 404 || error.code === 409))) this.#context.onError(error)
    }
  }
}

const pathOf = ({ group, version, plural }: DiscoveredResource, namespace: string): string =>
  `/apis/${group}/${version}${namespace === '' ? '' : `/namespaces/${namespace}`}/${plural}`

/** The metadata of the items that can be told apart. */
function itemsOf(page: Json): ObjectMeta[] {
  const items = isObject(page) && Array.isArray(page['items']) ? page['items'] : []
  return items.flatMap(item => {
    const metadata = isObject(item) && isObject(item['metadata']) ? item['metadata'] : undefined
    if (typeof metadata?.['uid'] !== 'string' || typeof metadata['name'] !== 'string') return []
    const references = Array.isArray(metadata['ownerReferences']) ? metadata['ownerReferences'].filter(isReference) : []
    return [{ ...metadata, ownerReferences: references } as unknown as ObjectMeta]
  })
}

const isReference = (value: Json): boolean =>
  isObject(value) && ['apiVersion', 'kind', 'name', 'uid'].every(field => typeof value[field] === 'string')
