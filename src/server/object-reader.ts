/** Looks objects up for those parts that decide about requests. */
import type { Reader, ResourceName } from '../admission/reader.ts'
import type { Client } from '../client/client.ts'
import type { Catalog } from '../registry/catalog.ts'

/** Reads what is served now; a record that cannot be read is as good as absent. Objects are shared: nobody may change them. */
export function objectReader(catalog: Catalog, client: Client): Reader {
  const of = ({ group, version, plural }: ResourceName) => {
    const resource = catalog.find(group, version, plural)
    return resource && client.of(resource)
  }
  return {
    get: (resource, name, namespace = '') => of(resource)?.get({ namespace, name }),
    list: (resource, namespace) => [...(of(resource)?.list(namespace === undefined ? undefined : { namespace }) ?? [])],
  }
}
