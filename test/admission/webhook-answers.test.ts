// Answers that Go's HTTP client reads, although they are unusual: redirects, compression, retries, HTTP/2 alone, odd syntax.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { createSecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { issueAuthority, issueServer } from '../../src/lib/x509/issue.ts'
import { ask, CONFIG_MAPS, configMap, patient, type Scope, serverOfFile } from '../kit.ts'
import { ADMISSION, configure } from '../kits/admission-objects.ts'
import { type Answer, deny, pem, webhook } from '../kits/webhooks.ts'

const server = serverOfFile({ controllers: ['none'] })

/** The message for a create while a webhook is configured. */
async function messageWith(clientConfig: { readonly url: string; readonly caBundle: string }): Promise<string> {
  await configure(server, 'validating', 'answers', { hook: { clientConfig }, timeoutSeconds: 30 })
  const { status, json } = await ask(server, `${CONFIG_MAPS}?dryRun=All`, { method: 'POST', body: configMap('x') })
  await ask(server, `${ADMISSION}/validatingwebhookconfigurations/answers`, { method: 'DELETE' })
  return `${status} ${json.message ?? ''}`
}

const denial = (message: string) => `400 admission webhook "answers-0.example.com" denied the request: ${message}`
const failure = (why: string) =>
  `500 Internal error occurred: failed calling webhook "answers-0.example.com": failed to call webhook: ${why}`

const review = ({ apiVersion, kind, request }: any, message: string) =>
  JSON.stringify({ apiVersion, kind, response: { uid: request.uid, allowed: false, status: { message } } })

/** Writes bytes past Node, which would not write such a response. */
const raw =
  (head: string, body: (review: any) => string): Answer =>
  (sent, response) => {
    const text = body(sent)
    response.socket!.write(head.replaceAll('LENGTH', String(text.length)) + text)
  }

const redirecting = (status: number, to: string) => (_: unknown, response: ServerResponse) =>
  void response.writeHead(status, { location: to }).end()

/** Answers by the path; the first request comes to /review. */
const byPath =
  (first: Answer, then: Answer): Answer =>
  (sent, response, request) =>
    (request.url!.startsWith('/review') ? first : then)(sent, response, request)

const busyOnce = (status: number): Answer => {
  let calls = 0
  return (sent, response, request) =>
    calls++ === 0 ? void response.writeHead(status, { 'retry-after': '0' }).end('busy') : deny(`call ${calls}`)(sent, response, request)
}

const status =
  (code: number, body: object): Answer =>
  (_, response) =>
    void response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))

const CASES: readonly (readonly [what: string, answer: Answer, message: string])[] = [
  ['a redirect that keeps the method', byPath(redirecting(307, '/there'), deny('followed')), denial('followed')],
  ['a permanent redirect', byPath(redirecting(308, '/there'), deny('followed')), denial('followed')],
  [
    'a redirect to a GET',
    byPath(redirecting(302, '/there'), (_, response, { method }) => void response.end(`"${method}"`)),
    failure(
      `couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
    ),
  ],
  ['redirects without end', redirecting(307, '/again'), failure('Post "/again": stopped after 10 redirects')],
  [
    'a redirect to another scheme',
    redirecting(307, 'ftp://127.0.0.1/x'),
    failure('Post "ftp://127.0.0.1/x": unsupported protocol scheme "ftp"'),
  ],
  ['a redirect into the machine', redirecting(307, 'https://127.0.0.1:1/x'), failure('Post "https://127.0.0.1:1/x": address not allowed')],
  ['a compressed review', (sent, out) => void out.setHeader('content-encoding', 'gzip').end(gzipSync(review(sent, 'gz'))), denial('gz')],
  [
    'YAML',
    ({ apiVersion, request }, out) =>
      void out.end(`apiVersion: ${apiVersion}\nkind: AdmissionReview\nresponse:\n  uid: ${request.uid}\n  status: {message: yaml}\n`),
    denial('yaml'),
  ],
  ['a request to come again, 503', busyOnce(503), denial('call 2')],
  ['a request to come again, 429', busyOnce(429), denial('call 2')],
  ['a Status', status(404, { apiVersion: 'v1', kind: 'Status', status: 'Failure', message: 'nothing here' }), failure('nothing here')],
  [
    'a code that is no integer',
    ({ apiVersion, request }, out) =>
      void out.end(`{"apiVersion":"${apiVersion}","kind":"AdmissionReview","response":{"uid":"${request.uid}","status":{"code":403.0}}}`),
    failure('json: cannot unmarshal number 403.0 into Go struct field Status.response.status.code of type int32'),
  ],
  [
    'less than it announced',
    (_, response) => {
      response.setHeader('content-length', '1000')
      response.write('{', () => response.socket!.destroy())
    },
    failure('unexpected error when reading response body. Please retry. Original error: unexpected EOF'),
  ],
  ['lines without carriage returns', raw('HTTP/1.1 200 OK\nContent-Length: LENGTH\n\n', sent => review(sent, 'lf')), denial('lf')],
  ['large headers', (sent, out) => void out.setHeader('x-large', 'a'.repeat(40_000)).end(review(sent, 'large')), denial('large')],
  [
    'nothing, with 204',
    (_, out) => void out.writeHead(204).end(),
    failure('0-length response with status code: 204 and content type: application/json'),
  ],
]

for (const [what, answer, message] of CASES)
  test(`a webhook answers with ${what}`, patient, async t => {
    assert.equal(await messageWith((await webhook(t, answer)).clientConfig), message)
  })

test('the request of a webhook has the headers of kube-apiserver', patient, async t => {
  const hook = await webhook(t, deny('seen'))
  await messageWith(hook.clientConfig)
  const { 'user-agent': agent, accept, 'accept-encoding': encoding, 'content-type': type } = hook.calls[0]!.headers
  assert.deepEqual([agent, accept, encoding, type], ['kube-apiserver-admission', 'application/json, */*', 'gzip', 'application/json'])
})

/** A webhook that speaks HTTP/2 and refuses every handshake without it. */
async function http2Webhook(t: Scope, validity: { notBefore: Date; notAfter: Date }) {
  const authority = issueAuthority('http2 authority', validity)
  const pair = issueServer(authority, 'webhook', { names: ['127.0.0.1'], ...validity })
  const hook = createSecureServer({ ...pair, ALPNProtocols: ['h2'], allowHTTP1: false })
  hook.on('stream', (stream, headers) => {
    let text = ''
    stream.setEncoding('utf8').on('data', chunk => (text += chunk))
    stream.on('end', () => {
      stream.respond({ ':status': 200, 'content-type': 'application/json' })
      stream.end(review(JSON.parse(text), `${headers[':method']} ${headers[':path']} over HTTP/2`))
    })
  })
  await new Promise<void>(resolve => hook.listen(0, '127.0.0.1', resolve))
  t.after(() => hook.close())
  const { port } = hook.address() as AddressInfo
  return { url: `https://127.0.0.1:${port}/review`, caBundle: pem(authority.cert) }
}

test('a webhook that speaks only HTTP/2 is called, and verified like all others', patient, async t => {
  const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3600_000) }
  const clientConfig = await http2Webhook(t, validity)
  const message = denial('POST /review?timeout=30s over HTTP/2')
  assert.equal(await messageWith(clientConfig), message)
  assert.equal(await messageWith(clientConfig), message)
  const stranger = await http2Webhook(t, validity)
  assert.match(await messageWith({ ...clientConfig, url: stranger.url }), /certificate signed by unknown authority/)
})
