/** A webhook that allows everything at once: the benchmark measures its caller. Prints its port and its CA. */
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { issueAuthority, issueServer } from '../src/lib/x509/issue.ts'

const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 24 * 3600_000) }
const authority = issueAuthority('bench', validity)
const pair = issueServer(authority, 'webhook', { names: ['127.0.0.1'], ...validity })
const server = createServer(pair, (request, response) => {
  const parts: Buffer[] = []
  request.on('data', part => parts.push(part))
  request.on('end', () => {
    const uid = /"uid":"([^"]+)"/.exec(Buffer.concat(parts).toString('latin1'))![1]
    const body = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"${uid}","allowed":true}}`
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.stdout.write(`${JSON.stringify({ port, ca: Buffer.from(authority.cert).toString('base64') })}\n`)
})
process.on('SIGTERM', () => process.exit(0))
