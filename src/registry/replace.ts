/** Replace: the sent object replaces the stored one, or the part of it that a subresource shows. */
import type { Step } from '../lib/step.ts'
import type { Result } from './api.ts'
import { checkUid } from './identity.ts'
import { writeOptions } from './options.ts'
import type { Request } from './request.ts'
import { takeReplacement } from './sent-object.ts'
import { runWrite } from './write.ts'
import { type Change, newWrite } from './write-value.ts'

export function replace(request: Request): Step<Result> {
  const { call, ctx } = request
  const change = call.resource.def.allowCreateOnUpdate && call.subresource === '' ? REPLACE_OR_CREATE : REPLACE
  return runWrite(newWrite(request, { options: writeOptions(call.query, 'UpdateOptions', ctx), change }))
}

const REPLACE: Change = { effect: 'change', decode: takeReplacement, merge: checkUid }
const REPLACE_OR_CREATE: Change = { ...REPLACE, effect: 'either' }
