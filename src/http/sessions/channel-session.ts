/**
 * Sessions with containers over WebSocket: messages begin with the number of their channel. In protocols with `base64` in their name they
 * are text, and the number is a digit.
 */
import { Duplex, Readable, Writable } from 'node:stream'
import type { RawData, WebSocket } from 'ws'
import { LIMITS } from '../../lib/limits.ts'
import type { CommandSession, PortSession, Session } from '../../registry/session.ts'
import { internalFailure, plainStatusText, statusText } from './command-status.ts'
import { Resizes } from './resizes.ts'
import { forwardingFailure, joined, nowhere } from './spdy-session.ts'

/** Protocols of commands; kubelets speak all but the newest, which kube-apiserver translates for them. */
export const COMMAND_CHANNELS = [
  'v5.channel.k8s.io',
  'v4.channel.k8s.io',
  'v4.base64.channel.k8s.io',
  'channel.k8s.io',
  'base64.channel.k8s.io',
]
export const PORT_CHANNELS = ['v4.channel.k8s.io', 'v4.base64.channel.k8s.io']

const STDIN = 0
const STDOUT = 1
const STDERR = 2
const ERROR = 3
const RESIZE = 4
/** In the newest protocol: the client sends no more on the channel that follows. */
const CLOSE = 255

/** The messages of a connection, by channel. */
class Channels {
  readonly #webSocket: WebSocket
  readonly #isText: boolean
  readonly gone = new AbortController()

  constructor(webSocket: WebSocket, protocol: string, onData: (channel: number, bytes: Uint8Array) => void) {
    this.#webSocket = webSocket
    this.#isText = protocol.includes('base64')
    webSocket.on('message', (data: RawData, isBinary: boolean) => {
      const bytes = data as Buffer
      if (bytes.length === 0) return
      if (isBinary && !this.#isText) return onData(bytes[0]!, bytes.subarray(1))
      const text = bytes.toString('latin1')
      onData(text.charCodeAt(0) - ZERO, Buffer.from(text.slice(1), 'base64'))
    })
    webSocket.on('ping', payload => webSocket.pong(payload))
    // A violation of the protocol closes the connection.
    webSocket.on('error', () => {})
    webSocket.once('close', () => this.gone.abort())
  }

  send(channel: number, bytes: Uint8Array, sent: (error?: Error | null) => void = () => {}): void {
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return void sent(new Error('the connection is closed'))
    const message = this.#isText
      ? `${channel}${Buffer.from(bytes).toString('base64')}`
      : Buffer.concat([Buffer.from([channel]), Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)])
    this.#webSocket.send(message, { binary: !this.#isText }, sent)
  }

  writer(channel: number): Writable {
    const stream = new Writable({ write: (chunk: Buffer, _, callback) => this.send(channel, chunk, callback) })
    stream.on('error', () => {})
    return stream
  }

  pause(): void {
    this.#webSocket.pause()
  }

  resume(): void {
    this.#webSocket.resume()
  }

  close(): void {
    this.#webSocket.close(NORMAL_CLOSURE)
    setTimeout(() => this.#webSocket.terminate(), LIMITS.lingerMs).unref()
  }
}
const ZERO = 0x30
const NORMAL_CLOSURE = 1000

/** Input of a channel: while nobody reads it, the connection is paused. */
function inputOf(pausing: () => Pick<Channels, 'pause' | 'resume'>): Readable {
  return new Readable({ highWaterMark: LIMITS.sessionInputBytes, read: () => pausing().resume() })
}

export async function runOverChannels(
  webSocket: WebSocket,
  { session, protocol }: { readonly session: CommandSession | Extract<Session, { type: 'refused' }>; readonly protocol: string },
): Promise<void> {
  if (session.type === 'refused') {
    const channels = new Channels(webSocket, protocol, () => {})
    channels.send(STDOUT, NOTHING)
    channels.send(ERROR, Buffer.from(internalFailure(`unable to upgrade connection: ${session.message}`)))
    return channels.close()
  }
  const { requested } = session
  const resizes = new Resizes()
  const stdin = requested.stdin ? inputOf(() => channels) : undefined
  const isNewest = protocol.startsWith('v5.')
  let isOpen = true
  const endInput = () => {
    if (isOpen) stdin?.push(null)
    isOpen = false
  }
  const channels: Channels = new Channels(webSocket, protocol, (channel, bytes) => {
    if (channel === RESIZE) resizes.take(bytes)
    else if (channel === CLOSE && isNewest && bytes[0] === STDIN) endInput()
    else if (channel === STDIN && isOpen && stdin && bytes.byteLength > 0 && !stdin.push(Buffer.from(bytes))) channels.pause()
  })
  channels.gone.signal.addEventListener('abort', endInput, { once: true })
  // An empty message on the first channel that can be written shows that the connection is open.
  channels.send(requested.stdout ? STDOUT : requested.stderr ? STDERR : ERROR, NOTHING)
  const [stdout, stderr] = [requested.stdout ? channels.writer(STDOUT) : nowhere(), requested.stderr ? channels.writer(STDERR) : nowhere()]
  const end = await session.run({ stdin, stdout, stderr, onResize: listener => resizes.onResize(listener), signal: channels.gone.signal })
  await Promise.all([stdout, stderr].map(finished))
  const text = /^v[45]\./.test(protocol) ? statusText(end) : plainStatusText(end)
  if (text !== undefined) channels.send(ERROR, Buffer.from(text))
  channels.close()
}

/** Resolves when everything written to a stream has been sent. */
const finished = (stream: Writable): Promise<void> =>
  new Promise(resolve => {
    if (stream.destroyed || stream.writableFinished) return resolve()
    stream.once('finish', resolve).once('close', resolve)
    stream.end()
  })

/** Each port has a channel of data and one for the text of a failure; both begin with the number of the port. */
export function forwardOverChannels(webSocket: WebSocket, { session, protocol }: { session: PortSession; protocol: string }): void {
  const inputs: Duplex[] = []
  const channels: Channels = new Channels(webSocket, protocol, (channel, bytes) => {
    const input = channel % 2 === 0 ? inputs[channel / 2] : undefined
    if (input && bytes.byteLength > 0 && !input.push(Buffer.from(bytes))) channels.pause()
  })
  let open = session.ports.length
  for (const [i, port] of session.ports.entries()) {
    const client = new Duplex({
      readableHighWaterMark: LIMITS.sessionInputBytes,
      read: () => channels.resume(),
      write: (chunk: Buffer, _, callback) => channels.send(2 * i, chunk, callback),
    })
    client.on('error', () => {})
    inputs.push(client)
    channels.gone.signal.addEventListener('abort', () => client.destroy(), { once: true })
    const number = Buffer.alloc(2)
    number.writeUInt16LE(port)
    channels.send(2 * i, number)
    channels.send(2 * i + 1, number)
    void session
      .connect(port)
      .then(backend => joined(client, backend))
      .catch((error: Error) => channels.send(2 * i + 1, Buffer.from(forwardingFailure(session, port, error))))
      .then(() => {
        if (--open === 0) channels.close()
      })
  }
}

const NOTHING = new Uint8Array()
