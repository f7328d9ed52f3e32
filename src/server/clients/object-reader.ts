/** Looks up objects for authentication and admission. */
import type { Reader, ResourceName } from '../../admission/reader.ts'
import type { Client, ResourceClient } from '../../client/client.ts'
import type { Catalog } from '../../registry/catalog.ts'
import type { AnyObject } from '../../schema/object-meta.ts'

/** Reads served resources; an unreadable record counts as absent. Objects are shared: nobody may change them. */
export function objectReader(catalog: Catalog, client: Client): Reader {
  // Most names are constants, and every write looks up a few: each resource is found once while the served kinds stay the same.
  const known = new WeakMap<ResourceName, { readonly version: number; readonly found: ResourceClient<AnyObject> | undefined }>()
  const of = (name: ResourceName) => {
    const { version } = catalog
    const last = known.get(name)
    if (last?.version === version) return last.found
    const resource = catalog.findKnown(name.group, name.version, name.plural)
    const found = resource && client.of(resource)
    known.set(name, { version, found })
    return found
  }
  return {
    get: (resource, name, namespace = '') => of(resource)?.get({ namespace, name }),
    list(resource, namespace) {
      const objects: AnyObject[] = []
      for (const { object } of of(resource)?.revisions(namespace === undefined ? {} : { namespace }) ?? NONE)
        if (object) objects.push(object)
      return objects
    },
  }
}
const NONE: readonly never[] = []
