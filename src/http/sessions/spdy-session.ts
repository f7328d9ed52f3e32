/** Sessions with containers over SPDY, as kubelets serve them: one stream for each purpose, which its headers name. */
import { type Duplex, Writable } from 'node:stream'
import { LIMITS } from '../../lib/limits.ts'
import type { CommandSession, PortSession, RequestedStreams } from '../../registry/session.ts'
import { SpdyConnection, type SpdyStream } from '../../transport/spdy/connection.ts'
import { plainStatusText, statusText } from './command-status.ts'
import { Resizes } from './resizes.ts'

/** Protocols of commands over SPDY, the preferred first. */
export const COMMAND_PROTOCOLS = ['v4.channel.k8s.io', 'v3.channel.k8s.io', 'v2.channel.k8s.io', 'channel.k8s.io']
export const PORT_PROTOCOLS = ['portforward.k8s.io']

export function runOverSpdy(socket: Duplex, head: Uint8Array, { session, protocol }: { session: CommandSession; protocol: string }): void {
  const { requested } = session
  const hasResize = requested.tty && ['v4.channel.k8s.io', 'v3.channel.k8s.io'].includes(protocol)
  const expected = new Set(namesOf(requested, hasResize))
  const streams = new Map<string, SpdyStream>()
  const resizes = new Resizes()
  const gone = new AbortController()
  const timer = setTimeout(() => connection.destroy(), LIMITS.streamCreationMs).unref()
  const connection = new SpdyConnection(socket, head, {
    onStream(stream) {
      const type = stream.headers.get('streamtype') ?? ''
      if (!expected.has(type) || streams.has(type)) return false
      streams.set(type, stream)
      // Whatever a client sends on other streams is read, so that it does not hold up the rest.
      if (type === 'resize') stream.on('data', (bytes: Buffer) => resizes.take(bytes))
      else if (type !== 'stdin') stream.resume()
      if (streams.size === expected.size) {
        clearTimeout(timer)
        // The reply to this stream has to be sent before anything else on it.
        setImmediate(() => void run())
      }
      return true
    },
  })
  void connection.ended.then(() => {
    clearTimeout(timer)
    gone.abort()
  })
  const run = async () => {
    const end = await session.run({
      stdin: streams.get('stdin'),
      stdout: streams.get('stdout') ?? nowhere(),
      stderr: streams.get('stderr') ?? nowhere(),
      onResize: listener => resizes.onResize(listener),
      signal: gone.signal,
    })
    const text = protocol === 'v4.channel.k8s.io' ? statusText(end) : plainStatusText(end)
    if (text !== undefined) streams.get('error')?.write(text)
    await connection.close()
  }
}

function namesOf({ stdin, stdout, stderr }: RequestedStreams, hasResize: boolean): string[] {
  return [
    'error',
    ...(stdin ? ['stdin'] : []),
    ...(stdout ? ['stdout'] : []),
    ...(stderr ? ['stderr'] : []),
    ...(hasResize ? ['resize'] : []),
  ]
}

/** Takes output that nobody wants. */
export const nowhere = (): Writable => new Writable({ write: (_, __, callback) => callback() })

/** A connection of a client to a port: its stream of data, and one for the text of a failure. */
type Pair = { data?: SpdyStream; error?: SpdyStream; timer: NodeJS.Timeout }

export function forwardOverSpdy(socket: Duplex, head: Uint8Array, session: PortSession): void {
  const pairs = new Map<string, Pair>()
  const connection = new SpdyConnection(socket, head, {
    onStream(stream) {
      const type = stream.headers.get('streamtype') ?? ''
      if (portOf(stream) === undefined || (type !== 'data' && type !== 'error')) return false
      // Clients that send no id open the stream for errors first.
      const request = stream.headers.get('requestid') ?? String(type === 'error' ? stream.id : stream.id - 2)
      const pair = pairs.get(request) ?? { timer: setTimeout(() => late(request), LIMITS.streamCreationMs).unref() }
      if (pair[type]) return false
      pair[type] = stream
      pairs.set(request, pair)
      if (type === 'error') stream.resume()
      const { data, error } = pair
      if (data && error) {
        clearTimeout(pair.timer)
        pairs.delete(request)
        setImmediate(() => void forwardStreams(data, error, session))
      }
      return true
    },
  })
  const late = (request: string) => {
    pairs.get(request)?.error?.end(`(request=${request}) timed out waiting for streams`)
    pairs.delete(request)
  }
  void connection.ended.then(() => {
    for (const { timer } of pairs.values()) clearTimeout(timer)
  })
}

function portOf({ headers }: SpdyStream): number | undefined {
  const text = headers.get('port') ?? ''
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  return port > 0 && port <= 0xffff ? port : undefined
}

async function forwardStreams(data: SpdyStream, error: SpdyStream, session: PortSession): Promise<void> {
  const port = portOf(data)!
  try {
    await joined(data, await session.connect(port))
    error.end()
  } catch (failure) {
    await writtenTo(error, forwardingFailure(session, port, failure as Error))
    data.reset()
    error.reset()
  }
}

const writtenTo = (stream: SpdyStream, text: string): Promise<void> => new Promise(resolve => void stream.write(text, () => resolve()))

export const forwardingFailure = ({ pod, uid }: PortSession, port: number, { message }: Error): string =>
  `error forwarding port ${port} to pod ${pod}, uid ${uid}: ${message}`

/** Connects both until they have ended; rejects when the connection to the port fails. */
export function joined(client: Duplex, backend: Duplex): Promise<void> {
  return new Promise((resolve, reject) => {
    backend.once('error', reject)
    backend.once('end', () => {
      client.end()
      resolve()
    })
    backend.once('close', () => {
      if (!client.writableEnded) client.end()
      resolve()
    })
    client.once('close', () => backend.destroy())
    client.pipe(backend)
    backend.pipe(client)
  })
}
