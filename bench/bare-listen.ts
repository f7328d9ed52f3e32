/** Lets a bare server listen for HTTP/1.1 on one port and for HTTP/2 on another, and prints both. */
import type { Http2SecureServer } from 'node:http2'
import type { Server } from 'node:https'
import type { AddressInfo } from 'node:net'

export function listenBoth(http1: Server, http2: Http2SecureServer): void {
  http1.keepAliveTimeout = 60_000
  http1.listen(0, '127.0.0.1', () =>
    http2.listen(0, '127.0.0.1', () => {
      const [first, second] = [http1, http2].map(server => (server.address() as AddressInfo).port)
      process.stdout.write(`${first} ${second}\n`)
    }),
  )
  process.on('SIGTERM', () => process.exit(0))
}
