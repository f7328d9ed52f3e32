/**
 * OwnerReferencesPermissionEnforcement: a user who makes an object depend on another must be allowed to delete it, and to set the
 * finalizers of an owner that is made to wait for it.
 */

import { deepEqual } from '../../lib/json-value.ts'
import type { Step } from '../../lib/step.ts'
import type { Attributes as AccessAttributes } from '../../schema/access.ts'
import type { AnyObject, OwnerReference } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import type { User } from '../../schema/user.ts'
import type { Attributes } from '../attributes.ts'
import type { ReasonAgainst } from '../permission.ts'
import type { Plugin } from '../plugin.ts'
import { forbidden } from '../refusal.ts'

export type OwnerPermissionParts = {
  readonly reasonAgainst: ReasonAgainst
  /** The resource of a kind, as owner references name it. */
  readonly resourceOf: (apiVersion: string, kind: string) => Resource | undefined
}

type AccessedResource = NonNullable<AccessAttributes['resource']>

export function ownerReferencesPermissionEnforcement({ reasonAgainst, resourceOf }: OwnerPermissionParts): Plugin {
  const ask = (user: User, verb: string, resource: AccessedResource) => reasonAgainst(user, { verb, path: '', resource })
  return {
    name: 'OwnerReferencesPermissionEnforcement',
    validate(attributes) {
      const { operation, resource, subresource, object, oldObject } = attributes
      if (operation !== 'CREATE' && operation !== 'UPDATE') return
      if (resource.group === '' && resource.plural === 'pods' && subresource === 'status') return
      if (!object || deepEqual(ownersOf(object), ownersOf(oldObject))) return
      return check(attributes)
    },
  }

  function* check(attributes: Attributes): Step<void> {
    const { operation, resource, subresource, namespace, name, ctx } = attributes
    const { group, version, plural } = resource
    if (operation !== 'CREATE') {
      const why = yield* ask(ctx.user, 'delete', { group, version, plural, subresource, namespace, name })
      if (why !== undefined) throw forbidden(attributes, `cannot set an ownerRef on a resource you can't delete: ${why}, <nil>`)
    }
    const blocking = newlyBlocking(attributes)
    if (blocking.length === 0 || (yield* ask(ctx.user, 'update', EVERYTHING)) === undefined) return
    for (const { apiVersion, kind, name: owner } of blocking) {
      const found = resourceOf(apiVersion, kind)
      if (!found)
        throw forbidden(
          attributes,
          `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}: no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}`,
        )
      const why = yield* ask(ctx.user, 'update', {
        group: found.group,
        version: found.version,
        plural: found.plural,
        subresource: 'finalizers',
        namespace: found.namespaced ? namespace : '',
        name: owner,
      })
      if (why !== undefined)
        throw forbidden(
          attributes,
          `cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: ${why}, <nil>`,
        )
    }
  }
}

const EVERYTHING: AccessedResource = { group: '*', version: '*', plural: '*', subresource: 'finalizers', namespace: '', name: '*' }

const ownersOf = (object: AnyObject | undefined): readonly OwnerReference[] => object?.metadata.ownerReferences ?? []

/** The owners that would wait for the object from now on. */
function newlyBlocking({ object, oldObject }: Attributes): readonly OwnerReference[] {
  const before = new Set(
    ownersOf(oldObject)
      .filter(({ blockOwnerDeletion }) => blockOwnerDeletion)
      .map(({ uid }) => uid),
  )
  return ownersOf(object).filter(({ uid, blockOwnerDeletion }) => blockOwnerDeletion && !before.has(uid))
}
