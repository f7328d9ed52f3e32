/** Reads the body of a call within its limit; the registry decodes it. */

import { LIMITS } from '../lib/limits.ts'
import { type MaybePromise, whenDone } from '../lib/maybe-promise.ts'
import type { Body, Call } from '../registry/api.ts'
import { tooLarge } from '../schema/status-error.ts'
import { header, type Request } from './message.ts'
import { bodyType, type ServedMedia } from './negotiate.ts'

/** Whether a call has no body. */
export const isRead = ({ verb }: Call) => verb === 'get' || verb === 'list' || verb === 'watch'

/** The body of a write; undefined for deletes without one. */
export function readBody(req: Request, call: Call, media: ServedMedia): MaybePromise<Body | undefined> {
  const optional = call.verb === 'delete' || call.verb === 'deletecollection'
  // The media type is checked before the body is read, unless the body is optional.
  const early = optional ? undefined : bodyType(req, call, media)
  // A body with a content-length beyond the limit is not read.
  const isAnnounced = Number(header(req.headers, 'content-length')) > LIMITS.bodyBytes
  return whenDone(isAnnounced ? undefined : req.readBody(LIMITS.bodyBytes), bytes => {
    if (bytes === undefined) throw tooLarge(`Request entity too large: limit is ${LIMITS.bodyBytes}`)
    return optional && bytes.byteLength === 0 ? undefined : { mediaType: early ?? bodyType(req, call, media), bytes }
  })
}
