/** All verbs behind one call. */
import { isStep, run, type Step } from '../lib/step.ts'
import { methodNotAllowed } from '../schema/status-error.ts'
import { Allocations } from './allocations.ts'
import type { Call, Registry, Result } from './api.ts'
import { connect } from './connect.ts'
import { Contention } from './contention.ts'
import { create } from './create.ts'
import { remove } from './delete.ts'
import { removeCollection } from './delete-collection.ts'
import type { Deps } from './deps.ts'
import { list } from './list.ts'
import { sendMessage } from './message.ts'
import { patch } from './patch.ts'
import { isPrepared, prepareBody } from './prepare-body.ts'
import { read } from './read.ts'
import { replace } from './replace.ts'
import { type Handler, Request } from './request.ts'
import { patchScale, readScale, replaceScale } from './scale.ts'
import { createVirtual, listVirtual, readVirtual } from './virtual.ts'
import { watch } from './watch.ts'

type Handlers = Partial<Record<Call['verb'], Handler>>

const OBJECTS: Handlers = { create, get: read, list, watch, update: replace, patch, delete: remove, deletecollection: removeCollection }
const VIRTUAL: Handlers = { create: createVirtual, get: readVirtual, list: listVirtual }
const UPDATED: Handlers = { get: read, update: replace, patch }
const SCALE: Handlers = { get: readScale(read), update: replaceScale, patch: patchScale }
const CREATED: Handlers = { create: sendMessage }
const CONNECTED: Handlers = { create: connect, get: connect, update: connect, patch: connect, delete: connect }

/** Without allocations nothing is allocated: kinds that need something are stored as they were sent. */
export function createRegistry(parts: Omit<Deps, 'contention' | 'allocations'> & { readonly allocations?: Allocations }): Registry {
  const deps: Deps = { allocations: new Allocations(), ...parts, contention: new Contention() }
  return {
    handle(call, ctx, body) {
      const handler = handlersFor(call)[call.verb]
      if (!handler) throw methodNotAllowed()
      const request = new Request(deps, call, ctx, body)
      const work = isPrepared(request) ? handler(request) : handlePrepared(request, handler)
      return isStep(work) ? run(work, request.pace) : work
    },
  }
}

function* handlePrepared(request: Request, handler: Handler): Step<Result> {
  const work = handler(request.withBody(yield* prepareBody(request)))
  return isStep(work) ? yield* work : work
}

function handlersFor({ resource, subresource }: Call): Handlers {
  if (subresource === '') return resource.def.virtual ? VIRTUAL : OBJECTS
  const { status, scale, updates, creates, connect } = resource.def.subresources ?? {}
  if (subresource === 'scale' && scale) return SCALE
  if ((subresource === 'status' && status) || updates?.[subresource]) return UPDATED
  if (connect?.[subresource]) return CONNECTED
  return creates?.[subresource] ? CREATED : {}
}
