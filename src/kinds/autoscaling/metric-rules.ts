/** Rules on what autoscalers measure. */
import { isValidPathSegmentName } from '../../lib/names.ts'
import { parseQuantity, quantitySign } from '../../lib/quantity.ts'
import { type FieldError, forbidden, invalid, invalidEach, type Ref, required, unsupported } from '../../schema/refs.ts'
import { validateContainerResourceName } from '../shapes/pod/resources/resource-rules.ts'
import { validateLabelText } from '../shapes/text-rules.ts'
import type { MetricIdentifier, MetricSpec, MetricTarget, ObjectReference } from './metric-shapes.ts'

/** What may be said of the API version of an object. */
export type ReferenceOptions = { readonly allowNoGroup?: boolean; readonly allowAnyVersion?: boolean }

/** Rules on a reference to an object of some kind. */
export function* validateReference(ref: ObjectReference, at: Ref<ObjectReference>, options: ReferenceOptions): Iterable<FieldError> {
  for (const field of ['kind', 'name'] as const)
    if (!ref[field]) yield required(at[field])
    else yield* invalidEach(at[field], isValidPathSegmentName(ref[field]))
  const fault = apiVersionFault(ref.apiVersion ?? '', options)
  if (fault !== undefined) yield invalid(at.apiVersion, fault)
}

/** What is wrong with the API version of a reference. */
export function apiVersionFault(apiVersion: string, { allowNoGroup, allowAnyVersion }: ReferenceOptions): string | undefined {
  if (allowAnyVersion) return undefined
  const slashes = apiVersion.split('/').length - 1
  if (slashes > 1) return `unexpected GroupVersion string: ${apiVersion}`
  const group = slashes === 1 ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
  return group === '' && !allowNoGroup ? 'apiVersion must specify API group' : undefined
}

const SOURCES = {
  Object: 'object',
  External: 'external',
  Pods: 'pods',
  Resource: 'resource',
  ContainerResource: 'containerResource',
} as const
const TYPES = Object.keys(SOURCES).sort()

/** Rules on one metric: it comes with the source that its type names, and with no other. */
export function* validateMetric(metric: MetricSpec, at: Ref<MetricSpec>, options: ReferenceOptions): Iterable<FieldError> {
  const { type } = metric
  const isKnown = Object.hasOwn(SOURCES, type)
  if (!type) yield required(at.type, 'must specify a metric source type')
  if (!isKnown) yield unsupported(at.type, ...TYPES)
  const present = Object.values(SOURCES).filter(source => metric[source] !== undefined)
  if (present.length > 0) yield* validateSource(metric, at, { source: present[0]!, options })
  if (!isKnown) yield unsupported(at.type, ...TYPES)
  const own = isKnown ? SOURCES[type as keyof typeof SOURCES] : undefined
  if (own && !metric[own]) yield required(at[own], 'must populate information for the given metric source')
  if (present.length === 1) return
  for (const source of present) if (source !== own) yield forbidden(at[source], 'must populate the given metric source only')
}

type Source = { readonly source: (typeof SOURCES)[keyof typeof SOURCES]; readonly options: ReferenceOptions }

function* validateSource(metric: MetricSpec, at: Ref<MetricSpec>, { source, options }: Source): Iterable<FieldError> {
  const { target } = metric[source]!
  const here = at[source]
  if (source === 'object') yield* validateReference(metric.object!.describedObject, at.object.describedObject, options)
  if (source === 'resource' || source === 'containerResource') yield* validateResource(metric, at, source)
  else yield* validateIdentifier(metric[source]!.metric, at[source].metric)
  yield* validateTarget(target, here.target)
  yield* validateAim(target, here.target, source)
}

function* validateResource(metric: MetricSpec, at: Ref<MetricSpec>, source: 'resource' | 'containerResource'): Iterable<FieldError> {
  const { name } = metric[source]!
  if (!name) yield required(at[source].name, 'must specify a resource name')
  if (source === 'resource') return
  if (name) yield* validateContainerResourceName(name, at.containerResource.name)
  const { container } = metric.containerResource!
  if (!container) yield required(at.containerResource.container, 'must specify a container')
  else yield* validateLabelText(container, at.containerResource.container)
}

function* validateIdentifier({ name }: MetricIdentifier, at: Ref<MetricIdentifier>): Iterable<FieldError> {
  if (!name) yield required(at.name, 'must specify a metric name')
  else yield* invalidEach(at.name, isValidPathSegmentName(name))
}

function* validateTarget({ type, value, averageValue, averageUtilization }: MetricTarget, at: Ref<MetricTarget>): Iterable<FieldError> {
  if (!type) yield required(at.type, 'must specify a metric target type')
  if (!['Utilization', 'Value', 'AverageValue'].includes(type)) yield invalid(at.type, 'must be either Utilization, Value, or AverageValue')
  if (value !== undefined && !isPositive(value)) yield invalid(at.value, 'must be positive')
  if (averageValue !== undefined && !isPositive(averageValue)) yield invalid(at.averageValue, 'must be positive')
  if (averageUtilization !== undefined && averageUtilization < 1) yield invalid(at.averageUtilization, 'must be greater than 0')
}

const isPositive = (amount: string) => quantitySign(parseQuantity(amount)) > 0

/** Each source can be aimed at in its own ways. */
function* validateAim(
  { value, averageValue, averageUtilization }: MetricTarget,
  at: Ref<MetricTarget>,
  source: Source['source'],
): Iterable<FieldError> {
  switch (source) {
    case 'object':
      if (value === undefined && averageValue === undefined)
        yield required(at.averageValue, 'must set either a target value or averageValue')
      return
    case 'external':
      if (value === undefined && averageValue === undefined)
        yield required(at.averageValue, 'must set either a target value for metric or a per-pod target')
      if (value !== undefined && averageValue !== undefined)
        yield forbidden(at.value, 'may not set both a target value for metric and a per-pod target')
      return
    case 'pods':
      if (averageValue === undefined) yield required(at.averageValue, 'must specify a positive target averageValue')
      return
    default:
      if (averageUtilization === undefined && averageValue === undefined)
        yield required(at.averageUtilization, 'must set either a target raw value or a target utilization')
      if (averageUtilization !== undefined && averageValue !== undefined)
        yield forbidden(at.averageValue, 'may not set both a target raw value and a target utilization')
  }
}
