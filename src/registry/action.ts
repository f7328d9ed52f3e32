/** Messages of another kind sent to an object, such as a Binding to a pod. */

import type { Action, Consent } from '../schema/kind.ts'
import { type AnyObject, type Envelope, ObjectMeta } from '../schema/object-meta.ts'
import { keyOf, resourceOf } from '../schema/resource.ts'
import { notFound } from '../schema/status-error.ts'
import { message, string } from '../schema/types.ts'
import type { Call, CallContext, Result, SuccessStatus } from './api.ts'
import { change, decodeStored } from './change.ts'
import { decodeObject } from './decode.ts'
import { checkPreconditions, removeObject } from './delete.ts'
import type { Deps } from './deps.ts'
import { deleteOptions, type WriteOptions, writeOptions } from './options.ts'
import { ownChanged } from './ownership.ts'

const DONE: SuccessStatus = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' }

export async function act(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const action = call.resource.def.subresources!.actions![call.subresource]!
  const sent = writeOptions(call.query, 'CreateOptions')
  const body = ctx.body ?? { mediaType: 'application/json', bytes: new Uint8Array() }
  const { object: input, warnings } = decodeObject(expectedBy(action), body, sent.fieldValidation)
  // A message that deletes carries the options of the deletion, which may be a dry run as well.
  const deletion = deleteOptions(call.query, (input['deleteOptions'] as Parameters<typeof deleteOptions>[1]) ?? {})
  const options = { ...sent, dryRun: sent.dryRun || deletion.dryRun }
  if (action.consent) await obtainConsent(deps, { call, ctx, options }, { consent: action.consent, input: input as Envelope })
  let deletes = false
  const result = await change(deps, {
    call,
    ctx,
    dryRun: options.dryRun,
    want(stored) {
      const copy = structuredClone(stored)
      const outcome = action.act(copy, input as Envelope, ctx)
      deletes = outcome === 'delete'
      if (deletes) checkPreconditions(call.resource, stored, deletion)
      return { object: outcome === 'delete' ? copy : outcome, warnings }
    },
    own: (sent, stored) => ownChanged(call, { sent, stored, options, ctx }),
  })
  if (deletes) {
    // The version that was named is the one before the action; what may be deleted is the one that it made.
    const { resourceVersion: _, ...preconditions } = deletion.preconditions
    await removeObject(deps, { call: { ...call, subresource: '' }, ctx, options: { ...deletion, preconditions, dryRun: options.dryRun } })
  }
  return action.answer === 'object' ? result : { form: 'status', code: 201, status: DONE, warnings }
}

type Acting = { readonly call: Call; readonly ctx: CallContext; readonly options: WriteOptions }

/** Finds the object that has to agree and stores that it did, by the same compare-and-swap as every change: two never get the same consent. */
async function obtainConsent(
  deps: Deps,
  { call, ctx, options }: Acting,
  { consent, input }: { consent: Consent<AnyObject, any, AnyObject>; input: Envelope },
): Promise<void> {
  const resource = resourceOf(consent.kind, ctx.groupDomain)
  const version = deps.caches.of(call.resource).get(keyOf(call.resource, call.namespace, call.name))
  if (!version) throw notFound(call.resource, call.name)
  if (!deps.caches.has(resource)) return
  const object = decodeStored(call.resource, version)
  const { versions } = deps.caches.of(resource).list({ selection: { namespace: call.namespace, name: '' } })
  const others = versions.filter(v => v.fault === undefined).map(v => decodeStored(resource, v))
  const asked = consent.asks(object, input, others)
  if (!asked) return
  const about: Call = { ...call, verb: 'update', resource, name: asked.metadata.name!, subresource: consent.subresource }
  await change(deps, {
    call: about,
    ctx,
    dryRun: options.dryRun,
    want(stored) {
      const copy = structuredClone(stored)
      consent.gives(copy, object, ctx)
      return { object: copy, warnings: [] }
    },
    own: (sent, stored) => ownChanged(about, { sent, stored, options, ctx }),
  })
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
