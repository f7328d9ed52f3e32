/** Looks objects up in the caches for those parts that decide about requests. */
import type { Reader, ResourceName } from '../admission/reader.ts'
import type { Caches } from '../cache/caches.ts'
import type { Version } from '../cache/version.ts'
import type { Catalog } from '../registry/catalog.ts'
import { readStored } from '../registry/stored-form.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { keyOf } from '../schema/resource.ts'

/** Reads what is served now; objects that cannot be read from storage are as good as absent. Objects are shared: nobody may change them. */
export function objectReader(catalog: Catalog, caches: Caches): Reader {
  // Most of what is looked up seldom changes and is asked for with every write.
  const decoded = new WeakMap<Version, AnyObject>()
  const decode = (version: Version): AnyObject => {
    let object = decoded.get(version)
    if (!object) decoded.set(version, (object = readStored(version.json).value as unknown as AnyObject))
    return object
  }
  const find = ({ group, version, plural }: ResourceName) => catalog.find(group, version, plural)
  return {
    get(name, object, namespace = '') {
      const resource = find(name)
      const version = resource && caches.of(resource).get(keyOf(resource, namespace, object))
      return version && version.fault === undefined ? decode(version) : undefined
    },
    list(name) {
      const resource = find(name)
      if (!resource) return []
      const { versions } = caches.of(resource).list({ selection: { namespace: '', name: '' } })
      return versions.filter(({ fault }) => fault === undefined).map(decode)
    },
  }
}
