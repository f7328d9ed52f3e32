/** The ceiling of writes over HTTPS: a bare server that puts each body into the store as it is and sends it back. */
import { readFileSync } from 'node:fs'
import { createSecureServer, type ServerHttp2Stream } from 'node:http2'
import { createServer } from 'node:https'
import type { Readable } from 'node:stream'
import { openEmbeddedStore } from '../src/storage/embedded/embedded.ts'
import { openEtcdStore } from '../src/storage/etcd/etcd.ts'
import { plainFormat } from '../test/kits/storage/plain-format.ts'
import { listenBoth } from './bare-listen.ts'

/** The last argument is a folder, or where etcd is. */
const [, , certFile, keyFile, where] = process.argv
const store = /^http/.test(where!)
  ? await openEtcdStore({ endpoints: where!.split(','), prefix: `/bench-${Date.now()}`, format: plainFormat })
  : await openEmbeddedStore({ dir: where! })
let count = 0
const tls = { cert: readFileSync(certFile!), key: readFileSync(keyFile!) }
const headers = (value: Buffer) => ({ 'content-type': 'application/json', 'content-length': value.length })

function storeBody(body: Readable, stored: (value: Buffer) => void): void {
  const parts: Buffer[] = []
  body.on('data', part => parts.push(part))
  body.on('end', async () => {
    const value = Buffer.concat(parts)
    await store.swap(`/bench/${count++}`, { expect: 0, value })
    stored(value)
  })
}

const http1 = createServer(tls, (request, response) =>
  storeBody(request, value => {
    response.writeHead(201, headers(value))
    response.end(value)
  }),
)
const http2 = createSecureServer(tls)
http2.on('stream', (stream: ServerHttp2Stream) => {
  stream.on('error', () => {})
  storeBody(stream, value => {
    stream.respond({ ':status': 201, ...headers(value) })
    stream.end(value)
  })
})

listenBoth(http1, http2)
