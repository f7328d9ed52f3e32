/** `keelson reset`, `clock`, `faults` and `requests`, and snapshots in memory: commands for a server with `--test-endpoints`. */
import { UsageError } from '../flags/usage-error.ts'
import { ConfigError } from '../server/config.ts'
import { type ApiClient, apiClient } from './api-client.ts'
import { type Arguments, outputOf, readArguments } from './arguments.ts'
import type { Command } from './command.ts'
import { PLACE_FLAGS, serverOf } from './place.ts'
import { sizeText, tableText } from './text.ts'

export const TEST_API_PATH = '/keelson/v1'

/** Puts a server back to the state after its start. */
export const reset: Command = async args => {
  const { rest, send } = openServer(args, 'keelson reset')
  if (rest.length > 0) throw new UsageError(`what is ${rest[0]}? keelson reset takes no arguments`)
  await send('POST', 'reset')
  process.stdout.write('the server is as it was after its start\n')
  return 0
}

type Clock = { readonly time: string; readonly frozen: boolean }

const CLOCK = 'keelson clock [freeze | resume | advance DURATION | set TIME]'

/** Shows or changes the time of a server. */
export const clock: Command = async args => {
  const { rest, send } = openServer(args, CLOCK)
  const [action, value, ...more] = rest
  const change = clockChange(action, value)
  if (!change || more.length > 0) throw new UsageError(CLOCK)
  const { time, frozen } = action === undefined ? await send<Clock>('GET', 'clock') : await send<Clock>('POST', 'clock', change)
  process.stdout.write(`${time}${frozen ? '  frozen' : ''}\n`)
  return 0
}

function clockChange(action: string | undefined, value: string | undefined): object | undefined {
  if (value === undefined) return action === undefined ? {} : { freeze: { frozen: true }, resume: { frozen: false } }[action]
  return { advance: { advance: value }, set: { set: value } }[action ?? '']
}

type FaultList = { readonly seed: number; readonly faults: readonly FaultLine[] }
type FaultLine = { readonly id: string; readonly fault: object; readonly seen: number; readonly hits: number }

const FAULTS = 'keelson faults [list | add \'{"verb": "create", …}\' | remove ID | clear]'

/** Shows, adds and removes the faults of a server. */
export const faults: Command = async args => {
  const { rest, send } = openServer(args, FAULTS)
  const [action = 'list', value, ...more] = rest
  const takesValue = ['add', 'remove'].includes(action)
  if (!['list', 'add', 'remove', 'clear'].includes(action) || takesValue !== (value !== undefined) || more.length > 0)
    throw new UsageError(FAULTS)
  if (action === 'add') process.stdout.write(`added ${(await send<FaultLine>('POST', 'faults', jsonOf(value!))).id}\n`)
  else if (action === 'remove')
    process.stdout.write(`removed ${(await send<FaultLine>('DELETE', `faults/${encodeURIComponent(value!)}`)).id}\n`)
  else process.stdout.write(faultsText(await send<FaultList>(action === 'clear' ? 'DELETE' : 'GET', 'faults')))
  return 0
}

function faultsText({ seed, faults: all }: FaultList): string {
  if (all.length === 0) return 'there are no faults\n'
  const rows = all.map(({ id, fault, seen, hits }) => [id, String(seen), String(hits), JSON.stringify(fault)])
  return `${tableText([['ID', 'MATCHED', 'STRUCK', 'FAULT'], ...rows], [1, 2])}seed ${seed}\n`
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UsageError(`the fault is not JSON: ${(error as Error).message}`)
  }
}

type RequestLine = { readonly time: string; readonly user: string; readonly verb: string; readonly path: string; readonly status: number }

const REQUESTS = 'keelson requests [user=NAME | userAgent=TEXT | verb=VERB | resource=PLURAL | namespace=NAME | name=NAME | status=4xx …]'

/** Shows the requests of clients: of a server for tests, those since its start or its last reset. */
export const requests: Command = async args => {
  const { rest, output, send } = openServer(args, REQUESTS)
  const filters = rest.map((filter): [string, string] => {
    const [, name, value] = /^([a-zA-Z]+)=(.*)$/.exec(filter) ?? []
    if (name === undefined) throw new UsageError(`what is ${filter}? ${REQUESTS}`)
    return [name, value!]
  })
  const query = new URLSearchParams(filters).toString()
  const { requests: found } = await send<{ readonly requests: readonly RequestLine[] }>('GET', `requests?${query}`)
  const rows = found.map(({ time, user, verb, path, status }) => [time, user, verb, path, String(status)])
  if (output === 'json') process.stdout.write(found.map(each => `${JSON.stringify(each)}\n`).join(''))
  else
    process.stdout.write(rows.length === 0 ? 'there are no requests\n' : tableText([['TIME', 'USER', 'VERB', 'PATH', 'STATUS'], ...rows]))
  return 0
}

type Snapshot = {
  readonly name: string
  readonly revision: string
  readonly objects: number
  readonly bytes: number
  readonly created: string
}

export const SNAPSHOT_ACTIONS = ['create', 'list', 'revert', 'delete'] as const
const SNAPSHOTS = 'keelson snapshot create [NAME] | list | revert NAME | delete NAME'

/** Snapshots that a server keeps in memory. */
export async function keptSnapshots(action: (typeof SNAPSHOT_ACTIONS)[number], args: readonly string[]): Promise<number> {
  const { rest, send } = openServer(args, SNAPSHOTS)
  const [name, ...more] = rest
  if (more.length > 0 || (action === 'list' && name !== undefined)) throw new UsageError(SNAPSHOTS)
  if (action === 'list') {
    const { snapshots } = await send<{ readonly snapshots: readonly Snapshot[] }>('GET', 'snapshots')
    const rows = snapshots.map(each => [each.name, each.revision, String(each.objects), sizeText(each.bytes), each.created])
    process.stdout.write(
      rows.length === 0 ? 'there are no snapshots\n' : tableText([['NAME', 'REVISION', 'OBJECTS', 'SIZE', 'CREATED'], ...rows], [1, 2, 3]),
    )
    return 0
  }
  if (action === 'create') {
    const made = await send<Snapshot>('POST', 'snapshots', name === undefined ? {} : { name })
    process.stdout.write(`${made.name}: ${made.objects} objects at revision ${made.revision}\n`)
    return 0
  }
  if (name === undefined) throw new UsageError(`which snapshot? ${SNAPSHOTS}`)
  const path = `snapshots/${encodeURIComponent(name)}`
  const { objects } = action === 'delete' ? await send<Snapshot>('DELETE', path) : await send<Snapshot>('POST', `${path}/restore`)
  process.stdout.write(action === 'delete' ? `deleted ${name}\n` : `the server is as it was at ${name}: ${objects} objects\n`)
  return 0
}

type OpenServer = Pick<Arguments, 'rest'> & {
  readonly output: 'text' | 'json'
  send<Body>(method: string, path: string, body?: unknown): Promise<Body>
}

function openServer(args: readonly string[], usage: string): OpenServer {
  const given = readArguments(args, { flags: usage === REQUESTS ? [...PLACE_FLAGS, 'output'] : PLACE_FLAGS, usage })
  const api = apiClient(serverOf(given))
  return {
    rest: given.rest,
    output: outputOf(given, ['text', 'json']),
    send: (method, path, body) => sendToTestApi(api, method, path, body),
  }
}

/** Sends a request to an endpoint for tests. Throws ConfigError. */
export async function sendToTestApi<Body>(api: ApiClient, method: string, path: string, body?: unknown): Promise<Body> {
  const answer = await api.send<Body>(method, `${TEST_API_PATH}/${path}`, body)
  if (answer.ok) return answer.body
  // A path that is not served has a plain text for an answer.
  if (answer.status === 404 && !answer.isStatus) throw new ConfigError('this server was started without --test-endpoints')
  throw new ConfigError(answer.message)
}
