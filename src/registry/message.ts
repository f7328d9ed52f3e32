/** Messages of another kind sent to an object, such as a Binding to a pod, or a TokenRequest to a service account. */
import { encodeObject, parseObject } from '../codec/stored-bytes.ts'
import { copyJson } from '../lib/json-value.ts'
import { type Step, waitFor } from '../lib/step.ts'
import { Budget } from '../schema/budget.ts'
import { defineKind } from '../schema/kind.ts'
import type { AnyObject, Envelope } from '../schema/object-meta.ts'
import type { ReviewContext } from '../schema/request-context.ts'
import { type Resource, resourceOf } from '../schema/resource.ts'
import { notFound, StatusError } from '../schema/status-error.ts'
import type { Approval, CreateSubresource } from '../schema/subresources.ts'
import type { Call, Result, SuccessStatus } from './api.ts'
import type { Expected } from './decode.ts'
import { settleNamespace } from './identity.ts'
import { type DeleteBody, type DeleteOptions, deleteOptions, writeOptions } from './options.ts'
import { checkPreconditions } from './preconditions.ts'
import { removeObject } from './removal.ts'
import type { Request } from './request.ts'
import { reviewContextOf } from './review-context.ts'
import { takeSent } from './sent-object.ts'
import { decodeStored, findStored } from './stored-object.ts'
import { runWrite } from './write.ts'
import { type Change, newWrite, type Write } from './write-value.ts'

const DONE: SuccessStatus = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }

/** `admittedAs` when the message was sent to another resource, which admission is asked about. */
export function sendMessage(request: Request, { admittedAs }: { readonly admittedAs?: Write['admittedAs'] } = {}): Step<Result> {
  const { call, ctx } = request
  const declared = call.resource.def.subresources!.creates![call.subresource]!
  const options = writeOptions(call.query, 'CreateOptions', ctx)
  const kind = messageOf(declared, ctx.groupDomain)
  const change = declared.review ? question(declared, reviewContextOf(request)) : order(declared, request)
  return runWrite(newWrite(request, { options, kind, change, admittedAs }))
}

/** Reads the message. */
function* takeMessage(declared: CreateSubresource<AnyObject>, write: Write): Step<void> {
  const { call, kind } = write
  const { object } = yield* takeSent(write, expectedOf(declared, kind))
  settleNamespace({ resource: kind, namespace: call.namespace }, object)
}

/** A message that is answered and changes nothing, such as a TokenRequest. */
const question = (declared: CreateSubresource<AnyObject>, context: ReviewContext): Change => ({
  effect: 'message',
  decode: write => takeMessage(declared, write),
  validate: write => declared.prepare?.(receiverOf(write).object, write.object as Envelope, context),
  *store(write): Step<void> {
    const reviewing = declared.review!(receiverOf(write).object, write.object as Envelope, context)
    const { object: answer, warnings = [] } = yield* waitFor(reviewing)
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
const order = (declared: CreateSubresource<AnyObject>, request: Request): Change => ({
  effect: 'message',
  decode: write => takeMessage(declared, write),
  validate: ({ object, call }) => declared.check?.(object as Envelope, call.name),
  *store(write): Step<void> {
    const result = yield* carryOut(write, declared, request)
    write.result = declared.returns === 'object' ? result : { type: 'status', code: 201, status: DONE, warnings: write.warnings }
  },
})

/** How often a change is tried again because the object changed while approval was being obtained. */
const ATTEMPTS = 20

/** Obtains the approval that the change needs, then makes the change of the message to the object. */
function* carryOut(message: Write, declared: CreateSubresource<AnyObject>, request: Request): Step<Result> {
  const { call, ctx, options } = message
  // A message that deletes carries the options of the deletion, which may be a dry run as well.
  const sent = deleteOptions(call.query, (message.object!['deleteOptions'] as DeleteBody | undefined) ?? {}, ctx)
  const deletion = { ...sent, dryRun: sent.dryRun || options.dryRun }
  for (let attempt = 1; ; attempt++) {
    const approval = yield* obtainApproval(message, declared, { deletion, request })
    try {
      const unchangedSince = approval?.ifChanged && approval.resourceVersion
      return yield* changeObject(message, declared, { deletion, request, unchangedSince })
    } catch (error) {
      const isConflict = error instanceof StatusError && error.reason === 'Conflict'
      if (!approval?.ifChanged || !isConflict || deletion.preconditions.resourceVersion !== undefined) throw error
      if (approval.ifChanged !== 'retry') throw approval.ifChanged
      if (attempt === ATTEMPTS) throw error
    }
  }
}

/** The request of a message, and the options of a deletion that it may ask for. */
type Ordered = { readonly request: Request; readonly deletion: DeleteOptions }

function* changeObject(
  message: Write,
  declared: CreateSubresource<AnyObject>,
  { request, deletion, unchangedSince }: Ordered & { readonly unchangedSince: string | undefined },
): Step<Result> {
  const { call, ctx, options } = message
  const preconditions = { ...(unchangedSince && { resourceVersion: unchangedSince }), ...deletion.preconditions }
  let deletes = false
  const change: Change = {
    effect: 'change',
    isAdmitted: true,
    merge(write) {
      const copy = copyJson(write.old!)
      const outcome = declared.change!(copy, message.object as Envelope, ctx)
      deletes = outcome === 'delete'
      if (deletes) checkPreconditions(call.resource, write.stored!, { preconditions })
      write.object = outcome === 'delete' ? copy : outcome
    },
  }
  const dryRun = options.dryRun || deletion.dryRun
  const changed = yield* runWrite(newWrite(request, { options: { ...options, dryRun }, change }))
  if (!deletes) return changed
  // The precondition named the revision before the change; the deletion must name the one that the change made.
  const named = preconditions.resourceVersion !== undefined && changed.type === 'object'
  const resourceVersion = named ? parseObject(changed.json).metadata.resourceVersion : undefined
  const after = { ...(preconditions.uid !== undefined && { uid: preconditions.uid }), ...(resourceVersion && { resourceVersion }) }
  const removal = { options: { ...deletion, preconditions: after, dryRun }, isAdmitted: true } as const
  return yield* removeObject(request.part({ ...call, subresource: '' }), removal)
}

/** The user of writes that the server makes itself. */
const SERVER = { name: 'system:apiserver', groups: ['system:masters'] }
const SERVER_AGENT = 'kube-apiserver'

/** Finds the object that has to agree and stores that it did, by the same compare-and-swap as every change: two never get the same approval. */
function* obtainApproval(
  message: Write,
  { guard }: CreateSubresource<AnyObject>,
  { request, deletion: { dryRun } }: Ordered,
): Step<(Approval<AnyObject> & { readonly resourceVersion: string }) | undefined> {
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
    effect: 'change',
    merge(write) {
      write.object = copyJson(write.old!)
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
    signal: ctx.signal,
    now,
    groupDomain,
    gate,
    namespace,
  }
  const approving = { options: { ...options, fieldManager: '', dryRun: options.dryRun || dryRun }, change }
  yield* runWrite(newWrite(request.part(about, server), approving))
  return { ...approval, resourceVersion }
}

/** The object that a message is sent to; 404 when there is none. */
function receiverOf({ deps, call }: Write): { readonly object: AnyObject; readonly resourceVersion: string } {
  const { resource, name } = call
  const found = findStored(deps, call)
  if (!found) throw notFound(resource, name)
  const object = decodeStored(resource, found)
  return { object, resourceVersion: object.metadata.resourceVersion! }
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
