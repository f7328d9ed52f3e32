/**
 * The state of a server over HTTP, for tests in any language: `/keelson/v1/…`. Authorization protects these paths as nonResourceURLs, which
 * administrators alone may use. They are served only where `--test-endpoints` says so.
 */
import { faultsEndpoint } from '../faults/endpoint.ts'
import type { EndpointRule } from '../http/endpoints.ts'
import { bytesResponse, type Request, type Response } from '../http/message.ts'
import { DurationError } from '../lib/duration.ts'
import { LIMITS } from '../lib/limits.ts'
import { badRequest, timedOut } from '../schema/status-error.ts'
import { SnapshotError } from '../storage/snapshot/format.ts'
import { bodyOf, choose, json, type Methods, readFields } from './json-endpoints.ts'
import { fileOf, stateIn } from './snapshot-file.ts'
import { millisecondsOf, type TestKit } from './test-kit.ts'

export const TEST_PATHS = '/keelson/v1'

export type TestEndpointParts = { readonly kit: TestKit; readonly groupDomain: string }

export function testEndpoints({ kit, groupDomain }: TestEndpointParts): EndpointRule[] {
  const at = (path: string, methods: Methods): EndpointRule => ({
    path: `${TEST_PATHS}/${path}`,
    hidden: true,
    describe,
    answer: (request, { query }) => choose(methods, request)(request, query),
  })
  const snapshots = snapshotRoutes(kit, groupDomain)
  return [
    at('reset', { POST: async () => done(kit.reset()) }),
    at('settled', { GET: (_, query) => settled(kit, query) }),
    at('clock', { GET: async () => json(200, timeOf(kit)), POST: request => setClock(kit, request) }),
    at('changes', { GET: async (_, query) => changes(kit, query), DELETE: async () => done(kit.forget()) }),
    at('access-usage', {
      GET: async () => json(200, { isComplete: kit.recorder.accessUsage.isComplete, uses: kit.recorder.accessUsage.report() }),
      DELETE: async () => done(kit.recorder.accessUsage.clear()),
    }),
    {
      path: `${TEST_PATHS}/snapshots`,
      below: true,
      hidden: true,
      answer(request, { path, query }) {
        const [name = '', action = '', ...more] = path.slice(`${TEST_PATHS}/snapshots/`.length).split('/')
        const methods = more.length > 0 ? undefined : snapshots(name, action)
        return methods && choose(methods, request)(request, query)
      },
    },
    { ...faultsEndpoint(kit.faults, `${TEST_PATHS}/faults`), hidden: true },
  ]
}

const describe = async () => (await import('./test-endpoints-document.ts')).TEST_API

/** The routes of snapshots: `snapshots`, `snapshots/NAME`, `snapshots/NAME/restore` and `snapshots/NAME/file`. */
function snapshotRoutes(kit: TestKit, groupDomain: string): (name: string, action: string) => Methods | undefined {
  const { snapshots: kept } = kit
  const now = () => new Date(kit.clock.now())
  const all: Methods = {
    GET: async () => json(200, { snapshots: kept.list() }),
    async POST(request) {
      const { name: given } = await readFields(request, ['name'])
      const name = kept.nameFor(given)
      return json(201, kept.keep(name, await kit.save(), now()))
    },
  }
  return (name, action) => {
    if (name === '') return all
    if (action === '') return { GET: async () => json(200, kept.get(name).info), DELETE: async () => json(200, kept.delete(name)) }
    if (action === 'restore')
      return {
        async POST() {
          const { info, state } = kept.get(name)
          await kit.restore(state)
          return json(200, info)
        },
      }
    if (action !== 'file') return undefined
    return {
      GET: async () => bytesResponse(200, 'application/octet-stream', await fileOf(kept.get(name).state, { groupDomain, now: now() })),
      async PUT(request) {
        const file = await bodyOf(request, LIMITS.keptSnapshots.fileBytes)
        try {
          return json(201, kept.keep(kept.nameFor(name), await stateIn(file, { groupDomain }), now()))
        } catch (error) {
          throw error instanceof SnapshotError ? badRequest(`the file ${error.message}`) : error
        }
      },
    }
  }
}

const timeOf = ({ clock }: TestKit) => ({ time: new Date(clock.now()).toISOString(), frozen: clock.isFrozen })

/** `{ "frozen": true, "advance": "24h", "set": "2027-01-01T00:00:00Z" }`: each is optional, and they are done in this order. */
async function setClock(kit: TestKit, request: Request): Promise<Response> {
  const { frozen, advance, set } = await readFields(request, ['frozen', 'advance', 'set'])
  const { clock } = kit
  if (frozen !== undefined && typeof frozen !== 'boolean') throw badRequest('frozen must be true or false')
  if (advance !== undefined && set !== undefined) throw badRequest('advance and set exclude each other')
  const by = advance === undefined ? 0 : durationOf(advance)
  const to = set === undefined ? undefined : timeIn(set)
  if (to !== undefined && to < clock.now())
    throw badRequest(`set must not be before the server's time, ${timeOf(kit).time}: time cannot go back`)
  if (frozen === true) clock.freeze()
  if (advance !== undefined) await kit.advance(by)
  if (to !== undefined) await kit.advance(Math.max(0, to - clock.now()))
  if (frozen === false) clock.resume()
  return json(200, timeOf(kit))
}

function durationOf(value: unknown): number {
  try {
    if (typeof value === 'string' || typeof value === 'number') return millisecondsOf(value)
  } catch (error) {
    if (!(error instanceof DurationError || error instanceof TypeError)) throw error
  }
  throw badRequest('advance must be a duration such as "24h" or "1h30m", or milliseconds, 0 or more')
}

function timeIn(value: unknown): number {
  const time = typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) ? Date.parse(value) : Number.NaN
  if (Number.isNaN(time)) throw badRequest('set must be a time in RFC 3339, such as "2027-01-01T00:00:00Z"')
  return time
}

const SETTLED_SECONDS = 30

/** Waits until the server's own components have nothing to do but to wait for a time to pass. */
async function settled(kit: TestKit, query: URLSearchParams): Promise<Response> {
  const seconds = wholeNumber(query, 'timeoutSeconds', SETTLED_SECONDS, LIMITS.settledWaitSeconds)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>(resolve => {
    timer = setTimeout(() => resolve(false), seconds * 1000)
  })
  const isSettled = await Promise.race([kit.ready().then(() => kit.settled()), late])
  clearTimeout(timer)
  if (isSettled === false) throw timedOut(`components still had work after ${seconds} s; ?timeoutSeconds=N waits longer`)
  return json(200, { settled: true })
}

/** The changes after a revision, oldest first; `remaining` says how many more there are. */
function changes({ recorder }: TestKit, query: URLSearchParams): Response {
  const after = wholeNumber(query, 'after', 0, Number.MAX_SAFE_INTEGER)
  const limit = wholeNumber(query, 'limit', LIMITS.recordsPerAnswer, LIMITS.recordsPerAnswer)
  const found = recorder.changes.filter(({ revision }) => Number(revision) > after)
  return json(200, { changes: found.slice(0, limit), remaining: Math.max(0, found.length - limit) })
}

function wholeNumber(query: URLSearchParams, name: string, fallback: number, most: number): number {
  const text = query.get(name)
  if (text === null) return fallback
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!(value <= most)) throw badRequest(`${name} must be a whole number between 0 and ${most}`)
  return value
}

async function done(work: Promise<void> | void): Promise<Response> {
  await work
  return json(200, {})
}
