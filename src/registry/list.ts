/** List: the selected objects of one snapshot, whole or page by page. */
import type { Step } from '../lib/step.ts'
import type { Result } from './api.ts'
import { listObjects } from './listing.ts'
import { listOptions } from './options.ts'
import type { Request } from './request.ts'
import { selectionOf } from './selection.ts'
import { servedList } from './version-conversion.ts'

export function* list(request: Request): Step<Result> {
  const { call, ctx } = request
  const options = listOptions(call.query, ctx)
  const { objects, meta } = yield* listObjects(request, { options, selected: selectionOf(call, options, ctx) })
  const items = yield* servedList(
    call.resource,
    objects.map(v => v.item),
  )
  return { type: 'list', resource: call.resource, items, meta }
}
