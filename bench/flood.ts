/** One client that keeps so many requests in flight on its HTTP/2 connections, until it is stopped. */
import { readFileSync } from 'node:fs'
import { type ClientHttp2Session, connect } from 'node:http2'

const [url, caFile, token, method, path, body, inFlight] = process.argv.slice(2) as [string, string, string, string, string, string, string]
/** All on one connection: what the server does not let on the wire waits in the client, as in any client of HTTP/2. */
const PER_CONNECTION = 1000
const sessions = Array.from({ length: Math.ceil(Number(inFlight) / PER_CONNECTION) }, () => {
  const session = connect(url, { ca: readFileSync(caFile), servername: 'localhost', maxSessionMemory: 1000 })
  session.on('error', error => {
    process.stderr.write(`flood: ${error.message}\n`)
    process.exit(1)
  })
  session.on('close', () => process.exit(1))
  return session
})
let answered = 0
let refused = 0

function ask(session: ClientHttp2Session): void {
  const iteration = Math.floor(Math.random() * 500)
  const stream = session.request(
    {
      ':method': method,
      ':path': path.replace('INDEX', String(iteration)),
      authorization: `Bearer ${token}`,
      'content-type': 'application/merge-patch+json',
    },
    { endStream: body === '' },
  )
  stream.on('response', headers => {
    if (headers[':status'] === 429) refused++
    else answered++
  })
  stream.on('error', () => {})
  stream.on('close', () => !session.destroyed && ask(session))
  stream.resume()
  if (body !== '') stream.end(body.replace('INDEX', String(answered)))
}

await Promise.all(sessions.map(session => new Promise(resolve => session.once('remoteSettings', resolve))))
for (let i = 0; i < Number(inFlight); i++) ask(sessions[i % sessions.length]!)
process.stdout.write('ready\n')
process.once('SIGTERM', () => {
  process.stdout.write(`${answered} answered, ${refused} refused\n`, () => process.exit(0))
})
