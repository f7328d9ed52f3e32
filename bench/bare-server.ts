/** The ceiling of reads and watches: a bare HTTPS server that sends the same bytes and does nothing else. */
import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'

const [, , certFile, keyFile, bodyFile] = process.argv
const body = readFileSync(bodyFile!)
const watchers = new Set<ServerResponse>()
const server = createServer({ cert: readFileSync(certFile!), key: readFileSync(keyFile!) }, (request, response) => {
  if (request.url === '/watch') {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    watchers.add(response)
    response.on('close', () => watchers.delete(response))
    return
  }
  if (request.method === 'POST') {
    request.resume()
    request.on('end', () => {
      for (const watcher of watchers) watcher.write(body)
      response.writeHead(201, { 'content-type': 'application/json', 'content-length': 2 })
      response.end('{}')
    })
    return
  }
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
  response.end(body)
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))
