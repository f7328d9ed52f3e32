/** All verbs behind one call. */
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { methodNotAllowed, notImplemented } from '../schema/status-error.ts'
import { act } from './action.ts'
import { Ledger } from './allocations.ts'
import type { Call, CallContext, Registry, Result } from './api.ts'
import { Turns } from './contention.ts'
import { create } from './create.ts'
import { prepareYaml } from './decode.ts'
import { remove } from './delete.ts'
import { removeCollection } from './delete-collection.ts'
import type { Deps } from './deps.ts'
import { list } from './list.ts'
import { patch } from './patch.ts'
import { read } from './read.ts'
import { replace } from './replace.ts'
import { patchScale, readScale, replaceScale } from './scale.ts'
import { accept, tellAll, tellOne } from './unstored.ts'
import { watch } from './watch.ts'

type Handler = (deps: Deps, call: Call, ctx: CallContext) => MaybePromise<Result>
type Handlers = Partial<Record<Call['verb'], Handler>>

const OBJECTS: Handlers = { create, get: read, list, watch, update: replace, patch, delete: remove, deletecollection: removeCollection }
const UNSTORED: Handlers = { create: accept, get: tellOne, list: tellAll }
const VIEWS: Handlers = { get: read, update: replace, patch }
const SCALE: Handlers = { get: readScale, update: replaceScale, patch: patchScale }
const ACTIONS: Handlers = { create: act }
const CONNECT: Handlers = { create: refuse, get: refuse, update: refuse, patch: refuse, delete: refuse }

/** Without a ledger nothing is taken from stocks: kinds that need any are stored as they were sent. */
export function createRegistry(parts: Omit<Deps, 'turns' | 'ledger'> & { readonly ledger?: Ledger }): Registry {
  const deps: Deps = { ledger: new Ledger(), ...parts, turns: new Turns() }
  return {
    handle(call, ctx) {
      const handler = handlersFor(call)[call.verb]
      if (!handler) throw methodNotAllowed()
      const { body } = ctx
      if (body?.mediaType.endsWith('yaml')) return prepareYaml(body.bytes).then(() => handler(deps, call, ctx))
      return handler(deps, call, ctx)
    },
  }
}

function handlersFor({ resource, subresource }: Call): Handlers {
  if (subresource === '') return resource.def.virtual ? UNSTORED : OBJECTS
  const { status, scale, updates, creates, connect } = resource.def.subresources ?? {}
  if (subresource === 'scale' && scale) return SCALE
  if ((subresource === 'status' && status) || updates?.[subresource]) return VIEWS
  if (connect?.[subresource]) return CONNECT
  return creates?.[subresource] ? ACTIONS : {}
}

/** What only a node agent could answer is refused with a reason, for an object that is there. */
async function refuse(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  await read(deps, call, ctx)
  throw notImplemented(
    `${call.resource.plural}/${call.subresource} is answered by the node that runs the object, and this server has no nodes`,
  )
}
