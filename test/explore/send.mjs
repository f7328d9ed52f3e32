// Requests of a program of its own: METHOD PATH [BODY] … sends them one after the other and prints what comes back.
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { fileURLToPath } from 'node:url'

const kubeconfig = readFileSync(process.env.KUBECONFIG, 'utf8')
const decoded = field => Buffer.from(new RegExp(`${field}: (\\S+)`).exec(kubeconfig)[1], 'base64')
const agent = new Agent({
  keepAlive: true,
  ca: decoded('certificate-authority-data'),
  cert: decoded('client-certificate-data'),
  key: decoded('client-key-data'),
})

/** Sends a request as the user of the kubeconfig in the environment. */
export function send(method, path, body, type = 'application/json') {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const headers = {
      'user-agent': 'claims/1.0',
      ...(text !== undefined && { 'content-type': type, 'content-length': Buffer.byteLength(text) }),
    }
    const sent = request(new URL(path, process.env.KEELSON_URL), { method, agent, headers }, answer => {
      let received = ''
      answer.setEncoding('utf8').on('data', part => (received += part))
      answer.on('end', () => resolve({ status: answer.statusCode, body: received }))
    })
    sent.on('error', reject)
    sent.end(text)
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const line of process.argv.slice(2)) {
    const [, method, path, body] = /^(\w+) (\S+) ?(.*)$/.exec(line)
    const patch = method === 'PATCH' ? ['application/merge-patch+json'] : []
    const answer = await send(method, path, body === '' ? undefined : JSON.parse(body), ...patch)
    console.log(answer.status, answer.body.trim())
    if (answer.status >= 400) process.exitCode = 1
  }
