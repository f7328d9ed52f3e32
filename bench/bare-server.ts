/** The ceiling of reads and watches: a bare HTTPS server that sends the same bytes and does nothing else, over HTTP/1.1 and HTTP/2. */
import { readFileSync } from 'node:fs'
import { createSecureServer, type ServerHttp2Stream } from 'node:http2'
import { createServer } from 'node:https'
import { listenBoth } from './bare-listen.ts'

const [, , certFile, keyFile, bodiesFile] = process.argv
/** Responses by path; `/watch` is sent to a watcher for each write. */
const bodies = new Map(
  Object.entries(JSON.parse(readFileSync(bodiesFile!, 'utf8')) as Record<string, string>).map(([path, text]) => [path, Buffer.from(text)]),
)
const NOTHING = Buffer.from('{}')
const event = bodies.get('/watch') ?? NOTHING
const watchers = new Set<{ write(bytes: Buffer): unknown }>()
const tls = { cert: readFileSync(certFile!), key: readFileSync(keyFile!) }
const JSON_TYPE = { 'content-type': 'application/json' }

const http1 = createServer(tls, (request, response) => {
  if (request.url === '/watch') {
    response.writeHead(200, JSON_TYPE)
    response.flushHeaders()
    watchers.add(response)
    response.on('close', () => watchers.delete(response))
    return
  }
  if (request.method === 'POST') {
    request.resume()
    request.on('end', () => {
      for (const watcher of watchers) watcher.write(event)
      response.writeHead(201, { ...JSON_TYPE, 'content-length': NOTHING.length })
      response.end(NOTHING)
    })
    return
  }
  const body = bodies.get(request.url!) ?? NOTHING
  response.writeHead(200, { ...JSON_TYPE, 'content-length': body.length })
  response.end(body)
})

const http2 = createSecureServer(tls)
http2.on('stream', (stream: ServerHttp2Stream, { ':path': path, ':method': method }) => {
  stream.on('error', () => {})
  if (path === '/watch') {
    stream.respond({ ':status': 200, ...JSON_TYPE })
    watchers.add(stream)
    stream.on('close', () => watchers.delete(stream))
  } else if (method === 'POST') {
    stream.resume()
    stream.on('end', () => {
      for (const watcher of watchers) watcher.write(event)
      stream.respond({ ':status': 201, ...JSON_TYPE, 'content-length': NOTHING.length })
      stream.end(NOTHING)
    })
  } else {
    const body = bodies.get(path!) ?? NOTHING
    stream.respond({ ':status': 200, ...JSON_TYPE, 'content-length': body.length })
    stream.end(body)
  }
})

listenBoth(http1, http2)
