/**
 * The users of writes by revision: `/keelson/writes?revisions=12,15`. It covers all users, so it requires a permission of its own, to `get`
 * this nonResourceURL; permission to read an object is not enough.
 */
import { LIMITS } from '../lib/limits.ts'
import type { Writer, Writers } from '../registry/writers.ts'
import { badRequest, methodNotAllowed } from '../schema/status-error.ts'
import type { EndpointRule } from './endpoints.ts'
import { bytesResponse } from './message.ts'

/** The writes of these revisions that a process knows of, by revision. */
export type KnownWrites = Readonly<Record<string, Writer>>

export const knownWrites = (writers: Writers, revisions: readonly string[]): KnownWrites =>
  Object.fromEntries(revisions.flatMap(text => [writers.of(Number(text))].flatMap(writer => (writer ? [[text, writer]] : []))))

/** `others` asks the other processes of this server. */
export const writesEndpoint = (
  writers: Writers,
  others: (revisions: readonly string[]) => Promise<readonly KnownWrites[]> = async () => [],
): EndpointRule => ({
  path: '/keelson/writes',
  hidden: true,
  async answer({ method }, { query }) {
    if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed()
    const revisions = (query.get('revisions') ?? '').split(',')
    if (revisions.length > LIMITS.writesAskedFor || !revisions.every(text => /^[1-9]\d{0,15}$/.test(text)))
      throw badRequest(`revisions must be resourceVersions, separated by commas, ${LIMITS.writesAskedFor} at most`)
    const writes = Object.assign({}, ...(await others(revisions)), knownWrites(writers, revisions))
    return bytesResponse(200, 'application/json', Buffer.from(JSON.stringify({ writes })))
  },
})
