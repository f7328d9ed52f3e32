/** Replace: the sent object takes the place of the stored one, whole or through one of its views. */
import type { AnyObject } from '../schema/object-meta.ts'
import { conflict } from '../schema/status-error.ts'
import type { Call, CallContext, Result } from './api.ts'
import { change, checkIdentity } from './change.ts'
import { createObject } from './create.ts'
import { decodeObject } from './decode.ts'
import type { Deps } from './deps.ts'
import { writeOptions } from './options.ts'
import { ownChanged } from './ownership.ts'
import { setDefaults } from './strategy.ts'

export function replace(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const { resource, subresource } = call
  const options = writeOptions(call.query, 'UpdateOptions', ctx)
  const body = ctx.body ?? { mediaType: 'application/json', bytes: new Uint8Array() }
  const decode = () => {
    const decoded = decodeObject(resource, body, options.fieldValidation)
    checkIdentity(call, decoded.object)
    setDefaults(resource, decoded.object, ctx)
    return decoded
  }
  const { object, warnings } = decode()
  // The loop changes the object it is given; a second turn needs it as it was sent.
  let fresh: AnyObject | undefined = object
  const isConditional = Boolean(object.metadata.resourceVersion) && object.metadata.resourceVersion !== '0'
  const createsAbsent = resource.def.allowCreateOnUpdate && subresource === '' && !isConditional && !object.metadata.uid
  return change(deps, {
    call,
    ctx,
    dryRun: options.dryRun,
    want(stored) {
      const sent = fresh ?? decode().object
      fresh = undefined
      checkUid(call, sent, stored)
      return { object: sent, warnings }
    },
    own: (sent, stored) => ownChanged(call, { sent, stored, options, ctx }),
    ...(createsAbsent && {
      async whenAbsent() {
        await ctx.authorizeCreate?.()
        return createObject(deps, { call, ctx, options, warnings }, object)
      },
    }),
  })
}

/** An object that names a uid must replace the very object that has it, not a namesake. */
function checkUid({ resource, namespace, name }: Call, { metadata: { uid } }: AnyObject, stored: AnyObject): void {
  if (!uid || uid === stored.metadata.uid) return
  const key = `/registry/${resource.plural}/${resource.namespaced ? `${namespace}/` : ''}${name}`
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${stored.metadata.uid}`
  throw conflict(resource, name, `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`)
}
