/** An HTTP proxy that connects its clients to anything (`CONNECT`), and remembers where. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import type { Duplex } from 'node:stream'

export type ConnectProxy = { readonly url: string; readonly asked: string[]; stop(): Promise<void> }

/** The certificate of a proxy, and the authority of its clients; PEM. */
export type ProxyTls = { readonly cert: string; readonly key: string; readonly clientCa: string }

export type ConnectProxyOptions = {
  /** Where targets are led. */
  readonly lead?: (authority: string) => string
  readonly tls?: ProxyTls
  /** The status line of all answers, instead of connecting. */
  readonly refusal?: string
}

/** Listens on a Unix socket if a path is given. */
export async function startConnectProxy(path?: string, { lead = same, tls, refusal }: ConnectProxyOptions = {}): Promise<ConnectProxy> {
  const asked: string[] = []
  const open = new Set<Duplex>()
  const server = tls
    ? createTlsServer({ cert: tls.cert, key: tls.key, ca: tls.clientCa, requestCert: true, rejectUnauthorized: true })
    : createServer()
  server.on('connect', (request, client: Duplex) => {
    asked.push(request.url!)
    if (refusal !== undefined) {
      client.end(`HTTP/1.1 ${refusal}\r\n\r\n`)
      return
    }
    const [host = '', port = ''] = lead(request.url!).split(/:(?=\d+$)/)
    const target = connect(Number(port), host, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      client.pipe(target).pipe(client)
    })
    for (const socket of [client, target]) {
      open.add(socket)
      socket.on('close', () => open.delete(socket))
      socket.on('error', () => {
        client.destroy()
        target.destroy()
      })
    }
  })
  if (path === undefined) server.listen(0, '127.0.0.1')
  else server.listen(path)
  await once(server, 'listening')
  return {
    url: path === undefined ? `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}` : path,
    asked,
    async stop() {
      for (const socket of open) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

const same = (authority: string): string => authority
