/** Messages of another kind sent to an object, such as a Binding to a pod. */

import type { Action } from '../schema/kind.ts'
import { type AnyObject, type Envelope, ObjectMeta } from '../schema/object-meta.ts'
import { message, string } from '../schema/types.ts'
import type { Call, CallContext, Result, SuccessStatus } from './api.ts'
import { change } from './change.ts'
import { decodeObject } from './decode.ts'
import { removeObject } from './delete.ts'
import type { Deps } from './deps.ts'
import { deleteOptions, writeOptions } from './options.ts'
import { ownChanged } from './ownership.ts'

const DONE: SuccessStatus = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' }

export async function act(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const action = call.resource.def.subresources!.actions![call.subresource]!
  const options = writeOptions(call.query, 'CreateOptions')
  const body = ctx.body ?? { mediaType: 'application/json', bytes: new Uint8Array() }
  const { object: input, warnings } = decodeObject(expectedBy(action), body, options.fieldValidation)
  let deletes = false
  const result = await change(deps, {
    call,
    ctx,
    dryRun: options.dryRun,
    want(stored) {
      const copy = structuredClone(stored)
      const outcome = action.act(copy, input as Envelope, ctx)
      deletes = outcome === 'delete'
      return { object: outcome === 'delete' ? copy : outcome, warnings }
    },
    own: (sent, stored) => ownChanged(call, { sent, stored, options, ctx }),
  })
  if (deletes) {
    const asked = deleteOptions(call.query, (input['deleteOptions'] as Parameters<typeof deleteOptions>[1]) ?? {})
    await removeObject(deps, { call: { ...call, subresource: '' }, ctx, options: { ...asked, dryRun: asked.dryRun || options.dryRun } })
  }
  return action.answer === 'object' ? result : { form: 'status', code: 201, status: DONE, warnings }
}

/** The whole message: its envelope and the fields the kind declares for it. */
function expectedBy({ input: { group, version, kind, type } }: Action<AnyObject>) {
  const fields = type.shape.kind === 'message' ? type.shape.fields : {}
  return {
    kind,
    apiVersion: group === '' ? version : `${group}/${version}`,
    type: message(kind, {
      kind: [0, string, ''],
      apiVersion: [0, string, ''],
      metadata: [1, ObjectMeta.orEmpty(), 'Whom the message is for.'],
      ...fields,
    }),
  }
}
