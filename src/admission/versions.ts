/** A request in another served version of its resource, as a webhook or policy is registered for it. */
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import type { VersionedRequest } from './expression-variables.ts'
import type { Attributes } from './plugin.ts'

/** What a subresource takes, such as a Scale, is the same in every version. */
export async function inVersion(attributes: Attributes, resource: Resource): Promise<VersionedRequest> {
  const { object, oldObject, kind } = attributes
  if (resource === attributes.resource || kind !== attributes.resource) return { attributes, resource, kind, object, oldObject }
  const convert = (each: AnyObject | undefined) => each && attributes.convert(each, resource)
  return { attributes, resource, kind: resource, object: await convert(object), oldObject: await convert(oldObject) }
}
