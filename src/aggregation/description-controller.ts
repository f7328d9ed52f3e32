/** Reads discovery and OpenAPI documents of aggregated servers, and keeps them up to date. */
import { createHash } from 'node:crypto'
import { serverIdentity } from '../client/identity.ts'
import { parseJson } from '../codec/json.ts'
import { type Controller, defineController, watch } from '../controllers/controller.ts'
import type { Described } from '../http/aggregated.ts'
import { partOfV2, v3OfV2 } from '../http/documents/openapi-foreign.ts'
import { APIService } from '../kinds/apiregistration/apiservice.ts'
import { deepEqual, isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { AGGREGATOR } from './availability-controller.ts'
import type { BackendAnswer } from './backend.ts'
import { AGGREGATED_TYPE, addressesIn, isAggregated, versionIn, versionOfList } from './description.ts'
import type { Registration, Registrations } from './registrations.ts'

const REFRESH_MS = 60_000
const FIRST_RETRY_MS = 500

/** The ETag of an OpenAPI 2 document, to request it only when it has changed, and the hash of its bytes, to parse it only then. */
type Kept = { readonly etag: string; readonly hash: string; readonly part: JsonObject }

export const descriptionController = (registrations: Registrations): Controller =>
  defineController({
    name: 'discovery-manager',
    identity: serverIdentity(),
    workers: 2,
    create({ signal }) {
      const failures = new Map<string, number>()
      const kept = new WeakMap<Registration, Kept>()
      return {
        watches: [watch(APIService, ({ current }) => current.name)],
        async reconcile(name) {
          const registration = registrations.named(name)
          if (!registration) {
            failures.delete(name)
            return undefined
          }
          const { discovery, isCurrent } = await discover(registration, signal)
          // Without resources there is nothing to describe.
          const documents = isCurrent ? await openApi(registration, kept, signal) : {}
          if (signal.aborted) return undefined
          registrations.describe(registration, settled(registration.described, { ...documents, discovery }))
          if (isCurrent) {
            failures.delete(name)
            return REFRESH_MS
          }
          const failed = (failures.get(name) ?? 0) + 1
          failures.set(name, failed)
          return Math.min(FIRST_RETRY_MS * 2 ** failed, REFRESH_MS)
        },
      }
    },
  })

/** An unchanged part stays the same value, so that documents are not computed again. */
function settled(before: Described | undefined, now: Described): Described {
  if (!before) return now
  const same = <T>(a: T, b: T) => (deepEqual(plain(a), plain(b)) ? a : b)
  return {
    discovery: same(before.discovery, now.discovery),
    ...(now.openApiV2 && { openApiV2: same(before.openApiV2, now.openApiV2) }),
    ...(now.openApiV3 && { openApiV3: same(before.openApiV3, now.openApiV3) }),
    ...(now.convertedV3 && { convertedV3: same(before.convertedV3, now.convertedV3) }),
  } as Described
}
const plain = (value: unknown): Json => (value instanceof Map ? [...value] : (value ?? null)) as Json

const LIMITED = { timeoutMs: LIMITS.aggregatedCheckMs, maxBytes: LIMITS.aggregatedDocumentBytes }

async function discover(registration: Registration, signal: AbortSignal): Promise<{ discovery: JsonObject; isCurrent: boolean }> {
  const { version, backend, path } = registration
  try {
    const all = await backend.send({ path: '/apis', user: AGGREGATOR, headers: { accept: AGGREGATED_TYPE }, ...LIMITED, signal })
    if (all.status === 503) throw new Error('the server is not available')
    const found =
      all.status === 200 && isAggregated(all.headers['content-type'])
        ? (versionIn(read(all), registration) ?? { version, resources: [] })
        : versionOfList(await list(), version)
    return { discovery: { ...found, freshness: 'Current' }, isCurrent: true }
  } catch {
    return { discovery: { version, freshness: 'Stale' }, isCurrent: false }
  }

  /** Servers without aggregated discovery are asked for the version alone. */
  async function list(): Promise<Json> {
    const answer = await backend.send({ path, user: AGGREGATOR, ...LIMITED, signal })
    if (answer.status !== 200) throw new Error(`discovery was answered with ${answer.status}`)
    return read(answer)
  }
}

/** Servers need not describe themselves: unreadable documents are left out. */
async function openApi(
  registration: Registration,
  kept: WeakMap<Registration, Kept>,
  signal: AbortSignal,
): Promise<Omit<Described, 'discovery'>> {
  const { group, version, backend } = registration
  const ask = async (path: string, etag = '') => {
    try {
      return await backend.send({ path, user: AGGREGATOR, headers: etag ? { 'if-none-match': etag } : {}, ...LIMITED, signal })
    } catch {
      return undefined
    }
  }
  const before = kept.get(registration)
  const [v2, v3] = await Promise.all([ask('/openapi/v2', before?.etag), ask('/openapi/v3')])
  const part = partIn(v2, before, `/apis/${group}/${version}/`)
  if (v2 && part) kept.set(registration, part)
  const addresses = v3?.status === 200 ? addressesIn(tryRead(v3), registration) : undefined
  return {
    ...(part && { openApiV2: part.part }),
    ...(addresses?.size ? { openApiV3: addresses } : part && { convertedV3: new Map([[`apis/${group}/${version}`, v3OfV2(part.part)]]) }),
  }
}

function partIn(answer: BackendAnswer | undefined, before: Kept | undefined, prefix: string): Kept | undefined {
  if (answer?.status === 304) return before
  if (answer?.status !== 200) return undefined
  const hash = createHash('sha256').update(answer.body).digest('base64')
  if (before?.hash === hash) return before
  const document = tryRead(answer)
  return isObject(document) ? { etag: answer.headers.etag ?? '', hash, part: partOfV2(document, prefix) } : undefined
}

const read = ({ body }: BackendAnswer): Json => parseJson(body).value
function tryRead(answer: BackendAnswer): Json {
  try {
    return read(answer)
  } catch {
    return null
  }
}
