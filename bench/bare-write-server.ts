/** The ceiling of writes over HTTPS: a bare server that puts each body into the store as it is and sends it back. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { openEmbeddedStore } from '../src/storage/embedded/embedded.ts'
import { openEtcdStore } from '../src/storage/etcd/etcd.ts'
import { plainFormat } from '../test/kits/storage/plain-format.ts'

/** The last argument is a folder, or where etcd is. */
const [, , certFile, keyFile, where] = process.argv
const store = /^http/.test(where!)
  ? await openEtcdStore({ endpoints: where!.split(','), prefix: `/bench-${Date.now()}`, format: plainFormat })
  : await openEmbeddedStore({ dir: where! })
let count = 0
const server = createServer({ cert: readFileSync(certFile!), key: readFileSync(keyFile!) }, (request, response) => {
  const parts: Buffer[] = []
  request.on('data', part => parts.push(part))
  request.on('end', async () => {
    const value = Buffer.concat(parts)
    await store.swap(`/bench/${count++}`, { expect: 0, value })
    response.writeHead(201, { 'content-type': 'application/json', 'content-length': value.length })
    response.end(value)
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))
process.on('SIGTERM', () => process.exit(0))
