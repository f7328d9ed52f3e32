/** Looks objects up in the caches for those parts that decide about requests. */
import type { Reader, ResourceName } from '../admission/reader.ts'
import type { Caches } from '../cache/caches.ts'
import type { ObjectRevision } from '../cache/object-revision.ts'
import { parseObject } from '../codec/stored-bytes.ts'
import type { Catalog } from '../registry/catalog.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { keyOf } from '../schema/resource.ts'

/** Reads what is served now; objects that cannot be read from storage are as good as absent. Objects are shared: nobody may change them. */
export function objectReader(catalog: Catalog, caches: Caches): Reader {
  // Most of what is looked up seldom changes and is asked for with every write.
  const decoded = new WeakMap<ObjectRevision, AnyObject>()
  const decode = (version: ObjectRevision): AnyObject => {
    let object = decoded.get(version)
    if (!object) decoded.set(version, (object = parseObject(version.json)))
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
      const { objects } = caches.of(resource).list({ selection: { namespace: '', name: '' } })
      return objects.filter(({ fault }) => fault === undefined).map(decode)
    },
  }
}
