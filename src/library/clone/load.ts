/** Loads the objects of another cluster into the store of a server without controllers: nothing acts on a half of them. */
import { randomUUID } from 'node:crypto'
import type { Client } from '../../client/client.ts'
import { encodeStored } from '../../codec/stored-bytes.ts'
import { CustomResourceDefinition } from '../../kinds/apiextensions/customresourcedefinition.ts'
import { Node } from '../../kinds/core/node.ts'
import type { JsonObject } from '../../lib/json-value.ts'
import { SIMULATED_LABEL } from '../../nodes/node/is-simulated.ts'
import { nodeName } from '../../nodes/node/simulated-node.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { collectionPath, keyOf, type Resource } from '../../schema/resource.ts'
import type { Server } from '../../server/running-server.ts'
import type { Store } from '../../storage/store.ts'
import { type CloneChoices, cloned, emptyStatus, isOfServer, leftOut } from './cloned-object.ts'
import { type SourceCluster, SourceError } from './source.ts'

/** The node that a server with simulated nodes makes for itself. */
const OWN_NODE = nodeName(1)

/** Keeps the first node of this server from getting pods, before it is started with simulated nodes: `removeOwnNode` removes it then. */
export async function closeOwnNode({ client, store }: Server): Promise<void> {
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: OWN_NODE, uid: randomUUID(), labels: { [SIMULATED_LABEL]: 'true' } } }
  await put(store, client.of(Node).resource, {
    ...node,
    spec: { unschedulable: true },
    status: emptyStatus({}, {}),
  } as unknown as AnyObject)
}

/** A node that is removed after it was found there stays away. */
export async function removeOwnNode(server: Server): Promise<void> {
  const { client } = server
  await server.settled()
  await client.of(Node).delete({ metadata: { name: OWN_NODE } })
}

export type Loaded = {
  readonly objects: number
  readonly nodes: number
  /** Whether one of them has the name of the first node of this server. */
  readonly hasOwnNode: boolean
  /** Resources whose objects were not cloned, with the reason. */
  readonly skipped: readonly string[]
}

/** The time that custom kinds take until they are served. */
const MAX_WAIT_MS = 30_000

/** Throws SourceError if nothing can be read. */
export async function loadFrom(source: SourceCluster, { client, store }: Server, choices: CloneChoices): Promise<Loaded> {
  const skipped: string[] = []
  const definitions = client.of(CustomResourceDefinition).resource
  let objects = 0
  let nodes = 0
  const load = async (resource: Resource) => {
    const why = leftOut(resource, choices)
    const version =
      why === undefined ? [resource, ...resource.versions].find(each => source.serves(each.group, each.version, each.plural)) : undefined
    if (!version) {
      if (why !== undefined) skipped.push(`${resource.qualified}: ${why}`)
      return
    }
    const listed = await source.list(collectionPath(version, ''))
    if ('problem' in listed) return void skipped.push(`${resource.qualified}: ${listed.problem}`)
    const found = listed.items.map(item => storedObject(version, item)).filter(object => !isOfServer(resource, object))
    await Promise.all(found.map(object => put(store, resource, cloned(resource, object, choices))))
    objects += found.length
    if (resource.qualified === 'nodes') nodes = found.length
  }
  await load(definitions)
  await customKindsServed(client)
  const others = [...client.resources()].filter(({ prefix }) => prefix !== definitions.prefix)
  for (const resource of others) await load(resource)
  if (objects === 0) throw new SourceError(`${source.url} has no objects that this user may read: ${skipped.join('; ') || 'none'}`)
  return { objects, nodes, hasOwnNode: client.of(Node).get({ name: OWN_NODE }) !== undefined, skipped }
}

/** An object of a list, which does not repeat its kind, in the stored version. */
function storedObject({ kind, apiVersion, conversion }: Resource, item: JsonObject): AnyObject {
  const object = { kind, apiVersion, ...item } as unknown as AnyObject
  return conversion ? conversion.toStored(object) : object
}

/** Writes a record; one that this server has made itself is replaced. */
async function put(store: Store, resource: Resource, object: AnyObject): Promise<void> {
  const key = keyOf(resource, object.metadata.namespace ?? '', object.metadata.name ?? '')
  const value = encodeStored(object)
  for (let expect = 0; ; ) {
    const swap = await store.swap(key, { expect, value })
    if (swap.ok) return
    expect = swap.current?.modified ?? 0
  }
}

/** Resolves when the kinds of all definitions that were established are served. */
async function customKindsServed(client: Client): Promise<void> {
  const until = performance.now() + MAX_WAIT_MS
  const missing = () =>
    [...client.of(CustomResourceDefinition).list()].filter(({ spec, status }) => {
      const isEstablished = status?.conditions?.some(({ type, status: value }) => type === 'Established' && value === 'True')
      const stored = spec.versions.find(({ storage }) => storage)
      return isEstablished && stored?.served && !client.ofKind(`${spec.group}/${stored.name}`, spec.names.kind)
    })
  for (let left = missing(); left.length > 0; left = missing()) {
    if (performance.now() > until)
      throw new SourceError(`the custom kinds ${left.map(({ metadata }) => metadata.name).join(', ')} are not served here`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}
