/** One check of a probe that is really made: an HTTP request, a connection, a call of a gRPC health service or a command. */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import type { HTTPGetAction, Probe } from '../../kinds/rules/pod/containers/probes.ts'
import { messageOf } from '../../lib/error-message.ts'
import { goQuote } from '../../lib/go-text.ts'
import type { Destination, ReportedDestination } from '../../transport/destination.ts'
import { type Method, openConnection } from '../../transport/grpc/connection.ts'
import { RpcError } from '../../transport/grpc/status.ts'
import { readFields, Writer } from '../../transport/grpc/wire.ts'
import type { CommandOutcome } from '../process/run-command.ts'

/** Undefined when the check passes, otherwise why it does not. */
export type Checked = string | undefined

export type CheckParts = {
  readonly podIP: string
  /** Decides where this server may connect. */
  readonly reported: ReportedDestination
  /** Runs a command in the container; undefined where there is no process. */
  readonly run?: ((words: readonly string[], timeoutMs: number) => Promise<CommandOutcome>) | undefined
  readonly version: string
}

type Handler = Pick<Probe, 'exec' | 'httpGet' | 'tcpSocket' | 'grpc'>

/** Whether a check connects somewhere. */
export const connects = ({ httpGet, tcpSocket, grpc }: Handler): boolean => (httpGet ?? tcpSocket ?? grpc) !== undefined

/** Never rejects. */
export async function check(
  probe: Handler,
  container: Container,
  { timeoutMs, ...parts }: CheckParts & { readonly timeoutMs: number },
): Promise<Checked> {
  try {
    if (probe.httpGet) return await checkHttp(probe.httpGet, container, { ...parts, timeoutMs })
    if (probe.tcpSocket) {
      const { host, port } = probe.tcpSocket
      return await checkTcp(targetOf(host, port, { container, parts }), timeoutMs)
    }
    if (probe.grpc) return await checkGrpc(probe.grpc, targetOf('', probe.grpc.port, { container, parts }), timeoutMs)
    if (!probe.exec || !parts.run) return undefined
    const words = probe.exec.command ?? []
    const { exitCode, output, isLate } = await parts.run(words, timeoutMs)
    if (isLate) return `command timed out: ${goQuote(words.join(' '))} timed out after ${seconds(timeoutMs)}`
    return exitCode === 0 ? undefined : output
  } catch (error) {
    return messageOf(error)
  }
}

const seconds = (ms: number): string => `${ms / 1000}s`

type Target = { readonly shown: string; readonly to: Destination }

/** The number of a port of the container. Throws for a name that it does not have. */
export function portOf(port: number | string, { ports }: Container): number {
  const named = ports?.find(({ name }) => name !== undefined && name === String(port))?.containerPort
  const number = named ?? Number(port)
  if (!Number.isInteger(number) || number <= 0 || number > 0xffff) throw new Error(`couldn't find port: ${goQuote(String(port))}`)
  return number
}

type From = { readonly container: Container; readonly parts: CheckParts }

function targetOf(host: string | undefined, port: number | string, { container, parts }: From): Target {
  const name = host || parts.podIP
  const number = portOf(port, container)
  return { shown: `${name.includes(':') ? `[${name}]` : name}:${number}`, to: parts.reported(name, number) }
}

/** The words of Go for a connection that was not made. */
function dialError(error: unknown, shown: string): string {
  const { code } = error as NodeJS.ErrnoException
  const reason =
    code === 'ECONNREFUSED' ? 'connect: connection refused' : code === 'ECONNRESET' ? 'read: connection reset by peer' : messageOf(error)
  return `dial tcp ${shown}: ${reason}`
}

function checkTcp({ shown, to }: Target, timeoutMs: number): Promise<Checked> {
  return new Promise(resolve => {
    const socket = connect({ host: to.host, port: to.port, ...(to.lookup && { lookup: to.lookup }) })
    const done = (outcome: Checked) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(outcome)
    }
    const timer = setTimeout(() => done(`dial tcp ${shown}: i/o timeout`), timeoutMs)
    socket.once('connect', () => done(undefined)).once('error', error => done(dialError(error, shown)))
  })
}

type HttpParts = CheckParts & { readonly timeoutMs: number }

const MAX_REDIRECTS = 10

async function checkHttp(action: HTTPGetAction, container: Container, parts: HttpParts): Promise<Checked> {
  const { shown, to } = targetOf(action.host, action.port, { container, parts })
  const scheme = (action.scheme ?? 'HTTP').toLowerCase()
  let url = new URL(action.path ?? '/', `${scheme}://${shown}`)
  for (let redirects = 0; ; redirects++) {
    let answer: Answer
    try {
      answer = await ask(url, { action, to, parts })
    } catch (error) {
      const late = error instanceof Late ? LATE : undefined
      return `Get ${goQuote(url.href)}: ${late ?? dialError(error, shown)}`
    }
    const { code, location } = answer
    if (code < 300 || code >= 400) return code >= 200 && code < 400 ? undefined : `HTTP probe failed with statuscode: ${code}`
    if (location === undefined) return undefined
    const next = new URL(location, url)
    // As a kubelet: a redirect to another host is a success, and is not followed.
    if (next.hostname !== url.hostname) return undefined
    if (redirects >= MAX_REDIRECTS - 1) return `Get ${goQuote(next.href)}: stopped after ${MAX_REDIRECTS} redirects`
    url = next
  }
}

class Late extends Error {}
const LATE = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'

type Answer = { readonly code: number; readonly location: string | undefined }
type ProbeCall = { readonly action: HTTPGetAction; readonly to: Destination; readonly parts: HttpParts }

function ask(url: URL, { action, to, parts }: ProbeCall): Promise<Answer> {
  const given = new Map((action.httpHeaders ?? []).map(({ name, value }) => [name.toLowerCase(), value]))
  const headers = {
    'user-agent': given.get('user-agent') ?? `kube-probe/${parts.version}`,
    accept: given.get('accept') ?? '*/*',
    ...Object.fromEntries(given),
  }
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  const destination = port === to.port || url.port === '' ? to : parts.reported(action.host || parts.podIP, port)
  return action.protocol === 'HTTP2'
    ? askHttp2(url, { headers, to: destination, parts })
    : askHttp1(url, { headers, to: destination, parts })
}

type Sending = { readonly headers: Readonly<Record<string, string>>; readonly to: Destination; readonly parts: HttpParts }

function askHttp1(url: URL, { headers, to, parts }: Sending): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const make = url.protocol === 'https:' ? httpsRequest : httpRequest
    const { host = url.host, ...others } = headers
    const request = make({
      host: to.host,
      port: to.port,
      path: `${url.pathname}${url.search}`,
      headers: { host, ...others, connection: 'close' },
      agent: false,
      rejectUnauthorized: false,
      ...(to.lookup && { lookup: to.lookup }),
    })
    const timer = setTimeout(() => request.destroy(new Late()), parts.timeoutMs)
    request.once('error', error => {
      clearTimeout(timer)
      reject(error)
    })
    request.once('response', (response: IncomingMessage) => {
      clearTimeout(timer)
      resolve({ code: response.statusCode ?? 0, location: response.headers.location })
      // The body does not matter, and may have no end.
      response.on('error', () => {})
      request.destroy()
    })
    request.end()
  })
}

function askHttp2(url: URL, { headers, to, parts }: Sending): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const authority = `${url.protocol}//${to.host.includes(':') ? `[${to.host}]` : to.host}:${to.port}`
    const session: ClientHttp2Session = connectHttp2(authority, { rejectUnauthorized: false })
    const done = (act: () => void) => {
      clearTimeout(timer)
      session.destroy()
      act()
    }
    const timer = setTimeout(() => done(() => reject(new Late())), parts.timeoutMs)
    session.once('error', error => done(() => reject(error)))
    const { host = url.host, ...others } = headers
    const stream = session.request({ ':path': `${url.pathname}${url.search}`, ':authority': host, ...others })
    stream.once('error', error => done(() => reject(error)))
    stream.once('response', answer => done(() => resolve({ code: Number(answer[':status']), location: answer.location })))
    stream.end()
  })
}

const HEALTH: Method<string, number> = {
  path: '/grpc.health.v1.Health/Check',
  write(service) {
    const message = new Writer({ reserve: 5 })
    if (service !== '') message.text(1, service)
    return message
  },
  read(message) {
    let status = 0
    readFields(message, ({ field, number }) => {
      if (field === 1) status = number
    })
    return status
  },
}
const SERVING = 1
const UNIMPLEMENTED = 12
const HEALTH_STATUS = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN']

async function checkGrpc({ service = '', mode }: NonNullable<Probe['grpc']>, { shown, to }: Target, timeoutMs: number): Promise<Checked> {
  const ending = AbortSignal.timeout(timeoutMs)
  const host = to.host.includes(':') ? `[${to.host}]` : to.host
  const tooLate = `timeout: failed to connect service ${goQuote(shown)} within ${seconds(timeoutMs)}: context deadline exceeded`
  try {
    const connection = await openConnection(`${mode === 'TLS' ? 'https' : 'http'}://${host}:${to.port}`, {
      peer: { name: 'the health service', metadata: [['user-agent', 'kube-probe']] },
      tls: { isUnverified: true },
      signal: ending,
    })
    try {
      const status = await connection.call(HEALTH, service, { deadlineMs: timeoutMs })
      return status === SERVING ? undefined : `service unhealthy (responded with ${goQuote(HEALTH_STATUS[status] ?? String(status))})`
    } finally {
      connection.destroy()
    }
  } catch (error) {
    if (!(error instanceof RpcError)) return tooLate
    if (error.code === UNIMPLEMENTED)
      return `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${error.message}`
    return `error: health rpc probe failed: rpc error: code = ${error.code} desc = ${error.message}`
  }
}
