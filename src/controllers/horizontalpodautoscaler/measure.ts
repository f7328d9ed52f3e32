/** Reads the metrics of an autoscaler from the metrics APIs, on this server or an aggregated one. */
import type { ApiAccess } from '../../client/api-access.ts'
import type { Identity } from '../../client/identity.ts'
import type { MetricSpec } from '../../kinds/autoscaling/metric-shapes.ts'
import { labelTermsOf } from '../../kinds/rules/meta.ts'
import { DurationError, parseDuration } from '../../lib/duration.ts'
import { isObject, type Json, type JsonObject } from '../../lib/json-value.ts'
import { milliValue, parseQuantity, QuantityError } from '../../lib/quantity.ts'
import { type LabelTerms, printLabelSelector } from '../../schema/selectors.ts'
import type { PodMetric, PodMetrics } from './replicas.ts'

/** The current value of one metric of the spec. */
export type Measured =
  | { readonly type: 'pods'; readonly metrics: PodMetrics }
  | { readonly type: 'values'; readonly values: readonly bigint[] }
  /** Why there is nothing, for people. */
  | { readonly type: 'failed'; readonly message: string }

export type MeasureParts = {
  readonly api: ApiAccess
  readonly identity: Identity
  readonly groupDomain: string
  readonly signal: AbortSignal
}

type MetricScope = { readonly namespace: string /** The pods that are scaled. */; readonly pods: LabelTerms }

export async function measure(spec: MetricSpec, scope: MetricScope, parts: MeasureParts): Promise<Measured> {
  try {
    return await measured(spec, scope, parts)
  } catch (error) {
    return { type: 'failed', message: (error as Error).message }
  }
}

async function measured(spec: MetricSpec, scope: MetricScope, parts: MeasureParts): Promise<Measured> {
  switch (spec.type) {
    case 'Resource':
      return { type: 'pods', metrics: await resourceMetrics(spec.resource!.name, '', scope, parts) }
    case 'ContainerResource':
      return { type: 'pods', metrics: await resourceMetrics(spec.containerResource!.name, spec.containerResource!.container, scope, parts) }
    case 'Pods':
      return { type: 'pods', metrics: await podsMetrics(spec.pods!.metric, scope, parts) }
    case 'Object':
      return { type: 'values', values: [await objectMetric(spec.object!, scope, parts)] }
    case 'External':
      return { type: 'values', values: await externalMetrics(spec.external!.metric, scope, parts) }
    default:
      throw new Error(`unknown metric source type ${JSON.stringify(spec.type)}`)
  }
}

/** The usage of a resource by pods, or by one container of each. */
async function resourceMetrics(
  resource: string,
  container: string,
  { namespace, pods }: MetricScope,
  parts: MeasureParts,
): Promise<PodMetrics> {
  const items = await itemsOf(parts, 'resource', `/apis/metrics.${parts.groupDomain}/v1beta1/namespaces/${namespace}/pods`, {
    labelSelector: printLabelSelector(pods),
  })
  if (items.length === 0) throw new Error('no metrics returned from resource metrics API')
  const found = new Map<string, PodMetric>()
  for (const item of items) {
    const value = usageOf(item, resource, container)
    if (value !== undefined) found.set(nameIn(item, 'metadata'), { value, timestampMs: timeOf(item), windowMs: windowOf(item) })
  }
  return found
}

/** Undefined when a container does not tell. */
function usageOf(item: JsonObject, resource: string, container: string): bigint | undefined {
  const containers = listAt(item, 'containers').filter(each => container === '' || each['name'] === container)
  const usages = containers.map(({ usage }) => (isObject(usage) && Object.hasOwn(usage, resource) ? amount(usage[resource]) : undefined))
  if (usages.length === 0 || usages.includes(undefined)) return undefined
  return usages.reduce<bigint>((sum, value) => sum + value!, 0n)
}

type Metric = { readonly name: string; readonly selector?: Parameters<typeof labelTermsOf>[0] }

async function podsMetrics({ name, selector }: Metric, { namespace, pods }: MetricScope, parts: MeasureParts): Promise<PodMetrics> {
  const path = `${customPath(parts)}/namespaces/${namespace}/pods/*/${encodeURIComponent(name)}`
  const items = await itemsOf(parts, 'custom', path, { labelSelector: printLabelSelector(pods), ...metricQuery(selector) })
  if (items.length === 0) throw new Error('no metrics returned from custom metrics API')
  return new Map(
    items.map(item => [
      nameIn(item, 'describedObject'),
      { value: amount(item['value']), timestampMs: timeOf(item), windowMs: Number(item['windowSeconds'] ?? DEFAULT_WINDOW_SECONDS) * 1000 },
    ]),
  )
}

type ObjectSource = NonNullable<MetricSpec['object']>

async function objectMetric({ describedObject, metric }: ObjectSource, { namespace }: MetricScope, parts: MeasureParts): Promise<bigint> {
  const { apiVersion = '', kind, name } = describedObject
  const group = apiVersion.includes('/') ? apiVersion.split('/')[0]! : ''
  const prefix = customPath(parts)
  const metricName = encodeURIComponent(metric.name)
  const path =
    kind === 'Namespace' && group === ''
      ? `${prefix}/namespaces/${namespace}/metrics/${metricName}`
      : `${prefix}/namespaces/${namespace}/${qualified(parts, group, kind)}/${encodeURIComponent(name)}/${metricName}`
  const items = await itemsOf(parts, 'custom', path, metricQuery(metric.selector))
  if (items.length !== 1)
    throw new Error(
      `unable to fetch metrics from custom metrics API: the custom metrics API server returned ${items.length} results when we asked for exactly one`,
    )
  return amount(items[0]!['value'])
}

/** `deployments.apps`, or `services` for the core group. */
function qualified({ api }: MeasureParts, group: string, kind: string): string {
  const [found] = api.resourcesOfKind(group, kind)
  if (found) return group === '' ? found.plural : `${found.plural}.${group}`
  const shown = group === '' ? kind : `${kind}.${group}`
  throw new Error(
    `unable to fetch metrics from custom metrics API: unable to map kind ${shown} to resource: no matches for kind ${JSON.stringify(kind)} in group ${JSON.stringify(group)}`,
  )
}

async function externalMetrics({ name, selector }: Metric, { namespace }: MetricScope, parts: MeasureParts): Promise<bigint[]> {
  const path = `/apis/external.metrics.${parts.groupDomain}/v1beta1/namespaces/${namespace}/${encodeURIComponent(name)}`
  const items = await itemsOf(parts, 'external', path, { labelSelector: printLabelSelector(labelTermsOf(selector) ?? []) })
  if (items.length === 0) throw new Error('no metrics returned from external metrics API')
  return items.map(({ value }) => amount(value))
}

const CUSTOM_VERSIONS = ['v1beta2', 'v1beta1']

/** The path of the preferred version that is known. */
function customPath({ api, groupDomain }: MeasureParts): string {
  const group = `custom.metrics.${groupDomain}`
  const versions = api.versionsOf(group)
  const fault = 'unable to fetch metrics from custom metrics API: '
  if (versions.length === 0) throw new Error(`${fault}no custom metrics API (${group}) registered`)
  const version = versions.find(each => CUSTOM_VERSIONS.includes(each))
  if (version === undefined) throw new Error(`${fault}no known available metric versions found`)
  return `/apis/${group}/${version}`
}

const metricQuery = (selector: Metric['selector']): Record<string, string> => {
  const metricLabelSelector = printLabelSelector(labelTermsOf(selector) ?? [])
  return metricLabelSelector === '' ? {} : { metricLabelSelector }
}

async function itemsOf(
  { api, identity, signal }: MeasureParts,
  kind: string,
  path: string,
  query: Record<string, string>,
): Promise<JsonObject[]> {
  const given = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ''))
  try {
    return listAt(await api.send(identity, { method: 'GET', path, query: given }, signal), 'items')
  } catch (error) {
    throw new Error(`unable to fetch metrics from ${kind} metrics API: ${(error as Error).message}`)
  }
}

/** The window of metrics that name none, as in metrics-server. */
const DEFAULT_WINDOW_SECONDS = 60

/** In thousandths; an invalid quantity counts as zero. */
function amount(value: Json | undefined): bigint {
  try {
    return milliValue(parseQuantity(typeof value === 'string' ? value : String(value ?? '')))
  } catch (error) {
    if (error instanceof QuantityError) return 0n
    throw error
  }
}

const timeOf = ({ timestamp }: JsonObject): number => Date.parse(String(timestamp ?? '')) || 0

function windowOf({ window }: JsonObject): number {
  try {
    return Number(parseDuration(String(window ?? '0s'))) / 1e6
  } catch (error) {
    if (error instanceof DurationError) return 0
    throw error
  }
}

const listAt = (value: Json | undefined, name: string): JsonObject[] => {
  const found = isObject(value) ? value[name] : undefined
  return Array.isArray(found) ? found.filter(isObject) : []
}
const nameIn = (item: JsonObject, at: string): string => {
  const found = item[at]
  return isObject(found) && typeof found['name'] === 'string' ? found['name'] : ''
}
