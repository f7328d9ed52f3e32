/** Converts metrics between annotations of autoscaling/v1 and fields of autoscaling/v2. */
import { isObject, type Json } from '../../lib/json-value.ts'
import { ConformError, conform } from '../../schema/conform.ts'
import { type AnyType, atomic, int32, message, quantity, type Static, string } from '../../schema/types.ts'
import { LabelSelector } from '../rules/meta.ts'
import { HorizontalPodAutoscalerBehavior, HorizontalPodAutoscalerCondition } from './horizontalpodautoscaler.ts'
import { CrossVersionObjectReference, type MetricSpec, type MetricStatus } from './metric-shapes.ts'

const reference = CrossVersionObjectReference.orEmpty()

const OldMetricSpec = message('MetricSpec', {
  type: [1, string.always()],
  object: [
    2,
    message('ObjectMetricSource', {
      target: [1, reference],
      metricName: [2, string.always()],
      targetValue: [3, quantity.always()],
      selector: [4, LabelSelector],
      averageValue: [5, quantity.optional()],
    }),
  ],
  pods: [
    3,
    message('PodsMetricSource', {
      metricName: [1, string.always()],
      targetAverageValue: [2, quantity.always()],
      selector: [3, LabelSelector],
    }),
  ],
  resource: [
    4,
    message('ResourceMetricSource', {
      name: [1, string.always()],
      targetAverageUtilization: [2, int32.optional()],
      targetAverageValue: [3, quantity.optional()],
    }),
  ],
  containerResource: [
    7,
    message('ContainerResourceMetricSource', {
      name: [1, string.always()],
      targetAverageUtilization: [2, int32.optional()],
      targetAverageValue: [3, quantity.optional()],
      container: [5, string.always()],
    }),
  ],
  external: [
    5,
    message('ExternalMetricSource', {
      metricName: [1, string.always()],
      metricSelector: [2, LabelSelector],
      targetValue: [3, quantity.optional()],
      targetAverageValue: [4, quantity.optional()],
    }),
  ],
})
type OldMetricSpec = Static<typeof OldMetricSpec>

const OldMetricStatus = message('MetricStatus', {
  type: [1, string.always()],
  object: [
    2,
    message('ObjectMetricStatus', {
      target: [1, reference],
      metricName: [2, string.always()],
      currentValue: [3, quantity.always()],
      selector: [4, LabelSelector],
      averageValue: [5, quantity.optional()],
    }),
  ],
  pods: [
    3,
    message('PodsMetricStatus', {
      metricName: [1, string.always()],
      currentAverageValue: [2, quantity.always()],
      selector: [3, LabelSelector],
    }),
  ],
  resource: [
    4,
    message('ResourceMetricStatus', {
      name: [1, string.always()],
      currentAverageUtilization: [2, int32.optional()],
      currentAverageValue: [3, quantity.always()],
    }),
  ],
  containerResource: [
    7,
    message('ContainerResourceMetricStatus', {
      name: [1, string.always()],
      currentAverageUtilization: [2, int32.optional()],
      currentAverageValue: [3, quantity.always()],
      container: [4, string.always()],
    }),
  ],
  external: [
    5,
    message('ExternalMetricStatus', {
      metricName: [1, string.always()],
      metricSelector: [2, LabelSelector],
      currentValue: [3, quantity.always()],
      currentAverageValue: [4, quantity.optional()],
    }),
  ],
})
type OldMetricStatus = Static<typeof OldMetricStatus>

/** Decodes an annotation; undefined when it is invalid. */
function read<T>(type: AnyType, text: string | undefined): T | undefined {
  if (text === undefined) return undefined
  try {
    const { list } = conform(message('Holder', { list: [1, type] }), { list: anyCase(type, JSON.parse(text)) }).value
    return list as T | undefined
  } catch (error) {
    if (error instanceof ConformError || error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Field names in annotations are case-insensitive; some were written with Go field names. */
function anyCase(type: AnyType, value: Json): Json {
  const { shape } = type
  if (shape.kind === 'list' && Array.isArray(value)) return value.map(item => anyCase(shape.item, item))
  if (shape.kind !== 'message' || !isObject(value)) return value
  const names = new Map(Object.keys(shape.fields).map(name => [name.toLowerCase(), name]))
  const known = Object.entries(value).flatMap(([key, part]) => {
    const name = names.get(key.toLowerCase())
    return name === undefined ? [] : [[name, anyCase(shape.fields[name]![1], part)] as const]
  })
  return Object.fromEntries(known)
}

/** The metrics in an annotation. */
export const readMetrics = (text: string | undefined): MetricSpec[] | undefined =>
  read<OldMetricSpec[]>(atomic(OldMetricSpec), text)?.map(metricFrom)

/** The measurements in an annotation. */
export const readMeasurements = (text: string | undefined): MetricStatus[] | undefined =>
  read<OldMetricStatus[]>(atomic(OldMetricStatus), text)?.map(measurementFrom)

/** The conditions in an annotation. */
export const readConditions = (text: string | undefined) =>
  read<Static<typeof HorizontalPodAutoscalerCondition>[]>(atomic(HorizontalPodAutoscalerCondition), text)

/** The behavior in an annotation. */
export const readBehavior = (text: string | undefined) =>
  read<Static<typeof HorizontalPodAutoscalerBehavior>>(HorizontalPodAutoscalerBehavior, text)

/** Metrics as an annotation. */
export const writeMetrics = (metrics: readonly MetricSpec[]): string => JSON.stringify(metrics.map(metricTo))
/** Measurements as an annotation. */
export const writeMeasurements = (measurements: readonly MetricStatus[]): string => JSON.stringify(measurements.map(measurementTo))

const ZERO = '0'
const isZero = (amount: string) => /^[0.]*$/.test(amount)

function metricFrom({ type, object, pods, resource, containerResource, external }: OldMetricSpec): MetricSpec {
  return {
    type,
    ...(object && {
      object: {
        describedObject: object.target,
        target: object.averageValue === undefined ? { type: 'Value', value: object.targetValue || ZERO } : averageOf(object),
        metric: named(object.metricName, object.selector),
      },
    }),
    ...(pods && {
      pods: {
        metric: named(pods.metricName, pods.selector),
        target: { type: 'AverageValue', averageValue: pods.targetAverageValue || ZERO },
      },
    }),
    ...(resource && { resource: { name: resource.name, target: usageOf(resource) } }),
    ...(containerResource && {
      containerResource: { name: containerResource.name, target: usageOf(containerResource), container: containerResource.container },
    }),
    ...(external && {
      external: {
        metric: named(external.metricName, external.metricSelector),
        target: {
          type: external.targetValue === undefined ? 'AverageValue' : 'Value',
          ...defined({ value: external.targetValue, averageValue: external.targetAverageValue }),
        },
      },
    }),
  }
}

const averageOf = ({ targetValue, averageValue }: { targetValue: string; averageValue?: string }) => ({
  type: 'AverageValue',
  ...defined({ value: isZero(targetValue) ? undefined : targetValue, averageValue }),
})

const usageOf = ({ targetAverageUtilization: percent, targetAverageValue: averageValue }: NonNullable<OldMetricSpec['resource']>) => ({
  type: percent === undefined ? 'AverageValue' : 'Utilization',
  ...defined({ averageValue, averageUtilization: percent }),
})

function metricTo({ type, object, pods, resource, containerResource, external }: MetricSpec) {
  return {
    type,
    object: object && {
      target: object.describedObject,
      metricName: object.metric.name,
      targetValue: object.target.value ?? ZERO,
      selector: object.metric.selector,
      averageValue: object.target.averageValue,
    },
    pods: pods && {
      metricName: pods.metric.name,
      targetAverageValue: pods.target.averageValue ?? ZERO,
      selector: pods.metric.selector,
    },
    resource: resource && usageTo(resource),
    containerResource: containerResource && { ...usageTo(containerResource), container: containerResource.container },
    external: external && {
      metricName: external.metric.name,
      metricSelector: external.metric.selector,
      targetValue: external.target.value,
      targetAverageValue: external.target.averageValue,
    },
  }
}

const usageTo = ({ name, target }: NonNullable<MetricSpec['resource']>) => ({
  name,
  targetAverageUtilization: target.averageUtilization,
  targetAverageValue: target.averageValue,
})

function measurementFrom({ type, object, pods, resource, containerResource, external }: OldMetricStatus): MetricStatus {
  return {
    type,
    ...(object && {
      object: {
        metric: named(object.metricName, object.selector),
        current: { value: object.currentValue || ZERO, ...defined({ averageValue: object.averageValue }) },
        describedObject: object.target,
      },
    }),
    ...(pods && {
      pods: { metric: named(pods.metricName, pods.selector), current: { averageValue: pods.currentAverageValue || ZERO } },
    }),
    ...(resource && { resource: { name: resource.name, current: usedOf(resource) } }),
    ...(containerResource && {
      containerResource: { name: containerResource.name, current: usedOf(containerResource), container: containerResource.container },
    }),
    ...(external && {
      external: {
        metric: named(external.metricName, external.metricSelector),
        current: { value: external.currentValue || ZERO, ...defined({ averageValue: external.currentAverageValue }) },
      },
    }),
  }
}

const usedOf = ({ currentAverageValue, currentAverageUtilization }: NonNullable<OldMetricStatus['resource']>) => ({
  averageValue: currentAverageValue || ZERO,
  ...defined({ averageUtilization: currentAverageUtilization }),
})

function measurementTo({ type, object, pods, resource, containerResource, external }: MetricStatus) {
  return {
    type,
    object: object && {
      target: object.describedObject,
      metricName: object.metric.name,
      currentValue: object.current.value ?? ZERO,
      selector: object.metric.selector,
      averageValue: object.current.averageValue,
    },
    pods: pods && {
      metricName: pods.metric.name,
      currentAverageValue: pods.current.averageValue ?? ZERO,
      selector: pods.metric.selector,
    },
    resource: resource && usedTo(resource),
    containerResource: containerResource && { ...usedTo(containerResource), container: containerResource.container },
    external: external && {
      metricName: external.metric.name,
      metricSelector: external.metric.selector,
      currentValue: external.current.value ?? ZERO,
      currentAverageValue: external.current.averageValue,
    },
  }
}

const usedTo = ({ name, current }: NonNullable<MetricStatus['resource']>) => ({
  name,
  currentAverageUtilization: current.averageUtilization,
  currentAverageValue: current.averageValue ?? ZERO,
})

const named = (name: string, selector: LabelSelector | undefined) => ({ name, ...(selector && { selector }) })

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> }
const defined = <T extends object>(fields: T): Defined<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>
