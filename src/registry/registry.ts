/** All verbs behind one call. */
import { type MaybePromise, whenDone } from '../lib/maybe-promise.ts'
import { methodNotAllowed } from '../schema/status-error.ts'
import { Allocations } from './allocations.ts'
import type { Body, Call, CallContext, Registry, Result } from './api.ts'
import { connect } from './connect.ts'
import { Contention } from './contention.ts'
import { create } from './create.ts'
import { createSubresource } from './create-subresource.ts'
import { remove } from './delete.ts'
import { removeCollection } from './delete-collection.ts'
import type { Deps } from './deps.ts'
import { list } from './list.ts'
import { patch } from './patch.ts'
import { prepareBody } from './prepare-body.ts'
import { read } from './read.ts'
import { replace } from './replace.ts'
import { patchScale, readScale, replaceScale } from './scale.ts'
import { createVirtual, listVirtual, readVirtual } from './virtual.ts'
import { watch } from './watch.ts'

type Handler = (deps: Deps, call: Call, ctx: CallContext) => MaybePromise<Result>
type Handlers = Partial<Record<Call['verb'], Handler>>

const OBJECTS: Handlers = { create, get: read, list, watch, update: replace, patch, delete: remove, deletecollection: removeCollection }
const VIRTUAL: Handlers = { create: createVirtual, get: readVirtual, list: listVirtual }
const UPDATED: Handlers = { get: read, update: replace, patch }
const SCALE: Handlers = { get: readScale, update: replaceScale, patch: patchScale }
const CREATED: Handlers = { create: createSubresource }
const CONNECTED: Handlers = { create: connect, get: connect, update: connect, patch: connect, delete: connect }

/** Without allocations nothing is allocated: kinds that need something are stored as they were sent. */
export function createRegistry(parts: Omit<Deps, 'contention' | 'allocations'> & { readonly allocations?: Allocations }): Registry {
  const deps: Deps = { allocations: new Allocations(), ...parts, contention: new Contention() }
  return {
    handle(call, ctx) {
      const handler = handlersFor(call)[call.verb]
      if (!handler) throw methodNotAllowed()
      const { body } = ctx
      if (!body) return handler(deps, call, ctx)
      return whenDone(prepareBody(body, call, ctx, deps.transcoder), prepared =>
        handler(deps, call, prepared === body ? ctx : withBody(ctx, prepared)),
      )
    },
  }
}

/** The same context with another body. What it makes when asked, and who may create, are asked of the original: a copy would lose them. */
const withBody = (ctx: CallContext, body: Body): CallContext => ({
  ...ctx,
  body,
  ...(ctx.authorizeCreate && { authorizeCreate: () => ctx.authorizeCreate!() }),
  ...(ctx.reasonAgainst && { reasonAgainst: (verb: string) => ctx.reasonAgainst!(verb) }),
  get signal() {
    return ctx.signal
  },
  get remainingMs() {
    return ctx.remainingMs
  },
})

function handlersFor({ resource, subresource }: Call): Handlers {
  if (subresource === '') return resource.def.virtual ? VIRTUAL : OBJECTS
  const { status, scale, updates, creates, connect } = resource.def.subresources ?? {}
  if (subresource === 'scale' && scale) return SCALE
  if ((subresource === 'status' && status) || updates?.[subresource]) return UPDATED
  if (connect?.[subresource]) return CONNECTED
  return creates?.[subresource] ? CREATED : {}
}
