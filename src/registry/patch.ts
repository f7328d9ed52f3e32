/** Patch: the stored object with the sent changes made to it, or with a configuration applied to it. */
import { goJson } from '../lib/go-text.ts'
import type { Step } from '../lib/step.ts'
import type { Result } from './api.ts'
import { mergeConfiguration, readConfiguration } from './configuration.ts'
import { writeOptions } from './options.ts'
import { mergePatch, patchBody, patchText } from './patch-body.ts'
import type { Request } from './request.ts'
import { runWrite } from './write.ts'
import { type Change, newWrite } from './write-value.ts'

export function* patch(request: Request): Step<Result> {
  const { call, ctx } = request
  const { body, isApply } = patchBody(request)
  const options = writeOptions(call.query, 'PatchOptions', { groupDomain: ctx.groupDomain, isApply })
  ctx.sent?.other(() => (isApply ? goJson(readConfiguration(call.resource, body).applied) : patchText(call.resource, body)))
  // An apply may create the object.
  const change: Change = isApply
    ? {
        effect: call.subresource === '' ? 'either' : 'change',
        merge: write => mergeConfiguration(write, readConfiguration(call.resource, body)),
      }
    : { effect: 'change', merge: write => mergePatch(write, body) }
  return yield* runWrite(newWrite(request, { options, change }))
}
