/** Connections through a proxy: the server asks an HTTP proxy, over TCP, TLS or a Unix socket, to connect it (`CONNECT`). */
import { connect, type LookupFunction, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { dialFailure } from './dial-failure.ts'
import type { DialMetrics, ObservedDial } from './dial-metrics.ts'
import { connectTrusting, type Trust, UntrustedServerError } from './trusting-agent.ts'

/** The target of a connection; a name is resolved here if there is a rule about its addresses, and otherwise by the proxy. */
export type DialTarget = { readonly host: string; readonly port: number; readonly lookup?: LookupFunction | undefined }
/** Opens a connection in some other way than directly. Writes wait until it is open; a failure is an error of the stream. */
export type Dial = (target: DialTarget) => Duplex

/** Where the proxy is. */
export type ProxyAddress =
  | { readonly type: 'unix'; readonly path: string }
  | { readonly type: 'tcp'; readonly host: string; readonly port: number; readonly trust?: Trust | undefined }

/** As much as Go reads of the head of an answer. */
const MAX_HEAD_BYTES = 1024 * 1024
const END_OF_HEAD = '\r\n\r\n'

export const dialThrough =
  (proxy: ProxyAddress, metrics: DialMetrics): Dial =>
  target =>
    new Tunnel(proxy, target, metrics.begin({ protocol: 'http_connect', transport: proxy.type === 'unix' ? 'uds' : 'tcp' }))

/** The address that a proxy is asked to connect to; one that is an IPv6 address is in brackets. */
export const authorityOf = (host: string, port: number): string => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)

/** Calls back with the host of a target, or with its address if there is a rule about that. */
export function withAddress({ host, lookup }: DialTarget, take: (error: Error | null, host: string) => void): void {
  if (lookup) lookup(host, { all: false }, (error, address) => take(error, String(address)))
  else take(null, host)
}

class Tunnel extends Duplex {
  readonly #socket: Socket
  readonly #observed: ObservedDial
  #isConnected = false
  #isOpen = false
  #head = Buffer.alloc(0)
  #waiting: (() => void) | undefined

  constructor(proxy: ProxyAddress, target: DialTarget, observed: ObservedDial) {
    super()
    this.#observed = observed
    this.#socket = socketTo(proxy)
    this.#socket.on('error', error => {
      const isDialed = this.#isConnected || error instanceof UntrustedServerError
      this.#fail(isDialed ? error : new Error(dialFailure(proxy.type, nameOf(proxy), error)))
    })
    this.#socket.on('close', () => {
      if (this.#isOpen) this.destroy()
      else
        this.#fail(
          new Error(`reading HTTP response from CONNECT to ${nameOfTarget(target)} via proxy ${nameOf(proxy)} failed: unexpected EOF`),
        )
    })
    this.#socket.once(proxy.type === 'tcp' && proxy.trust ? 'secureConnect' : 'connect', () => {
      // One that is not trusted is gone already.
      if (this.#socket.destroyed) return
      this.#isConnected = true
      this.#ask(target)
    })
    this.#socket.on('data', part => this.#receive(part, proxy, target))
    this.#socket.on('end', () => this.#isOpen && this.push(null))
  }

  #fail(error: Error): void {
    if (this.destroyed) return
    if (!this.#isOpen) this.#observed.failed(this.#isConnected ? 'proxy' : 'connect')
    this.destroy(error)
  }

  /** Sockets have these; requests call them. */
  setTimeout(ms: number, callback?: () => void): this {
    this.#socket.setTimeout(ms, callback)
    return this
  }
  setNoDelay(isOn?: boolean): this {
    this.#socket.setNoDelay(isOn)
    return this
  }
  setKeepAlive(isOn?: boolean, ms?: number): this {
    this.#socket.setKeepAlive(isOn, ms)
    return this
  }
  ref(): this {
    this.#socket.ref()
    return this
  }
  unref(): this {
    this.#socket.unref()
    return this
  }

  #ask(target: DialTarget): void {
    withAddress(target, (error, host) => {
      if (error) return this.#fail(error)
      const authority = authorityOf(host, target.port)
      if (!/^[\w.:[\]%-]+$/.test(authority)) this.#fail(new Error(`${JSON.stringify(authority)} is no address`))
      else this.#socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)
    })
  }

  #receive(part: Buffer, proxy: ProxyAddress, target: DialTarget): void {
    if (this.#isOpen) {
      if (!this.push(part)) this.#socket.pause()
      return
    }
    this.#head = Buffer.concat([this.#head, part])
    const end = this.#head.indexOf(END_OF_HEAD)
    if (end < 0) {
      if (this.#head.length > MAX_HEAD_BYTES) this.#fail(new Error(`the answer of proxy "${nameOf(proxy)}" is too long`))
      return
    }
    const [, status = '', code = ''] = /^HTTP\/1\.\d ((\d{3})[^\r\n]*)/.exec(this.#head.toString('latin1', 0, end)) ?? []
    if (code !== '200') {
      this.#fail(new Error(`proxy error from ${nameOf(proxy)} while dialing ${nameOfTarget(target)}, code ${code}: ${status}`))
      return
    }
    this.#isOpen = true
    this.#observed.opened()
    const rest = this.#head.subarray(end + END_OF_HEAD.length)
    this.#head = Buffer.alloc(0)
    if (rest.length > 0) this.push(rest)
    this.#waiting?.()
    this.emit('connect')
  }

  override _read(): void {
    this.#socket.resume()
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#isOpen) this.#socket.write(chunk, done)
    else this.#waiting = () => this.#socket.write(chunk, done)
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(() => done())
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy()
    done(error)
  }
}

function socketTo(proxy: ProxyAddress): Socket {
  if (proxy.type === 'unix') return connect({ path: proxy.path })
  const { host, port, trust } = proxy
  return trust ? connectTrusting({ host, port }, trust) : connect({ host, port })
}

const nameOfTarget = ({ host, port }: DialTarget): string => authorityOf(host, port)
const nameOf = (proxy: ProxyAddress): string => (proxy.type === 'unix' ? proxy.path : `${proxy.host}:${proxy.port}`)
