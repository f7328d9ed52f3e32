/** Create: stores the sent object if its name is free. */
import { bodyOf, type Call, type CallContext, type Result } from './api.ts'
import { decodeObject } from './decode.ts'
import type { Deps } from './deps.ts'
import { writeOptions } from './options.ts'
import { settleNamespace } from './strategy.ts'
import { type Change, newWrite, wipeIdentity, write } from './write.ts'

export function create(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  return write(newWrite({ deps, call, ctx }, { options: writeOptions(call.query, 'CreateOptions', ctx), change: CREATE }))
}

const CREATE: Change = {
  does: 'create',
  decode(write) {
    const { call, ctx, options, kind } = write
    const { object, warnings } = decodeObject(kind, bodyOf(ctx), options.fieldValidation)
    settleNamespace(call, object)
    wipeIdentity(object)
    write.object = object
    write.warnings.push(...warnings)
  },
}
