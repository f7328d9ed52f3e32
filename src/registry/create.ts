/** Create: stores the sent object if its name is free. */
import type { Step } from '../lib/step.ts'
import type { Result } from './api.ts'
import { writeOptions } from './options.ts'
import type { Request } from './request.ts'
import { takeNew } from './sent-object.ts'
import { runWrite } from './write.ts'
import { type Change, newWrite } from './write-value.ts'

export const create = (request: Request): Step<Result> =>
  runWrite(newWrite(request, { options: writeOptions(request.call.query, 'CreateOptions', request.ctx), change: CREATE }))

const CREATE: Change = { effect: 'create', decode: takeNew }
