/** Connect: paths such as exec and proxy, which only the node that runs an object could answer. They are admitted like writes. */

import { setOwn } from '../lib/json-value.ts'
import { defineKind } from '../schema/kind.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { type Resource, resourceOf } from '../schema/resource.ts'
import { notImplemented } from '../schema/status-error.ts'
import type { Call, CallContext, Result } from './api.ts'
import type { Deps } from './deps.ts'
import { read } from './read.ts'
import { type Change, newWrite, type Write, write } from './write.ts'

export function connect(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const options = { dryRun: false, fieldManager: '', fieldValidation: 'Ignore', force: undefined } as const
  return write(newWrite({ deps, call, ctx }, { options, kind: optionsKind(call, ctx), change: CONNECT }))
}

const CONNECT: Change = { does: 'connect', decode: readOptions, store: refuse }

/** What the query asks for, as an object of options: parameters that are given several times are lists. */
function readOptions(write: Write): void {
  const { kind, call } = write
  const object = { kind: kind.kind, apiVersion: kind.apiVersion, metadata: {} } as AnyObject
  for (const name of new Set(call.query.keys())) {
    const values = call.query.getAll(name)
    const [value] = values
    setOwn(
      object,
      name,
      name === 'command' || values.length > 1 ? values : value === 'true' || value === 'false' ? value === 'true' : value!,
    )
  }
  write.object = object
}

/** What only a node agent could answer is refused with a reason, for an object that is there. */
async function refuse({ deps, call, ctx }: Write): Promise<void> {
  await read(deps, call, ctx)
  throw notImplemented(
    `${call.resource.plural}/${call.subresource} is answered by the node that runs the object, and this server has no nodes`,
  )
}

function optionsKind({ resource, subresource }: Call, { groupDomain }: CallContext): Resource {
  const { group, version } = resource.def
  const { kind } = resource.def.subresources!.connect![subresource]!
  return resourceOf(defineKind({ group, version, kind, scope: 'Namespaced', names: { plural: kind.toLowerCase() } }), groupDomain)
}
