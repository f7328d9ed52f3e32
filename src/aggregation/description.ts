/** Parses the description of an aggregated server into parts of this server's documents. */
import type { DiscoveredGroup, DiscoveredVersion } from '../http/peers.ts'
import { isObject, type Json, type JsonObject, setOwn } from '../lib/json-value.ts'

export const AGGREGATED_TYPE = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

/** Whether a response is aggregated discovery in the requested version. */
export function isAggregated(contentType = ''): boolean {
  const [media, ...params] = contentType.split(';').map(each => each.trim())
  return media === 'application/json' && ['g=apidiscovery.k8s.io', 'v=v2', 'as=APIGroupDiscoveryList'].every(each => params.includes(each))
}

/** The version of a group in a document of aggregated discovery; undefined when it is missing. */
export function versionIn(document: Json, { group, version }: { group: string; version: string }): JsonObject | undefined {
  for (const item of listAt(document, 'items')) {
    if (textAt(objectAt(item, 'metadata'), 'name') !== group) continue
    for (const each of listAt(item, 'versions')) if (textAt(each, 'version') === version) return withKinds(each)
  }
  return undefined
}

/** All groups in a document of aggregated discovery. */
export const groupsIn = (document: Json): DiscoveredGroup[] =>
  listAt(document, 'items').map(item => ({
    metadata: { name: textAt(objectAt(item, 'metadata'), 'name') },
    versions: listAt(item, 'versions').map(each => ({ ...withKinds(each), freshness: textAt(each, 'freshness') }) as DiscoveredVersion),
  }))

/** Clients fail on resources without a kind. */
function withKinds(version: JsonObject): JsonObject {
  const complete = (each: JsonObject): JsonObject => ({
    ...each,
    responseKind: isObject(each['responseKind']) ? each['responseKind'] : EMPTY_KIND,
  })
  const resources = listAt(version, 'resources').map(resource => {
    const subresources = listAt(resource, 'subresources').map(complete)
    return { ...complete(resource), ...(subresources.length > 0 && { subresources }) }
  })
  return { version: version['version']!, resources }
}
const EMPTY_KIND = { group: '', version: '', kind: '' }

/** Converts a list of resources of classic discovery to aggregated discovery. */
export function versionOfList(list: Json, version: string): JsonObject {
  const resources = new Map<string, JsonObject>()
  const all = listAt(list, 'resources')
  const kindOf = (each: JsonObject) => ({ group: textAt(each, 'group'), version: textAt(each, 'version'), kind: textAt(each, 'kind') })
  for (const each of all) {
    const name = textAt(each, 'name')
    if (name === '' || name.includes('/')) continue
    resources.set(name, {
      resource: name,
      responseKind: kindOf(each),
      scope: each['namespaced'] === true ? 'Namespaced' : 'Cluster',
      singularResource: textAt(each, 'singularName'),
      verbs: textsAt(each, 'verbs'),
      ...(textsAt(each, 'shortNames').length > 0 && { shortNames: textsAt(each, 'shortNames') }),
      ...(textsAt(each, 'categories').length > 0 && { categories: textsAt(each, 'categories') }),
    })
  }
  for (const each of all) {
    const [of = '', subresource = ''] = textAt(each, 'name').split('/')
    if (subresource === '') continue
    let resource = resources.get(of)
    // A resource may exist only with its subresource.
    if (!resource)
      resources.set(of, (resource = { resource: of, scope: each['namespaced'] === true ? 'Namespaced' : 'Cluster', verbs: [] }))
    const subresources = (resource['subresources'] ?? []) as JsonObject[]
    setOwn(resource, 'subresources', [...subresources, { subresource, responseKind: kindOf(each), verbs: textsAt(each, 'verbs') }])
  }
  return { version, resources: [...resources.values()] }
}

/** The addresses of the OpenAPI 3 documents of a group version, and of its group, in the index of a server. */
export function addressesIn(index: Json, { group, version }: { group: string; version: string }): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const paths = objectAt(index, 'paths')
  const key = `apis/${group}/${version}`
  const entry = Object.hasOwn(paths, key) ? paths[key] : undefined
  const hash = new URLSearchParams(textAt(entry, 'serverRelativeURL').split('?')[1] ?? '').get('hash')
  if (isObject(entry)) found.set(key, `/openapi/v3/${key}${hash ? `?${new URLSearchParams({ hash })}` : ''}`)
  return found
}

const objectAt = (value: Json | undefined, name: string): JsonObject => {
  const found = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return isObject(found) ? found : {}
}
const listAt = (value: Json | undefined, name: string): JsonObject[] => {
  const found = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return Array.isArray(found) ? found.filter(isObject) : []
}
const textAt = (value: Json | undefined, name: string): string => {
  const found = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return typeof found === 'string' ? found : ''
}
const textsAt = (value: JsonObject, name: string): string[] => {
  const found = Object.hasOwn(value, name) ? value[name] : undefined
  return Array.isArray(found) ? found.filter(each => typeof each === 'string') : []
}
