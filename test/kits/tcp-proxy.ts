/** A TCP proxy that can be cut, or lose the server's responses. */
import { connect, createServer, type Socket } from 'node:net'

export type TcpProxy = AsyncDisposable & {
  readonly port: number
  /** Ends every connection, and refuses new ones until `mend`. */
  cut(): void
  /** Forwards requests, but no responses, until `mend`. */
  loseAnswers(): void
  mend(): void
}

export async function startTcpProxy(port: number): Promise<TcpProxy> {
  let state: 'whole' | 'cut' | 'losing' = 'whole'
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    if (state === 'cut') {
      client.destroy()
      return
    }
    const upstream = connect(port, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', chunk => upstream.write(chunk))
    upstream.on('data', chunk => state !== 'losing' && client.write(chunk))
  })
  const end = () => {
    for (const socket of sockets) socket.destroy()
  }
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as { port: number }).port,
    cut() {
      state = 'cut'
      end()
    },
    loseAnswers() {
      state = 'losing'
    },
    mend() {
      // Connections that lost responses are broken.
      if (state === 'losing') end()
      state = 'whole'
    },
    async [Symbol.asyncDispose]() {
      end()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
