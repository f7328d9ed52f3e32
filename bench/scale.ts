/** Scale: many objects and many open watches on one server. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import { setTimeout as sleep } from 'node:timers/promises'
import { configMap } from './objects.ts'
import { requestBytes, run, type Target } from './raw-client.ts'
import { cpuSeconds, residentMB, startKeelson } from './servers.ts'

export type ScaleJob = { readonly objects: number; readonly watches: number; readonly writesPerSecond: number; readonly seconds: number }
export type Scale = {
  readonly watchKB: number
  readonly p50: number
  readonly p99: number
  readonly events: number
  readonly wanted: number
  /** Processor time of the server for one write and its events. */
  readonly cpuMicros: number
  readonly listMB: number
  readonly residentMB: number
  readonly peakMB: number
}

/** Each write concerns this many watches. */
const MATCHES = 10
const STREAMS = 100
const WARM_UP_SECONDS = 3
const NS = '/api/v1/namespaces/default/configmaps'

/** Fills a server, opens the watches, writes at a steady rate and streams the whole list. */
export async function scale({ objects, watches, writesPerSecond, seconds }: ScaleJob): Promise<Scale> {
  const server = await startKeelson()
  const groups = Math.ceil(watches / MATCHES)
  try {
    await fill(server.target, objects, groups)
    const { peakMB, listMB, residentMB: resident } = await streamList(server.target, server.pid)
    const before = await settledMB(server.pid)
    const crowd = await openWatches(server.target, { watches, groups })
    const watchKB = ((await settledMB(server.pid)) - before) * (1024 / watches)
    // A server that has just begun to write still compiles what it runs.
    await write(server.target, crowd, { objects, writesPerSecond, seconds: WARM_UP_SECONDS })
    const cpu = cpuSeconds(server.pid)
    const { times, wanted } = await write(server.target, crowd, { objects, writesPerSecond, seconds })
    const cpuMicros = ((cpuSeconds(server.pid) - cpu) * 1e6) / (writesPerSecond * seconds)
    crowd.close()
    times.sort((a, b) => a - b)
    const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN
    return { watchKB, p50: at(0.5), p99: at(0.99), events: times.length, wanted, cpuMicros, listMB, residentMB: resident, peakMB }
  } finally {
    await server.stop()
  }
}

async function fill(target: Target, objects: number, groups: number): Promise<void> {
  const request = (iteration: number) => requestBytes('POST', NS, labelled(iteration, groups))
  const { failures } = await run(target, { request, connections: 64, seconds: 600, requests: objects })
  if (failures > 0) throw new Error(`${failures} objects could not be written`)
}

function labelled(iteration: number, groups: number): string {
  const object = JSON.parse(configMap(`cm-${iteration}`, iteration))
  object.metadata.labels.group = `g${iteration % groups}`
  return JSON.stringify(object)
}

/** Resident memory once it has stopped moving much. */
async function settledMB(pid: number): Promise<number> {
  let last = residentMB(pid)
  for (let i = 0; i < 10; i++) {
    await sleep(500)
    const now = residentMB(pid)
    if (Math.abs(now - last) < 1) return now
    last = now
  }
  return last
}

function sessionTo({ host, port, ...tls }: Target): ClientHttp2Session {
  const session = connect(`https://${host}:${port}`, { ...tls, servername: 'localhost', maxSessionMemory: 1000 })
  session.setMaxListeners(0)
  session.on('error', () => {})
  return session
}

type Crowd = { readonly onEvent: (listen: (sent: number) => void) => void; readonly close: () => void }

async function openWatches(target: Target, { watches, groups }: { watches: number; groups: number }): Promise<Crowd> {
  const sessions: ClientHttp2Session[] = []
  let listener: (sent: number) => void = () => {}
  for (let i = 0; i < watches; i++) {
    if (i % STREAMS === 0) sessions.push(sessionTo(target))
    const session = sessions.at(-1)!
    const query = `watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&labelSelector=group%3Dg${i % groups}`
    const stream = session.request({ ':path': `${NS}?${query}` })
    read(stream, sent => listener(sent))
    if (i % 100 === 99 || i === watches - 1) await new Promise(resolve => stream.once('response', resolve))
  }
  const close = () => {
    for (const session of sessions) session.destroy()
  }
  return { onEvent: listen => (listener = listen), close }
}

const SENT = Buffer.from('"sent":"')
const QUOTE = '"'.charCodeAt(0)
/** Longer than the sending time with its prefix. */
const MAX_MARK_BYTES = 64

/** Finds the time of sending in each event, wherever chunks end. It looks at bytes, to cost little: the benchmark measures the server. */
function read(stream: ClientHttp2Stream, onSent: (sent: number) => void): void {
  let rest: Buffer | undefined
  stream.on('error', () => {})
  stream.on('data', (chunk: Buffer) => {
    const bytes = rest ? Buffer.concat([rest, chunk]) : chunk
    let done = 0
    for (let at = bytes.indexOf(SENT); at >= 0; at = bytes.indexOf(SENT, done)) {
      const end = bytes.indexOf(QUOTE, at + SENT.length)
      if (end < 0) break
      onSent(Number(bytes.toString('latin1', at + SENT.length, end)))
      done = end
    }
    const tail = Math.max(done, bytes.length - MAX_MARK_BYTES)
    rest = tail < bytes.length ? bytes.subarray(tail) : undefined
  })
}

type Writing = { readonly objects: number; readonly writesPerSecond: number; readonly seconds: number }

async function write(
  target: Target,
  crowd: Crowd,
  { objects, writesPerSecond, seconds }: Writing,
): Promise<{ times: number[]; wanted: number }> {
  const times: number[] = []
  crowd.onEvent(sent => times.push(performance.now() - sent))
  const session = sessionTo(target)
  const started = performance.now()
  const total = writesPerSecond * seconds
  for (let iteration = 0; iteration < total; ) {
    const due = Math.min(total, Math.floor(((performance.now() - started) / 1000) * writesPerSecond) + 1)
    for (; iteration < due; iteration++) {
      // Spread out, so that concurrent writes never concern the same object.
      const stream = session.request(
        {
          ':method': 'PATCH',
          ':path': `${NS}/cm-${(iteration * 7919) % objects}`,
          'content-type': 'application/merge-patch+json',
        },
        { endStream: false },
      )
      stream.on('error', () => {})
      stream.resume()
      stream.end(`{"data":{"sent":"${performance.now()}"}}`)
    }
    await sleep(1)
  }
  const wanted = total * MATCHES
  for (let i = 0; i < 600 && times.length < wanted; i++) await sleep(50)
  session.destroy()
  return { times, wanted }
}

/** Reads the whole list over HTTP/2 and watches the memory of the server meanwhile. */
async function streamList(target: Target, pid: number): Promise<Pick<Scale, 'listMB' | 'residentMB' | 'peakMB'>> {
  const before = await settledMB(pid)
  let peak = before
  const timer = setInterval(() => (peak = Math.max(peak, residentMB(pid))), 10)
  const session = sessionTo(target)
  const stream = session.request({ ':path': NS, 'accept-encoding': 'identity' })
  let bytes = 0
  for await (const chunk of stream) bytes += chunk.length
  clearInterval(timer)
  session.destroy()
  return { listMB: bytes / 2 ** 20, residentMB: before, peakMB: Math.max(peak, residentMB(pid)) }
}
