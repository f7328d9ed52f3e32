/** Request metrics under kube-apiserver's stable names: counted in plain numbers, formatted when scraped. */

import { addedUp } from '../../lib/combined-families.ts'
import { exposition, type Family, Histogram, type Labels, type Observations, openMetricsExposition } from '../../lib/exposition.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Call } from '../../registry/api.ts'
import type { Resource } from '../../schema/resource.ts'
import { parseAccept } from '../accept.ts'
import type { EndpointRule } from '../endpoints.ts'
import { bytesResponse, type CountedResource, type EventObserver, header } from '../message.ts'
import type { Route } from '../route.ts'
import { protobufExposition } from './exposition-protobuf.ts'
import { processMetrics } from './process-metrics.ts'

/** Seconds. */
const DURATIONS = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60]
const SLI_DURATIONS = DURATIONS.filter(bound => bound >= 0.05)
/** Bytes. */
const SIZES = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]
const EVENT_SIZES = Array.from({ length: 8 }, (_, i) => 1024 * 2 ** i)

/** The number of objects of each resource. */
export type ObjectCounts = () => Iterable<readonly [resource: Resource, objects: number]>

/** Everything counted for one combination of labels. */
class Series {
  readonly labels: Labels
  readonly dryRun: string
  readonly codes = new Map<number, number>()
  readonly durations = new Histogram(DURATIONS)
  /** Requests that waited for others: with their waits, and without. Most do not wait, and are not counted twice. */
  readonly waited = { whole: new Histogram(DURATIONS), own: new Histogram(DURATIONS) }
  readonly sizes = new Histogram(SIZES)
  /** Sizes of the events of watches. */
  readonly events = new Histogram(EVENT_SIZES)
  /** Requests that the server ended to protect itself, by code. */
  readonly terminations = new Map<number, number>()
  /** The warning of a deprecated resource. */
  readonly deprecation: string | undefined
  readonly isWatch: boolean
  readonly kind: 'readOnly' | 'mutating'
  open = 0

  constructor(labels: Labels, dryRun: string, deprecation?: string) {
    this.labels = labels
    this.dryRun = dryRun
    this.deprecation = deprecation
    this.isWatch = labels['verb'] === 'WATCH'
    this.kind = READS.has(labels['verb'] ?? '') ? 'readOnly' : 'mutating'
  }
}

type Inflight = { mutating: number; readOnly: number }

/** The result of authenticating a request. */
export type AuthenticationResult = 'success' | 'failure' | 'error'
/** Well-known users of Kubernetes' clusters; others share a label, so that users cannot create series. */
const KNOWN_USERS = ['admin', 'client', 'kube_proxy', 'kubelet', 'system:serviceaccount:kube-system:default']
const EMAIL = 'email_id'
const OTHER = 'other'

/** Records one request. Watches are long-running and counted separately. */
class Observed implements EventObserver {
  #series: Series
  readonly #inflight: Inflight

  constructor(series: Series, inflight: Inflight) {
    this.#series = series
    this.#inflight = inflight
    if (!series.isWatch) inflight[series.kind]++
  }

  /** Its response has told which resource it is about. */
  countAs(series: Series): void {
    this.#inflight[this.#series.kind]--
    this.#inflight[series.kind]++
    this.#series = series
  }

  /** The response has been sent; `elsewhere` is the time it waited for others. */
  answered(status: number, bytes: number, { seconds, elsewhere }: { readonly seconds: number; readonly elsewhere: number }): void {
    const { codes, durations, waited, sizes, isWatch, kind } = this.#series
    codes.set(status, (codes.get(status) ?? 0) + 1)
    if (isWatch) return
    this.#inflight[kind]--
    durations.observe(seconds)
    if (elsewhere > 0) {
      waited.whole.observe(seconds)
      waited.own.observe(seconds - elsewhere)
    }
    if (kind === 'readOnly') sizes.observe(bytes)
  }

  /** The server has ended the request to protect itself. */
  terminated(status: number): void {
    const { terminations } = this.#series
    terminations.set(status, (terminations.get(status) ?? 0) + 1)
  }

  /** A watch event was sent. */
  sent(bytes: number): void {
    this.#series.events.observe(bytes)
  }

  /** A watch started, and ended. */
  opened(): void {
    this.#series.open++
  }

  closed(): void {
    this.#series.open--
  }
}

export type MetricsOptions = {
  readonly paths: Iterable<string>
  readonly objects: ObjectCounts
  /** Requests that have been received but not started. */
  readonly waiting?: () => Readonly<Inflight>
  /** Metrics of other parts of the server. */
  readonly components?: () => Iterable<Family>
}

export class Metrics {
  // Label values come from the catalog, never from clients, so their number is bounded.
  readonly #series = new Map<string, Map<string, Series>>()
  /** Series by resource: a custom kind becomes another resource after each change of its definition, and continues under its name. */
  readonly #byResource = new WeakMap<Resource, Map<string, Series>>()
  readonly #inflight: Inflight = { mutating: 0, readOnly: 0 }
  readonly #attempts: Record<AuthenticationResult, number> = { success: 0, failure: 0, error: 0 }
  readonly #users = new Map([...KNOWN_USERS, EMAIL, OTHER].map(username => [username, { username, count: 0 }]))
  readonly #paths: ReadonlySet<string>
  readonly #objects: ObjectCounts
  readonly #waiting: () => Readonly<Inflight>
  readonly #components: () => Iterable<Family>

  constructor(options: MetricsOptions) {
    this.#paths = new Set(options.paths)
    this.#objects = options.objects
    this.#waiting = options.waiting ?? (() => ({ mutating: 0, readOnly: 0 }))
    this.#components = options.components ?? (() => [])
  }

  begin(route: Route): Observed {
    return new Observed(route.type === 'call' ? this.#ofCall(route.call) : this.#ofPath(route), this.#inflight)
  }

  /** Counts a request of a path for a resource that is no resource of the API, such as `statusz`. */
  count(observed: Observed, { resource, group = '', version = '', isDeprecated = false }: CountedResource): void {
    const keyed = this.#owned(`${group}/${version}/${resource}`)
    let series = keyed.get('')
    if (series === undefined) {
      const labels = { verb: 'GET', group, version, resource, subresource: '', scope: '', component: 'apiserver' }
      keyed.set('', (series = new Series(labels, '', isDeprecated ? '' : undefined)))
    }
    observed.countAs(series)
  }

  /** A request was authenticated; the user is known if that succeeded. */
  authenticated(result: AuthenticationResult, user?: string): void {
    this.#attempts[result]++
    if (user === undefined) return
    const known = this.#users.get(user) ?? this.#users.get(user.includes('@') ? EMAIL : OTHER)!
    known.count++
  }

  /** All metrics in text format. */
  scrape(): string {
    return exposition(this.families())
  }

  families(): Family[] {
    return [
      ...requestFamilies([...this.#series.values()].flatMap(bySub => [...bySub.values()])),
      ...this.#inflightFamilies(),
      ...objectFamilies([...this.#objects()]),
      ...this.#userFamilies(),
      ...this.#components(),
      ...processMetrics(),
    ]
  }

  #inflightFamilies(): Family[] {
    const waiting = this.#waiting()
    const kinds = ['mutating', 'readOnly'] as const
    return [
      {
        name: 'apiserver_current_inflight_requests',
        type: 'gauge',
        help: 'Requests being answered now.',
        samples: kinds.map(kind => [{ request_kind: kind }, Math.max(0, this.#inflight[kind] - waiting[kind])] as const),
      },
      {
        name: 'apiserver_current_inqueue_requests',
        type: 'gauge',
        help: 'Requests that wait in a queue.',
        samples: kinds.map(kind => [{ request_kind: kind }, waiting[kind]] as const),
      },
    ]
  }

  #userFamilies(): Family[] {
    return [
      {
        name: 'authentication_attempts',
        type: 'counter',
        help: 'Requests whose credentials were looked at, by what came of it.',
        samples: Object.entries(this.#attempts).flatMap(([result, n]) => (n > 0 ? [[{ result }, n] as const] : [])),
      },
      {
        name: 'authenticated_user_requests',
        type: 'counter',
        help: 'Requests of known users.',
        samples: [...this.#users.values()].flatMap(({ username, count }) => (count > 0 ? [[{ username }, count] as const] : [])),
      },
    ]
  }

  #ofCall({ verb, resource, namespace, name, subresource, query }: Call): Series {
    const scope = name !== '' || verb === 'create' ? 'resource' : namespace !== '' ? 'namespace' : 'cluster'
    const dryRun = query.has('dryRun') ? 'All' : ''
    const keyed = this.#ofResource(resource)
    const key = subresource === '' && dryRun === '' ? PLAIN[scope][verb] : `${verb} ${scope} ${subresource} ${dryRun}`
    const known = keyed.get(key)
    if (known !== undefined) return known
    const { group, version, plural } = resource
    const labels = { verb: VERBS[verb], group, version, resource: plural, subresource, scope, component: 'apiserver' }
    const series = new Series(labels, dryRun, resource.def.deprecated)
    keyed.set(key, series)
    return series
  }

  /** Paths that are not served share one series, so that clients cannot create more. */
  #ofPath({ attributes, type }: Route): Series {
    const path = type === 'path' && this.#paths.has(attributes.path) ? attributes.path : 'other'
    const verb = METHODS.get(attributes.verb) ?? 'OTHER'
    const keyed = this.#owned(path)
    let series = keyed.get(verb)
    if (series === undefined) {
      const labels = { verb, group: '', version: '', resource: '', subresource: path, scope: '', component: 'apiserver' }
      keyed.set(verb, (series = new Series(labels, '')))
    }
    return series
  }

  #ofResource(resource: Resource): Map<string, Series> {
    let keyed = this.#byResource.get(resource)
    if (keyed === undefined) {
      keyed = this.#owned(`${resource.group}/${resource.version}/${resource.plural}`)
      this.#byResource.set(resource, keyed)
    }
    return keyed
  }

  #owned(owner: string): Map<string, Series> {
    let keyed = this.#series.get(owner)
    if (keyed === undefined) this.#series.set(owner, (keyed = new Map()))
    return keyed
  }
}

/** Metrics of watch events, by resource. */
function watchFamilies(all: readonly Series[]): Family[] {
  const samples = merged(all, ({ labels: { group = '', version = '', resource = '' }, events }) => [{ group, version, resource }, events])
  return [
    {
      name: 'apiserver_watch_events_total',
      type: 'counter',
      help: 'Events sent in watches.',
      samples: samples.map(([labels, { count }]) => [labels, count] as const),
    },
    { name: 'apiserver_watch_events_sizes', type: 'histogram', help: 'Bytes of events sent in watches.', samples },
  ]
}

/** The release that removes the resource is named in its warning. */
function deprecatedLabels({ labels, deprecation = '' }: Series): Labels {
  const { group = '', version = '', resource = '', subresource = '' } = labels
  return { group, version, resource, subresource, removed_release: /unavailable in v(\d+\.\d+)\+/.exec(deprecation)?.[1] ?? '' }
}

/** The histograms of several series, one for each combination of labels with observations. */
function merged(
  all: readonly Series[],
  histogramOf: (series: Series) => readonly [Labels, Observations],
): (readonly [Labels, Observations])[] {
  const byLabels = new Map<string, readonly [Labels, Observations]>()
  for (const [labels, histogram] of all.map(histogramOf)) {
    if (histogram.count === 0) continue
    const key = JSON.stringify(labels)
    const known = byLabels.get(key)
    byLabels.set(key, [labels, known ? addedUp(known[1], histogram) : histogram])
  }
  return [...byLabels.values()]
}

/** The durations of requests without their waits for others. */
function withoutWaits({ durations, waited: { whole, own } }: Series): Observations {
  const native = new Map(durations.native)
  for (const [histogram, sign] of [[whole, -1] as const, [own, 1] as const])
    for (const [bucket, count] of histogram.native) {
      const rest = (native.get(bucket) ?? 0) + sign * count
      if (rest === 0) native.delete(bucket)
      else native.set(bucket, rest)
    }
  const counts = durations.counts.map((count, i) => count - whole.counts[i]! + own.counts[i]!)
  // The smallest bounds are left out here, and their counts are added to the first remaining one.
  const left = DURATIONS.length - SLI_DURATIONS.length
  const kept = counts.slice(left)
  kept[0]! += counts.slice(0, left).reduce((sum, count) => sum + count, 0)
  const sum = durations.sum - whole.sum + own.sum
  return { bounds: SLI_DURATIONS, counts: kept, sum, count: durations.count, native, zeros: durations.zeros - whole.zeros + own.zeros }
}

/** The sums of several samples, one for each combination of labels. */
function summed(samples: readonly (readonly [Labels, number])[]): (readonly [Labels, number])[] {
  const byLabels = new Map<string, readonly [Labels, number]>()
  for (const [labels, value] of samples) {
    const key = JSON.stringify(labels)
    byLabels.set(key, [labels, (byLabels.get(key)?.[1] ?? 0) + value])
  }
  return [...byLabels.values()]
}

/** A metrics endpoint: text, OpenMetrics or protobuf, as the client prefers. */
export function metricsEndpoint(path: string, families: () => MaybePromise<readonly Family[]>): EndpointRule {
  return {
    path,
    answer: async request => {
      const { mediaType, write } = formatFor(header(request.headers, 'accept') ?? '')
      return bytesResponse(200, mediaType, write(await families()))
    },
  }
}

type Format = { readonly mediaType: string; readonly write: (families: readonly Family[]) => Uint8Array }
const TEXT: Format = { mediaType: 'text/plain; version=0.0.4; charset=utf-8', write: families => Buffer.from(exposition(families)) }
const OPEN_METRICS: Format = {
  mediaType: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  write: families => Buffer.from(openMetricsExposition(families)),
}
const PROTOBUF: Format = {
  mediaType: 'application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited',
  write: protobufExposition,
}

function formatFor(accept: string): Format {
  for (const { type, subtype, params } of parseAccept(accept)) {
    const isFamily = params.get('proto') === 'io.prometheus.client.MetricFamily' && params.get('encoding') === 'delimited'
    if (type === 'application' && subtype === 'vnd.google.protobuf' && isFamily) return PROTOBUF
    if (type === 'application' && subtype === 'openmetrics-text' && ['0.0.1', '1.0.0', undefined].includes(params.get('version')))
      return OPEN_METRICS
    if (type === 'text' && (subtype === 'plain' || subtype === '*')) return TEXT
  }
  return TEXT
}

const VERBS: Readonly<Record<Call['verb'], string>> = {
  create: 'POST',
  delete: 'DELETE',
  deletecollection: 'DELETECOLLECTION',
  get: 'GET',
  list: 'LIST',
  patch: 'PATCH',
  update: 'PUT',
  watch: 'WATCH',
}
/** Precomputed keys of the most common requests. */
const plainKeys = (scope: string) =>
  Object.fromEntries(Object.keys(VERBS).map(verb => [verb, `${verb} ${scope}`])) as Readonly<Record<Call['verb'], string>>
const PLAIN = { resource: plainKeys('resource'), namespace: plainKeys('namespace'), cluster: plainKeys('cluster') }
const READS = new Set(['GET', 'LIST', 'WATCH', 'HEAD', 'OPTIONS'])
/** Verbs of requests that reached no resource: methods, or the verbs their paths would resolve to. */
const METHODS = new Map(
  ['get', 'head', 'options', 'post', 'put', 'patch', 'delete'].map(m => [m, m.toUpperCase()]).concat(Object.entries(VERBS)) as [
    string,
    string,
  ][],
)

/** Requests and their answers, and watches that are open. */
function requestFamilies(all: readonly Series[]): Family[] {
  return [
    {
      name: 'apiserver_request_total',
      type: 'counter',
      help: 'Requests answered, by what was asked and the code of the answer.',
      samples: all.flatMap(s => [...s.codes].map(([code, n]) => [{ code: String(code), ...s.labels, dry_run: s.dryRun }, n] as const)),
    },
    {
      name: 'apiserver_request_duration_seconds',
      type: 'histogram',
      help: 'Time from a request to its answer.',
      samples: all.filter(s => s.durations.count > 0).map(s => [{ ...s.labels, dry_run: s.dryRun }, s.durations] as const),
    },
    {
      name: 'apiserver_request_sli_duration_seconds',
      type: 'histogram',
      help: 'Time from a request to its answer, without waits in queues and for webhooks.',
      samples: merged(all, s => [s.labels, withoutWaits(s)]),
    },
    {
      name: 'apiserver_request_terminations_total',
      type: 'counter',
      help: 'Requests that the server ended to protect itself.',
      samples: summed(all.flatMap(s => [...s.terminations].map(([code, n]) => [{ code: String(code), ...s.labels }, n] as const))),
    },
    ...watchFamilies(all),
    {
      name: 'apiserver_requested_deprecated_apis',
      type: 'gauge',
      across: 'max',
      help: 'Deprecated resources that were requested.',
      samples: summed(all.flatMap(s => (s.deprecation === undefined ? [] : [[deprecatedLabels(s), 1] as const]))).map(
        ([labels]) => [labels, 1] as const,
      ),
    },
    {
      name: 'apiserver_response_sizes',
      type: 'histogram',
      help: 'Bytes of answers to reads.',
      samples: all.filter(s => s.sizes.count > 0).map(s => [s.labels, s.sizes] as const),
    },
    {
      name: 'apiserver_longrunning_requests',
      type: 'gauge',
      help: 'Watches that are open now.',
      samples: all.filter(s => s.isWatch).map(s => [s.labels, s.open] as const),
    },
  ]
}

/** Numbers of stored objects. */
function objectFamilies(objects: readonly (readonly [Resource, number])[]): Family[] {
  return [
    {
      name: 'apiserver_storage_objects',
      type: 'gauge',
      across: 'max',
      help: 'Stored objects of each resource.',
      samples: objects.map(([r, n]) => [{ resource: r.qualified }, n] as const),
    },
    {
      name: 'apiserver_resource_objects',
      type: 'gauge',
      across: 'max',
      help: 'Stored objects of each resource, by group.',
      samples: objects.map(([r, n]) => [{ group: r.group, resource: r.plural }, n] as const),
    },
  ]
}
