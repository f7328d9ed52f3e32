/** References to objects in tests: `deployment/web`, or an object with apiVersion, kind and metadata. */
import type { Client, ResourceClient } from '../client/client.ts'
import { CustomResourceDefinition } from '../kinds/apiextensions/customresourcedefinition.ts'
import { isObject } from '../lib/json-value.ts'
import { didYouMean } from '../lib/nearest-name.ts'
import type { ObjectReference } from '../public.d.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'

/** A referenced object: its kind may be one whose definition is not served yet. */
export type Named = {
  readonly kind: string
  readonly name: string
  /** The client of its kind; undefined until that is served. */
  readonly resource: () => ResourceClient<AnyObject> | undefined
  /** Its namespace and name; the namespace is empty for a cluster-scoped kind. */
  readonly key: () => { readonly namespace: string; readonly name: string }
}

/** Resolves a reference. Throws TypeError for an invalid reference, and for a kind that is neither served nor defined. */
export function findNamed(client: Client, reference: ObjectReference | string, namespace?: string): Named {
  const { kind, name, space, resource, isExpected, problem } =
    typeof reference === 'string' ? byText(client, reference) : byObject(client, reference)
  if (!resource() && !isExpected()) throw new TypeError(problem())
  const key = () => ({ namespace: resource()?.resource.namespaced === false ? '' : (namespace ?? space ?? 'default'), name })
  return { kind, name, resource, key }
}

type Found = Pick<Named, 'kind' | 'name' | 'resource'> & {
  readonly space?: string | undefined
  readonly isExpected: () => boolean
  readonly problem: () => string
}

/** `KIND/NAME`; the kind is a plural, singular or short name or a kind, with its group if necessary. */
function byText(client: Client, text: string): Found {
  const [, kind, name] = /^([^/\s]+)\/([^/\s]+)$/.exec(text) ?? []
  if (kind === undefined || name === undefined)
    throw new TypeError(`${JSON.stringify(text.slice(0, 100))} names no object; write KIND/NAME, such as 'configmap/hello'`)
  const { wanted, group, isMeant } = kindIn(kind)
  const resource = () => {
    for (const each of client.resources()) if (isMeant(each)) return client.of(each)
    return undefined
  }
  const isExpected = () =>
    expected(client).some(({ spec: { names, group: own } }) => {
      const all = [names.plural, names.singular ?? '', names.kind.toLowerCase(), ...(names.shortNames ?? [])]
      return all.includes(wanted) && (group === '' || group === own)
    })
  const problem = () => notServed(client, kind)
  return { kind, name, resource, isExpected, problem }
}

/** Finds a served kind by a plural, singular or short name or a kind, with its group if necessary: `deployments.apps`. Throws TypeError. */
export function findKind(client: Client, kind: string): Resource {
  if (typeof kind !== 'string' || kind === '') throw new TypeError("a kind is named as 'pods', 'deployment' or 'deployments.apps'")
  const { isMeant } = kindIn(kind)
  for (const each of client.resources()) if (isMeant(each)) return each
  throw new TypeError(notServed(client, kind))
}

function kindIn(text: string): { readonly wanted: string; readonly group: string; isMeant(resource: Resource): boolean } {
  const [wanted = '', ...rest] = text.toLowerCase().split('.')
  const group = rest.join('.')
  return { wanted, group, isMeant: resource => namesOf(resource).includes(wanted) && (group === '' || group === resource.group) }
}

const notServed = (client: Client, kind: string): string =>
  `no kind ${kind} is served${didYouMean(kind, [...client.resources()].flatMap(namesOf))}`

function byObject(client: Client, reference: ObjectReference): Found {
  const { apiVersion, kind, metadata }: Partial<ObjectReference> = isObject(reference) ? reference : {}
  const name = isObject(metadata) ? metadata.name : undefined
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || typeof name !== 'string' || name === '')
    throw new TypeError("an object is named by 'KIND/NAME', or by apiVersion, kind and metadata.name")
  const kinds = () => [...client.resources()].filter(each => each.apiVersion === apiVersion).map(each => each.kind)
  return {
    kind,
    name,
    space: metadata?.namespace,
    resource: () => client.ofKind(apiVersion, kind),
    isExpected: () => isExpected(client, apiVersion, kind),
    problem: () => `no kind ${kind} is served in ${apiVersion}${didYouMean(kind, kinds())}`,
  }
}

/** Whether a definition of this kind exists and may yet be served. */
export function isExpected(client: Client, apiVersion: string, kind: string): boolean {
  const [group, version] = apiVersion.split('/')
  return expected(client).some(
    ({ spec }) => spec.group === group && spec.names.kind === kind && spec.versions.some(each => each.name === version && each.served),
  )
}

/** Definitions of custom kinds whose names are accepted. */
const expected = (client: Client) =>
  [...client.of(CustomResourceDefinition).list()].filter(
    ({ status }) => !status?.conditions?.some(({ type, status }) => type === 'NamesAccepted' && status === 'False'),
  )

const namesOf = ({ plural, singular, kind, def }: Resource): string[] => [plural, singular, kind.toLowerCase(), ...(def.names.short ?? [])]
