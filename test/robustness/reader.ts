/** Readers: single objects, lists of every kind, and lists page by page across disturbances. */
import type { Answer } from './connection.ts'
import type { Key, Page } from './history.ts'
import { objectPath, partsOf, seen } from './objects.ts'
import { type Client, chooseKey, isUnavailable, now, pause, type Run, record, SELECTIONS, WINDOW_MS } from './run.ts'
import { collectionPath, type Selection, selectorQuery } from './selection.ts'

const PAUSE_MS = 80
const MANY_REVISIONS = 500

/** Reads until the run stops. */
export async function read(run: Run, client: Client): Promise<void> {
  const { random } = client
  while (!run.stop.aborted) {
    const chance = random.below(10)
    if (random.oneIn(12)) await searchOldest(run, client, random.pick(SELECTIONS))
    else if (chance < 4) await get(run, client, chooseKey(run, client))
    else if (chance < 8) await list(run, client, { selection: random.pick(SELECTIONS), ...chooseRevision(run, client) })
    else await listPages(run, client, random.pick(SELECTIONS))
    await pause(run, random.below(2 * PAUSE_MS))
  }
}

async function get(run: Run, { connection, name }: Client, key: Key): Promise<void> {
  const start = now()
  const answer = await connection.call({ method: 'GET', path: objectPath(key) }).catch(() => undefined)
  if (answer?.status === 200 || answer?.status === 404) {
    const found = answer.status === 200 ? seen(partsOf(key).resource, answer.json) : undefined
    record(run, { type: 'get', client: name, key, start, end: now(), found })
  } else if (answer && !isUnavailable(run, answer.status))
    run.failures.push(`a read of ${key} was answered with ${answer.status}: ${JSON.stringify(answer.json)}`)
}

type PageRequest = Pick<Page, 'selection' | 'after' | 'exactly' | 'atLeast' | 'mayBeOld'> & {
  readonly query?: Readonly<Record<string, string>>
}

/** The ways in which a list may set a resourceVersion, with their guarantees. */
function chooseRevision(run: Run, { random }: Client): Omit<PageRequest, 'selection'> {
  const revision = Math.max(1, run.newest - random.below(30))
  switch (random.below(5)) {
    case 0:
      return { query: { resourceVersion: '0' }, ...(run.isShared && { mayBeOld: true }) }
    case 1:
      return {
        atLeast: revision,
        query: { resourceVersion: String(revision), resourceVersionMatch: 'NotOlderThan' },
        ...(run.isShared && { mayBeOld: true }),
      }
    case 2:
      return { exactly: revision, query: { resourceVersion: String(revision), resourceVersionMatch: 'Exact' } }
    default:
      return {}
  }
}

/** Lists once and records the page; returns the response, if there was one. */
export async function list(
  run: Run,
  { connection, name }: Client,
  { selection, query = {}, ...promised }: PageRequest,
): Promise<Answer | undefined> {
  const start = now()
  const path = `${collectionPath(selection)}?${new URLSearchParams({ ...selectorQuery(selection), ...query })}`
  const answer = await connection.call({ method: 'GET', path }).catch(() => undefined)
  if (answer?.status === 200) {
    const { metadata, items } = answer.json
    record(run, {
      type: 'page',
      client: name,
      selection,
      start,
      end: now(),
      ...promised,
      revision: Number(metadata.resourceVersion),
      items: items.map((item: unknown) => seen(selection.resource, item)),
      more: Boolean(metadata.continue),
      ...(metadata.remainingItemCount !== undefined && { remaining: metadata.remainingItemCount }),
    })
    // Only an exact revision can be compacted.
  } else if (
    answer &&
    !isUnavailable(run, answer.status) &&
    !(answer.status === 410 && (promised.exactly !== undefined || promised.after !== undefined))
  )
    run.failures.push(`a list of ${path} was answered with ${answer.status}: ${JSON.stringify(answer.json)}`)
  return answer
}

/** Looks for the oldest revision that the server still has: mistakes about the end of history show right there. */
async function searchOldest(run: Run, client: Client, selection: Selection): Promise<void> {
  let kept = run.newest
  let forgotten = Math.max(0, kept - MANY_REVISIONS)
  while (kept - forgotten > 1 && !run.stop.aborted) {
    const exactly = Math.floor((kept + forgotten) / 2)
    const query = { resourceVersion: String(exactly), resourceVersionMatch: 'Exact' }
    const answer = await list(run, client, { selection, exactly, query })
    if (answer?.status === 200) kept = exactly
    else if (answer?.status === 410) forgotten = exactly
    else return
  }
}

async function listPages(run: Run, client: Client, selection: Selection): Promise<void> {
  const { random } = client
  const limit = String(1 + random.below(9))
  let token: string | undefined
  let promised: Omit<PageRequest, 'selection' | 'query'> = {}
  while (!run.stop.aborted) {
    const answer = await list(run, client, { selection, ...promised, query: { limit, ...(token !== undefined && { continue: token }) } })
    if (answer?.status === 200) {
      const { metadata, items } = answer.json
      token = metadata.continue
      if (!token) return
      promised = { exactly: Number(metadata.resourceVersion), after: seen(selection.resource, items.at(-1)).key }
    } else if (answer?.status === 410 && promised.after !== undefined) {
      // The rest can be listed in its current state, with the token in the refusal.
      token = answer.json.metadata.continue
      if (!token) return void run.failures.push(`a forgotten snapshot was refused without a token to go on: ${JSON.stringify(answer.json)}`)
      promised = { after: promised.after }
    } else if (answer && !isUnavailable(run, answer.status)) return
    await pause(run, random.oneIn(25) ? WINDOW_MS * 1.5 : random.below(2 * PAUSE_MS))
  }
}
