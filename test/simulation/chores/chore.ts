/** Clients that rely on one promise of the server each, work while it is disturbed, and say when the promise is broken. */
import { sleep } from '../../../src/lib/environment.ts'
import { LIMITS } from '../../../src/lib/limits.ts'
import { bytesOf, type Change } from '../../../src/storage/store.ts'
import type { Answer, Connection, Request } from '../../robustness/connection.ts'
import type { Random } from '../../robustness/random.ts'
import { MAX_DRIFT } from '../faults.ts'
import type { MadeWrite } from '../ground.ts'

export type Stage = {
  readonly connection: Connection
  /** A connection of another user. */
  readonly as: (user: string) => Connection
  readonly random: Random
  /** Calls a function for every write that the store makes from now on, in the order of revisions. */
  readonly onWrite: (listener: (write: MadeWrite) => void) => void
  /** Has writes be longer on their way to a store that is not the server's own, by as many milliseconds as the function says. */
  readonly delay: (ms: (key: string, change: Change) => number) => void
  /** A server gives up a write that has had no answer for this time. */
  readonly giveUpMs: number
  /** The keys that the store has below a prefix now, read past the servers. */
  readonly stored: (prefix: string) => Promise<readonly string[]>
  /** The factor by which clients wait longer now than they do in a burst. */
  readonly pace: () => number
  /** Ends the work. */
  readonly stop: AbortSignal
  /** Reports a broken promise. */
  readonly broken: (what: string) => void
}

/** Parts of the server that a chore needs; controllers by their names in `--controllers`. */
export type Needs = { readonly controllers?: readonly string[]; readonly nodes?: number; readonly nodeDevices?: readonly string[] }

export interface Chore {
  readonly name: string
  readonly needs?: Needs
  /** Whether its promise can be checked where a request without a response is sent again, and may be done twice, or later than others. */
  readonly mayRepeat?: boolean
  /** Makes the objects that it needs, before anything is disturbed. */
  prepare(stage: Stage): Promise<void>
  /** Works until the stage stops. */
  work(stage: Stage): Promise<void>
  /** Checks the result, when everything is undisturbed again. */
  check(stage: Stage): Promise<void>
}

/** For how long another server may decide by the state of before: by its own clock, which may go too slowly. */
export const BEHIND_MS = LIMITS.behindMs / (1 - MAX_DRIFT)
const AGAIN_MS = 100
const PATIENCE_MS = 60_000

/** The response, if one came. */
export const ask = (connection: Connection, request: Request): Promise<Answer | undefined> =>
  connection.call(request).catch(() => undefined)

/** Whether a response tells nothing about the outcome. */
export const isUnknown = (answer: Answer | undefined): answer is undefined =>
  answer === undefined || answer.status >= 500 || answer.status === 429

/** Asks until there is a response that tells something. */
export async function insist(connection: Connection, request: Request): Promise<Answer> {
  for (let waited = 0; ; waited += AGAIN_MS) {
    const answer = await ask(connection, request)
    if (answer !== undefined && !isUnknown(answer)) return answer
    if (waited > PATIENCE_MS) throw new Error(`${request.method} ${request.path} has no answer: ${JSON.stringify(answer)}`)
    await sleep(AGAIN_MS)
  }
}

/** Creates an object that must be there. */
export async function make(connection: Connection, path: string, body: unknown): Promise<any> {
  const answer = await insist(connection, { method: 'POST', path, body })
  if (answer.status !== 201 && answer.status !== 409)
    throw new Error(`${path} was answered with ${answer.status}: ${JSON.stringify(answer.json)}`)
  return answer.json
}

/** All objects of a path, at one revision, as fresh as can be; undefined without a response. */
export async function itemsOf(connection: Connection, path: string): Promise<any[] | undefined> {
  const answer = await ask(connection, { method: 'GET', path })
  return answer?.status === 200 ? answer.json.items : undefined
}

/** Waits until a condition holds; reports the conditions that never do. */
export async function eventually(
  stage: Stage,
  find: () => Promise<string | undefined>,
  { everyMs = AGAIN_MS, withinMs = PATIENCE_MS }: { readonly everyMs?: number; readonly withinMs?: number } = {},
): Promise<void> {
  for (let waited = 0; ; waited += everyMs) {
    const problem = await find()
    if (problem === undefined) return
    if (waited > withinMs) return stage.broken(problem)
    await sleep(everyMs)
  }
}

/** Waits for a random time, or until the work ends. */
export const rest = ({ random, stop, pace }: Stage, ms: number): Promise<void> =>
  sleep(random.below(2 * ms) * pace(), { signal: stop }).catch(() => {})

/** Does something over and over until the work ends, by several clients at once. */
export async function repeatedly(stage: Stage, clients: number, work: (client: number) => Promise<void>): Promise<void> {
  const one = async (client: number) => {
    while (!stage.stop.aborted) await work(client)
  }
  await Promise.all(Array.from({ length: clients }, (_, i) => one(i)))
}

/** The object that a write stores, or undefined for a deletion. */
export const objectIn = ({ change }: MadeWrite): any =>
  change.value === null ? undefined : (change.object ?? JSON.parse(Buffer.from(bytesOf(change.value)).toString()))
