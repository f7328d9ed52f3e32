/** Create: stores the sent object if its name is free. */
import type { InParts } from '../lib/in-parts.ts'
import { bodyOf, type Call, type CallContext, type Result } from './api.ts'
import { decodingObject } from './decode.ts'
import type { Deps } from './deps.ts'
import { writeOptions } from './options.ts'
import { settleNamespace } from './strategy.ts'
import { wipeIdentity, write } from './write.ts'
import { type Change, newWrite, type Write } from './write-value.ts'
import { runParts } from './yielding.ts'

export function create(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  return write(newWrite({ deps, call, ctx }, { options: writeOptions(call.query, 'CreateOptions', ctx), change: CREATE }))
}

const CREATE: Change = {
  does: 'create',
  decode: write => runParts(write, decodeNew(write)),
}

function* decodeNew(write: Write): InParts<void> {
  const { call, ctx, options, kind } = write
  const { object, warnings } = yield* decodingObject(kind, bodyOf(ctx), options.fieldValidation, write.deps.findKind)
  write.warnings.push(...warnings)
  settleNamespace(call, object)
  wipeIdentity(object)
  write.object = object
}
