/** Messages of another kind sent to an object, such as a Binding to a pod, or a TokenRequest to a service account. */
import { encodeObject, parseObject } from '../codec/stored-bytes.ts'
import { Budget } from '../schema/budget.ts'
import { defineKind } from '../schema/kind.ts'
import type { AnyObject, Envelope } from '../schema/object-meta.ts'
import type { ReviewContext } from '../schema/request-context.ts'
import { keyOf, type Resource, resourceOf } from '../schema/resource.ts'
import { notFound, notImplemented, StatusError } from '../schema/status-error.ts'
import type { Approval, CreateSubresource } from '../schema/subresources.ts'
import { bodyOf, type Call, type CallContext, type Result, type SuccessStatus } from './api.ts'
import { decodeObject, type Expected } from './decode.ts'
import { checkPreconditions, removeObject } from './delete.ts'
import type { Deps } from './deps.ts'
import { type DeleteBody, type DeleteOptions, deleteOptions, writeOptions } from './options.ts'
import { settleNamespace } from './strategy.ts'
import { decodeStored, write } from './write.ts'
import { type Change, newWrite, type Write } from './write-value.ts'

const DONE: SuccessStatus = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }

/** `admittedAs` when the message was sent to another resource, which admission is asked about. */
export async function createSubresource(
  deps: Deps,
  call: Call,
  ctx: CallContext,
  { admittedAs }: { readonly admittedAs?: Write['admittedAs'] } = {},
): Promise<Result> {
  const declared = call.resource.def.subresources!.creates![call.subresource]!
  const options = writeOptions(call.query, 'CreateOptions', ctx)
  const kind = messageOf(declared, ctx.groupDomain)
  const change = declared.review ? question(declared, reviewContextOf(deps, call, ctx)) : order(declared)
  return write(newWrite({ deps, call, ctx }, { options, kind, change, admittedAs }))
}

/** Reads the message. */
function decodeMessage(declared: CreateSubresource<AnyObject>, write: Write): void {
  const { call, ctx, options, kind } = write
  const { object, warnings } = decodeObject(expectedOf(declared, kind), bodyOf(ctx), options.fieldValidation, write.deps.findKind)
  settleNamespace({ resource: kind, namespace: call.namespace }, object)
  write.object = object
  write.warnings.push(...warnings)
}

/** A message that is answered and changes nothing, such as a TokenRequest. */
const question = (declared: CreateSubresource<AnyObject>, context: ReviewContext): Change => ({
  does: 'message',
  decode: write => decodeMessage(declared, write),
  validate: write => declared.prepare?.(receiverOf(write).object, write.object as Envelope, context),
  async store(write) {
    const { object: answer, warnings = [] } = await declared.review!(receiverOf(write).object, write.object as Envelope, context)
    write.result = {
      type: 'object',
      code: 201,
      resource: write.kind,
      json: encodeObject(answer),
      warnings: [...write.warnings, ...warnings],
    }
  },
})

/** A message that changes or deletes the object it is sent to. The change is admitted together with the message. */
const order = (declared: CreateSubresource<AnyObject>): Change => ({
  does: 'message',
  decode: write => decodeMessage(declared, write),
  validate: ({ object, call }) => declared.check?.(object as Envelope, call.name),
  async store(write) {
    const result = await carryOut(write, declared)
    write.result = declared.returns === 'object' ? result : { type: 'status', code: 201, status: DONE, warnings: write.warnings }
  },
})

/** How often a change is tried again because the object changed while approval was being obtained. */
const ATTEMPTS = 20

/** Obtains the approval that the change needs, then does to the object what the message says. */
async function carryOut(message: Write, declared: CreateSubresource<AnyObject>): Promise<Result> {
  const { call, ctx, options } = message
  // A message that deletes carries the options of the deletion, which may be a dry run as well.
  const sent = deleteOptions(call.query, (message.object!['deleteOptions'] as DeleteBody | undefined) ?? {}, ctx)
  const deletion = { ...sent, dryRun: sent.dryRun || options.dryRun }
  for (let attempt = 1; ; attempt++) {
    const approval = await obtainApproval(message, declared, deletion)
    try {
      return await changeObject(message, declared, { deletion, unchangedSince: approval?.ifChanged && approval.resourceVersion })
    } catch (error) {
      const isConflict = error instanceof StatusError && error.reason === 'Conflict'
      if (!approval?.ifChanged || !isConflict || deletion.preconditions.resourceVersion !== undefined) throw error
      if (approval.ifChanged !== 'retry') throw approval.ifChanged
      if (attempt === ATTEMPTS) throw error
    }
  }
}

async function changeObject(
  message: Write,
  declared: CreateSubresource<AnyObject>,
  { deletion, unchangedSince }: { readonly deletion: DeleteOptions; readonly unchangedSince: string | undefined },
): Promise<Result> {
  const { deps, call, ctx, options } = message
  const preconditions = { ...(unchangedSince && { resourceVersion: unchangedSince }), ...deletion.preconditions }
  let deletes = false
  const change: Change = {
    does: 'change',
    isAdmitted: true,
    merge(write) {
      const copy = structuredClone(write.old!)
      const outcome = declared.change!(copy, message.object as Envelope, ctx)
      deletes = outcome === 'delete'
      if (deletes) checkPreconditions(call.resource, write.stored!, { preconditions })
      write.object = outcome === 'delete' ? copy : outcome
    },
  }
  const dryRun = options.dryRun || deletion.dryRun
  const changed = await write(newWrite({ deps, call, ctx }, { options: { ...options, dryRun }, change }))
  if (!deletes) return changed
  // The version that was named is the one before the change; what may be deleted is the one that it made.
  const named = preconditions.resourceVersion !== undefined && changed.type === 'object'
  const resourceVersion = named ? parseObject(changed.json).metadata.resourceVersion : undefined
  const after = { ...(preconditions.uid !== undefined && { uid: preconditions.uid }), ...(resourceVersion && { resourceVersion }) }
  return removeObject(deps, {
    call: { ...call, subresource: '' },
    ctx,
    options: { ...deletion, preconditions: after, dryRun },
    isAdmitted: true,
  })
}

/** The user of writes that the server makes itself. */
const SERVER = { name: 'system:apiserver', groups: ['system:masters'] }
const SERVER_AGENT = 'kube-apiserver'

/** Finds the object that has to agree and stores that it did, by the same compare-and-swap as every change: two never get the same approval. */
async function obtainApproval(
  message: Write,
  { guard }: CreateSubresource<AnyObject>,
  { dryRun }: DeleteOptions,
): Promise<(Approval<AnyObject> & { readonly resourceVersion: string }) | undefined> {
  const { deps, call, ctx, options } = message
  if (!guard) return undefined
  const { object, resourceVersion } = receiverOf(message)
  const resource = resourceOf(guard.kind, ctx.groupDomain)
  if (!deps.caches.has(resource)) return undefined
  const { objects } = deps.caches.of(resource).list({ selection: { namespace: call.namespace, name: '' } })
  const others = objects.filter(found => found.fault === undefined).map(found => decodeStored(resource, found))
  const approval = guard.find(object, message.object as Envelope, others)
  const { other } = approval
  if (!other) return { ...approval, resourceVersion }
  const { now, groupDomain, gate, namespace } = ctx
  const change: Change = {
    does: 'change',
    merge(write) {
      write.object = structuredClone(write.old!)
      guard.approve(write.object, object, ctx)
    },
  }
  const about: Call = {
    verb: 'update',
    resource,
    namespace: call.namespace,
    name: other.metadata.name!,
    subresource: guard.subresource,
    query: new URLSearchParams(),
  }
  const server = {
    user: SERVER,
    budget: new Budget(),
    userAgent: SERVER_AGENT,
    body: undefined,
    signal: ctx.signal,
    now,
    groupDomain,
    gate,
    namespace,
  }
  await write(
    newWrite({ deps, call: about, ctx: server }, { options: { ...options, fieldManager: '', dryRun: options.dryRun || dryRun }, change }),
  )
  return { ...approval, resourceVersion }
}

/** The object that a message is sent to; 404 when there is none. */
function receiverOf({ deps, call: { resource, namespace, name } }: Write): {
  readonly object: AnyObject
  readonly resourceVersion: string
} {
  const found = deps.caches.of(resource).get(keyOf(resource, namespace, name))
  if (!found) throw notFound(resource, name)
  const object = decodeStored(resource, found)
  return { object, resourceVersion: object.metadata.resourceVersion! }
}

/** What may be known to those who answer questions. */
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

/** The message as if it were a resource: its envelope and the fields that the kind declares for it. */
function messageOf(declared: CreateSubresource<AnyObject>, groupDomain: string): Resource {
  let found = messages.get(declared)
  if (!found) {
    const { group, version, kind, type } = declared.input
    const fields = type.shape.kind === 'message' ? type.shape.fields : {}
    const kindOfMessage = defineKind({ group, version, kind, scope: 'Namespaced', names: { plural: kind.toLowerCase() }, fields })
    messages.set(declared, (found = resourceOf(kindOfMessage, groupDomain)))
  }
  return found
}
