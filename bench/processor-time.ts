/**
 * Processor time of one request, as the server's thread that runs JavaScript and all its threads use it. Other work on the machine
 * disturbs it less than rates; what disturbs it adds to it, so the least of several rounds counts. Connections stay open all the time:
 * a handshake costs as much as several requests.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { configMap } from './objects.ts'
import { bodyOf, type Connection, connectTo, requestBytes, run as sendTo, type Target } from './raw-client.ts'
import { newFolder, type Running, startBare, startBareWrites, startKeelson } from './servers.ts'

export type ProcessorTime = { readonly what: string; readonly mainMicros: number; readonly allMicros: number }

const NS = '/api/v1/namespaces/default/configmaps'
const CONNECTIONS = 16

type Measured = { readonly what: string; readonly server: Running; readonly request: () => Buffer }
type Round = Pick<ProcessorTime, 'mainMicros' | 'allMicros'>

export async function processorTime({ quick }: { readonly quick: boolean }): Promise<readonly ProcessorTime[]> {
  const dir = newFolder()
  const keelson = await startKeelson(dir)
  let created = 0
  const create = () => requestBytes('POST', NS, configMap(`timed-${++created}`))
  const get = () => requestBytes('GET', `${NS}/timed-1`)
  await sendTo(keelson.target, { request: create, connections: 1, seconds: 60, requests: 1 })
  const stored = await bodyOf(keelson.target, `${NS}/timed-1`)
  const [bare, bareWrites] = [await startBare(dir, stored, keelson.target), await startBareWrites(dir, keelson.target)]
  try {
    return await measure(
      [
        { what: 'a create', server: keelson, request: create },
        {
          what: 'a create at the bare HTTPS server that stores the body as it is',
          server: bareWrites,
          request: () => requestBytes('POST', '/', stored),
        },
        { what: 'a GET', server: keelson, request: get },
        { what: 'a GET at the bare HTTPS server', server: bare, request: get },
      ],
      quick,
    )
  } finally {
    await Promise.all([keelson, bare, bareWrites].map(server => server.stop()))
  }
}

async function measure(all: readonly Measured[], quick: boolean): Promise<readonly ProcessorTime[]> {
  const [warmUp, rounds, requests] = quick ? [4000, 10, 300] : [12_000, 60, 500]
  const runs = await Promise.all(
    all.map(async each => ({ ...each, connections: await connectAll(each.server.target), rounds: [] as Round[] })),
  )
  for (const run of runs) await send(run, warmUp)
  for (let i = 0; i < rounds; i++) for (const run of runs) run.rounds.push(await timed(run, requests))
  for (const { connections } of runs) for (const connection of connections) connection.close()
  return runs.map(run => ({
    what: run.what,
    mainMicros: Math.min(...run.rounds.map(round => round.mainMicros)),
    allMicros: Math.min(...run.rounds.map(round => round.allMicros)),
  }))
}

const connectAll = (target: Target) => Promise.all(Array.from({ length: CONNECTIONS }, () => connectTo(target)))

type Sending = Measured & { readonly connections: readonly Connection[] }

async function timed(run: Sending, requests: number): Promise<Round> {
  const { pid } = run.server
  const before = nanosOf(pid)
  await send(run, requests)
  const after = nanosOf(pid)
  return { mainMicros: (after.main - before.main) / requests / 1000, allMicros: (after.all - before.all) / requests / 1000 }
}

async function send({ connections, request, what }: Sending, requests: number): Promise<void> {
  let sent = 0
  const sendSome = async (connection: Connection) => {
    while (sent++ < requests) {
      const status = await connection.send(request())
      if (status >= 400) throw new Error(`${what} was answered with ${status}`)
    }
  }
  await Promise.all(connections.map(sendSome))
}

/** Nanoseconds that the main thread and all threads of a process have run. */
function nanosOf(pid: number): { readonly main: number; readonly all: number } {
  const threads = readdirSync(`/proc/${pid}/task`).map(id => ({ id, nanos: nanosOfThread(`/proc/${pid}/task/${id}/schedstat`) }))
  return {
    main: threads.find(({ id }) => id === String(pid))!.nanos,
    all: threads.reduce((sum, { nanos }) => sum + nanos, 0),
  }
}

/** A thread that has ended meanwhile counts nothing. */
function nanosOfThread(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8').split(' ')[0])
  } catch {
    return 0
  }
}
