/**
 * Traces requests as kube-apiserver does: a span for each request that is sampled, below it those of its steps. Clients with certain groups
 * may continue a trace of theirs, and so decide which spans are recorded; those of all others are linked to.
 */
import { type MaybePromise, whenDone } from '../../lib/maybe-promise.ts'
import { RequestTrace, type Span, type SpanAttributes } from '../../lib/request-trace.ts'
import { randomId, readTraceContext, type TraceContext } from '../../lib/trace-context.ts'
import type { Call } from '../../registry/api.ts'
import { StatusError } from '../../schema/status-error.ts'
import type { Exchange, Handler } from '../exchange.ts'
import { header, type Outlet, type Response } from '../message.ts'
import type { Exporter } from './exporter.ts'

export type TracerParts = {
  readonly exporter: Pick<Exporter, 'add' | 'families' | 'close'>
  /** The share of requests that are recorded, from 0 to 1, where no trusted client decides. */
  readonly ratio: number
}

const TRUSTED_GROUPS = new Set(['system:masters', 'system:monitoring'])
const MAX_BAGGAGE_LENGTH = 8192

export class Tracer {
  readonly #parts: TracerParts
  /** Trace ids whose last 63 bits are below this are recorded, so that all servers with the same ratio choose the same. */
  readonly #bound: bigint

  constructor(parts: TracerParts) {
    this.#parts = parts
    this.#bound = parts.ratio >= 1 ? 1n << 63n : BigInt(Math.floor(parts.ratio * 2 ** 63))
  }

  families() {
    return this.#parts.exporter.families()
  }

  close(): Promise<void> {
    return this.#parts.exporter.close()
  }

  /** The trace of a request, and the trace that its client named. */
  #begin({ request, user, stopwatch }: Exchange, receivedAt: number): Traced {
    const sent = readTraceContext(header(request.headers, 'traceparent'), header(request.headers, 'tracestate'))
    const isTrusted = user?.groups.some(group => TRUSTED_GROUPS.has(group)) ?? false
    const baggage = header(request.headers, 'baggage')
    const options = {
      baggage: baggage !== undefined && baggage.length <= MAX_BAGGAGE_LENGTH ? baggage : undefined,
      now: () => receivedAt + stopwatch.total,
    }
    if (sent && isTrusted) return { trace: new RequestTrace({ ...sent, spanId: randomId(8) }, options), parentId: sent.spanId }
    const traceId = randomId(16)
    const isSampled = BigInt(`0x${traceId.slice(16)}`) >> 1n < this.#bound
    return { trace: new RequestTrace({ traceId, spanId: randomId(8), isSampled }, options), link: sent }
  }

  /** Traces the requests of authenticated clients. */
  around(next: Handler, now: () => Date): Handler {
    return exchange => {
      const { stopwatch } = exchange
      const receivedAt = now().getTime() - stopwatch.total
      const traced = this.#begin(exchange, receivedAt)
      stopwatch.trace = traced.trace
      if (!traced.trace.context.isSampled) return next(exchange)
      const end = (status: number) => this.#parts.exporter.add(spansOf(exchange, { ...traced, receivedAt, status }))
      const failed = (error: unknown): never => {
        end(error instanceof StatusError ? error.code : 500)
        throw error
      }
      let response: MaybePromise<Response>
      try {
        response = next(exchange)
      } catch (error) {
        return failed(error)
      }
      if (response instanceof Promise) response = response.catch(failed)
      return whenDone(response, answer => endWith(answer, end))
    }
  }
}

type Traced = { readonly trace: RequestTrace; readonly parentId?: string; readonly link?: TraceContext | undefined }

/** The span of a streamed response ends with the stream. */
function endWith(response: Response, end: (status: number) => void): Response {
  const { body, status } = response
  if (body instanceof Uint8Array || body.type === 'pieces') {
    end(status)
    return response
  }
  const start: typeof body.start = (outlet: Outlet, observer) => {
    outlet.once('close', () => end(status))
    body.start(outlet, observer)
  }
  return { ...response, body: { ...body, start } }
}

type Ended = Traced & { readonly receivedAt: number; readonly status: number }

/** The spans of a request that has ended. */
function spansOf(exchange: Exchange, { trace, parentId, link, receivedAt, status }: Ended): Span[] {
  const { context, handlingId } = trace
  const { request, route, stopwatch, id } = exchange
  const end = receivedAt + stopwatch.total
  const root: Span = {
    context,
    parentId,
    link,
    name: nameOf(exchange),
    kind: 'server',
    start: receivedAt,
    end,
    attributes: {
      'http.request.method': request.method,
      'url.scheme': 'https',
      'url.path': route.attributes.path,
      'http.target': request.target,
      'audit-id': id,
      'client.address': request.peer.address,
      'network.protocol.version': request.protocol.slice('HTTP/'.length),
      'user_agent.original': header(request.headers, 'user-agent'),
      'http.response.status_code': status,
    },
    ...(status >= 500 && { error: '' }),
  }
  const phases = phasesOf(exchange, receivedAt)
  const handled = phases.filter(({ isHandling }) => isHandling)
  const spans = [root, ...trace.calls]
  const own = (name: string, times: { start: number; end: number }, parent: string, attributes: SpanAttributes = {}) =>
    spans.push({ ...times, context: { ...context, spanId: randomId(8) }, parentId: parent, name, kind: 'internal', attributes })
  for (const { name, isHandling, ...times } of phases) {
    if (name === 'handle') continue
    own(name, times, isHandling ? handlingId : context.spanId)
  }
  if (route.type === 'call' && handled.length > 0) {
    const times = { start: handled[0]!.start, end: handled.at(-1)!.end }
    const attributes = callAttributes(route.call, exchange)
    spans.push({
      ...times,
      context: { ...context, spanId: handlingId },
      parentId: context.spanId,
      name: HANDLERS[route.call.verb],
      kind: 'internal',
      attributes,
    })
    if (end > times.end) own('SerializeObject', { start: times.end, end }, context.spanId)
  }
  return spans
}

/** kube-apiserver's names of the filters that a request passes. Ours waits before them until caches are as new as the store. */
const FILTERS: Readonly<Record<string, string>> = {
  fresh: 'freshness',
  authn: 'authentication',
  authz: 'authorization',
  queue: 'priorityandfairness',
}

type Phase = { readonly name: string; readonly isHandling: boolean; readonly start: number; readonly end: number }

function phasesOf({ stopwatch }: Exchange, receivedAt: number): Phase[] {
  const phases: Phase[] = []
  let start = receivedAt
  for (const { phase, at } of stopwatch.laps()) {
    const end = receivedAt + at
    phases.push({ name: FILTERS[phase] ?? phase, isHandling: !Object.hasOwn(FILTERS, phase), start, end })
    start = end
  }
  return phases
}

const HANDLERS: Readonly<Record<Call['verb'], string>> = {
  get: 'Get',
  list: 'List',
  watch: 'Watch',
  create: 'Create',
  update: 'Update',
  patch: 'Patch',
  delete: 'Delete',
  deletecollection: 'Delete',
}

const callAttributes = ({ verb, resource, namespace, name, subresource }: Call, { id, request }: Exchange): SpanAttributes => ({
  'audit-id': id,
  verb: verb.toUpperCase(),
  'api-group': resource.group,
  'api-version': resource.version,
  resource: resource.plural,
  subresource,
  namespace,
  name,
  protocol: request.protocol,
  url: request.target,
})

/** The method, and the path with the names of objects left out. */
function nameOf({ request, route }: Exchange): string {
  const { resource } = route.attributes
  if (!resource) return request.method
  const { group, version, namespace, plural, name, subresource } = resource
  const path = [
    group === '' ? '/api' : `/apis/${group}`,
    version,
    ...(namespace === '' ? [] : ['namespaces', '{:namespace}']),
    plural,
    ...(name === '' ? [] : ['{:name}']),
    ...(subresource === '' ? [] : [subresource]),
  ]
  return `${request.method} ${path.join('/')}`
}
