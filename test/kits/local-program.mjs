// A program that containers run as a local process: it tells what it was given, and listens if it is asked to.
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'

const [action, ...args] = process.argv.slice(2)
const read = path => readFileSync(path, 'utf8')

const ACTIONS = {
  /** Prints what it was given, as JSON. */
  tell() {
    const { env } = process
    const files = Object.fromEntries(args.map(path => [path, read(path)]))
    console.log(JSON.stringify({ args, env, files, cwd: process.cwd() }))
  },
  exit() {
    console.error('leaving')
    if (args[1]) writeFileSync(args[1], 'last words')
    process.exitCode = Number(args[0])
  },
  /** Serves a port until SIGTERM: /healthz fails unless a file says ok, everything else tells the path. */
  serve() {
    const [port, file] = args
    const server = createServer((request, response) => {
      const state = file ? read(file).trim() : 'ok'
      response.statusCode = request.url === '/healthz' && state !== 'ok' ? 500 : 200
      response.end(`${request.method} ${request.url}`)
    })
    server.listen(Number(port), '127.0.0.1', () => console.log('listening'))
    process.on('SIGTERM', () => {
      console.log('got SIGTERM')
      process.exit(7)
    })
  },
  /** Answers health checks of gRPC: it serves if a file says ok. */
  health() {
    const [port, file] = args
    const server = createHttp2Server()
    server.on('stream', stream => {
      stream.resume()
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.end(Buffer.from([0, 0, 0, 0, 2, 8, read(file).trim() === 'ok' ? 1 : 2]))
    })
    server.listen(Number(port), '127.0.0.1', () => console.log('listening'))
  },
  /** Does not end by itself, nor by SIGTERM. */
  stay() {
    process.on('SIGTERM', () => console.log('I stay'))
    console.log(`pid ${process.pid}`)
    setInterval(() => {}, 1000)
  },
  /** Says what it reads. */
  echo() {
    process.stdin.on('data', bytes => process.stdout.write(`said ${bytes}`))
  },
}
ACTIONS[action]()
