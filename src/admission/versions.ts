/** A request in other served versions of its resource, as webhooks and policies are registered for it. */
import type { Step } from '../lib/step.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import type { Attributes } from './attributes.ts'
import type { VersionedRequest } from './expression-variables.ts'

/** The versions of one request, each made once for as long as its object is not changed. */
export class RequestVersions {
  readonly #attributes: Attributes
  #object: AnyObject | undefined
  readonly #known = new Map<Resource, VersionedRequest>()

  constructor(attributes: Attributes) {
    this.#attributes = attributes
    this.#object = attributes.object
  }

  /** The request in a version. The object of a subresource, such as a Scale, is the same in every version. */
  *in(resource: Resource): Step<VersionedRequest> {
    const attributes = this.#attributes
    const { object, oldObject, kind } = attributes
    if (object !== this.#object) this.#known.clear()
    this.#object = object
    const known = this.#known.get(resource)
    if (known) return known
    const isSame = resource === attributes.resource || kind !== attributes.resource
    const request = isSame
      ? { attributes, resource, kind, object, oldObject }
      : {
          attributes,
          resource,
          kind: resource,
          object: object && (yield* attributes.convert(object, resource)),
          oldObject: oldObject && (yield* attributes.convert(oldObject, resource)),
        }
    this.#known.set(resource, request)
    return request
  }
}
