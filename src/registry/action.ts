/** Messages of another kind sent to an object, such as a Binding to a pod. */
import { admit } from '../admission/plugin.ts'
import { encodeObject } from '../codec/stored-bytes.ts'
import { defineKind } from '../schema/kind.ts'
import type { AnyObject, Envelope } from '../schema/object-meta.ts'
import type { ReviewContext } from '../schema/request-context.ts'
import { keyOf, type Resource, resourceOf } from '../schema/resource.ts'
import { notFound, notImplemented } from '../schema/status-error.ts'
import type { CreateSubresource, Guard } from '../schema/subresources.ts'
import type { Call, CallContext, Result, SuccessStatus } from './api.ts'
import { change, decodeStored } from './change.ts'
import { settleNamespace } from './create.ts'
import { decodeObject, type Expected } from './decode.ts'
import { checkPreconditions, removeObject } from './delete.ts'
import type { Deps } from './deps.ts'
import { type DeleteBody, deleteOptions, type WriteOptions, writeOptions } from './options.ts'
import { ownChanged, ownCreated } from './ownership.ts'
import { setDefaults } from './strategy.ts'

const DONE: SuccessStatus = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' }

export async function act(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const action = call.resource.def.subresources!.creates![call.subresource]!
  const sent = writeOptions(call.query, 'CreateOptions', ctx)
  const body = ctx.body ?? { mediaType: 'application/json', bytes: new Uint8Array() }
  const message = messageOf(action, ctx.groupDomain)
  const { object: input, warnings } = decodeObject(expectedOf(action, message), body, sent.fieldValidation)
  if (action.review) return answer(deps, { call, ctx, options: sent }, { action, message, input, warnings })
  // A message that deletes carries the options of the deletion, which may be a dry run as well.
  const deletion = deleteOptions(call.query, (input['deleteOptions'] as DeleteBody | undefined) ?? {}, ctx)
  const options = { ...sent, dryRun: sent.dryRun || deletion.dryRun }
  if (action.guard) await obtainApproval(deps, { call, ctx, options }, { guard: action.guard, input: input as Envelope })
  let deletes = false
  const result = await change(deps, {
    call,
    ctx,
    dryRun: options.dryRun,
    want(stored) {
      const copy = structuredClone(stored)
      const outcome = action.change!(copy, input as Envelope, ctx)
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
  return action.returns === 'object' ? result : { form: 'status', code: 201, status: DONE, warnings }
}

type Acting = { readonly call: Call; readonly ctx: CallContext; readonly options: WriteOptions }

/** Finds the object that has to agree and stores that it did, by the same compare-and-swap as every change: two never get the same guard. */
async function obtainApproval(
  deps: Deps,
  { call, ctx, options }: Acting,
  { guard, input }: { guard: Guard<AnyObject, any, AnyObject>; input: Envelope },
): Promise<void> {
  const resource = resourceOf(guard.kind, ctx.groupDomain)
  const version = deps.caches.of(call.resource).get(keyOf(call.resource, call.namespace, call.name))
  if (!version) throw notFound(call.resource, call.name)
  if (!deps.caches.has(resource)) return
  const object = decodeStored(call.resource, version)
  const { objects } = deps.caches.of(resource).list({ selection: { namespace: call.namespace, name: '' } })
  const others = objects.filter(v => v.fault === undefined).map(v => decodeStored(resource, v))
  const asked = guard.find(object, input, others)
  if (!asked) return
  const about: Call = { ...call, verb: 'update', resource, name: asked.metadata.name!, subresource: guard.subresource }
  await change(deps, {
    call: about,
    ctx,
    dryRun: options.dryRun,
    want(stored) {
      const copy = structuredClone(stored)
      guard.approve(copy, object, ctx)
      return { object: copy, warnings: [] }
    },
    own: (sent, stored) => ownChanged(about, { sent, stored, options, ctx }),
  })
}

type Question = {
  readonly action: CreateSubresource<AnyObject>
  readonly message: Resource
  readonly input: AnyObject
  readonly warnings: readonly string[]
}

/** Answers a message that is a question. The sender owns what it asked, as of an object that it creates. */
async function answer(deps: Deps, { call, ctx, options }: Acting, { action, message, input, warnings }: Question): Promise<Result> {
  const { resource, subresource, namespace, name } = call
  const asked = reviewContextOf(deps, call, ctx)
  const about = { operation: 'CREATE', resource, subresource, namespace, name, old: undefined, dryRun: options.dryRun, ctx } as const
  setDefaults(message, input, ctx)
  settleNamespace({ ...call, resource: message }, input)
  ownCreated(message, input, { options, ctx, subresource })
  await admit(deps.plugins, 'mutate', { ...about, object: input })
  const version = deps.caches.of(resource).get(keyOf(resource, namespace, name))
  if (!version) throw notFound(resource, name)
  const object = decodeStored(resource, version)
  action.prepare?.(object, input, asked)
  await admit(deps.plugins, 'validate', { ...about, object: input })
  const { object: answer, warnings: more = [] } = await action.review!(object, input, asked)
  return { form: 'object', code: 201, resource: message, json: encodeObject(answer), warnings: [...warnings, ...more] }
}

/** What may be known to those who answer questions. The signal is still made only when it is asked for. */
export function reviewContextOf({ access }: Deps, { resource, subresource }: Call, ctx: CallContext): ReviewContext {
  if (!access) throw notImplemented(`${resource.plural}${subresource && `/${subresource}`} is not answered by this server`)
  return {
    ...ctx,
    access,
    get signal() {
      return ctx.signal
    },
  }
}

function expectedOf(
  { input: { alsoVersions = [] } }: CreateSubresource<AnyObject>,
  { type, def, kind, apiVersion, group }: Resource,
): Expected {
  return { type, def, kind, apiVersion, alsoVersions: alsoVersions.map(version => (group === '' ? version : `${group}/${version}`)) }
}

const messages = new WeakMap<CreateSubresource<any>, Resource>()

/** The message of an action as if it were a resource: its envelope and the fields that the kind declares for it. */
function messageOf(action: CreateSubresource<AnyObject>, groupDomain: string): Resource {
  let found = messages.get(action)
  if (!found) {
    const { group, version, kind, type } = action.input
    const fields = type.shape.kind === 'message' ? type.shape.fields : {}
    const declared = defineKind({ group, version, kind, scope: 'Namespaced', names: { plural: kind.toLowerCase() }, fields })
    messages.set(action, (found = resourceOf(declared, groupDomain)))
  }
  return found
}
