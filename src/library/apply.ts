/** Applies manifests like kubectl apply --server-side, in an order that respects dependencies. */
import type { Client, ResourceClient } from '../client/client.ts'
import { CustomResourceDefinition } from '../kinds/apiextensions/customresourcedefinition.ts'
import { Namespace } from '../kinds/core/namespace.ts'
import type { JsonObject } from '../lib/json-value.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { type Manifest, ManifestError, readManifests } from './manifests.ts'
import { isExpected } from './object-reference.ts'

const MANAGER = 'keelson-apply'
/** The timeout until a custom kind is served. */
const TIMEOUT_MS = 10_000

/**
 * Creates or updates objects, files and folders; resolves with the stored objects. Conflicting fields of other managers are taken over
 * (force).
 */
export async function applyTo(client: Client, sources: readonly (string | object)[]): Promise<AnyObject[]> {
  const applied: AnyObject[] = []
  for (const manifest of inOrder(readManifests(sources), client)) applied.push(await applyOne(client, manifest))
  return applied
}

const inOrder = (manifests: readonly Manifest[], client: Client): readonly Manifest[] =>
  [...manifests].sort((a, b) => rankOf(client, a.object) - rankOf(client, b.object))

/** Namespaces (0) and CustomResourceDefinitions (1) come before other objects (2), which otherwise keep their order. */
export function rankOf(client: Client, object: JsonObject): 0 | 1 | 2 {
  const isOf = (kind: typeof Namespace | typeof CustomResourceDefinition) => {
    const { resource } = client.of(kind as typeof Namespace)
    return object['apiVersion'] === resource.apiVersion && object['kind'] === resource.kind
  }
  return isOf(Namespace) ? 0 : isOf(CustomResourceDefinition) ? 1 : 2
}

async function applyOne(client: Client, { object, source }: Manifest): Promise<AnyObject> {
  const { apiVersion, kind } = object
  const { metadata = {}, ...rest } = object as JsonObject & { readonly metadata?: JsonObject }
  const fail = (problem: string) => new ManifestError(`${source}: ${kind} ${metadata['name'] ?? ''}: ${problem}`)
  const resource = await served(client, String(apiVersion), String(kind))
  if (!resource) throw fail(`no kind ${kind} is served in ${apiVersion}`)
  const namespace = resource.resource.namespaced ? { namespace: metadata['namespace'] ?? 'default' } : {}
  try {
    const draft = { ...rest, metadata: { ...metadata, ...namespace } } as Partial<AnyObject>
    return (await resource.apply(draft, { manager: MANAGER })).object
  } catch (error) {
    throw fail((error as Error).message)
  }
}

/** The client of a kind; waits for the kind while custom kinds are being established. */
async function served(client: Client, apiVersion: string, kind: string): Promise<ResourceClient<AnyObject> | undefined> {
  const until = performance.now() + TIMEOUT_MS
  for (;;) {
    const found = client.ofKind(apiVersion, kind)
    if (found || !isExpected(client, apiVersion, kind) || performance.now() > until) return found
    await new Promise(resolve => setTimeout(resolve, 1))
  }
}
