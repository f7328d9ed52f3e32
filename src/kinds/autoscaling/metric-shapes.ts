/** Types of the metrics of autoscalers: specs, targets and measurements. */
import { int32, message, quantity, type Static, string } from '../../schema/types.ts'
import { LabelSelector } from '../rules/meta.ts'

export const CrossVersionObjectReference = message('CrossVersionObjectReference', {
  kind: [1, string.always(), 'Kind of the object.'],
  name: [2, string.always(), 'Name of the object.'],
  apiVersion: [3, string, 'API group and version of the object.'],
})
export type ObjectReference = Static<typeof CrossVersionObjectReference>

const MetricTarget = message('MetricTarget', {
  type: [1, string.always(), 'How it is aimed at: Utilization, Value or AverageValue.'],
  value: [2, quantity.optional(), 'The wanted value.'],
  averageValue: [3, quantity.optional(), 'The wanted value for each pod.'],
  averageUtilization: [4, int32.optional(), 'The wanted part of what pods request, in percent.'],
})
export type MetricTarget = Static<typeof MetricTarget>

const MetricIdentifier = message('MetricIdentifier', {
  name: [1, string.always(), 'Name of the metric.'],
  selector: [2, LabelSelector, 'Labels that select the series of the metric.'],
})
export type MetricIdentifier = Static<typeof MetricIdentifier>

const ObjectMetricSource = message('ObjectMetricSource', {
  describedObject: [1, CrossVersionObjectReference.orEmpty().expected(), 'The object that is measured.'],
  target: [2, MetricTarget.orEmpty().expected(), 'The target value.'],
  metric: [3, MetricIdentifier.orEmpty().expected(), 'The metric of it.'],
})

const PodsMetricSource = message('PodsMetricSource', {
  metric: [1, MetricIdentifier.orEmpty().expected(), 'The metric of the pods.'],
  target: [2, MetricTarget.orEmpty().expected(), 'The target average.'],
})

const ResourceMetricSource = message('ResourceMetricSource', {
  name: [1, string.always(), 'The resource, such as cpu.'],
  target: [2, MetricTarget.orEmpty().expected(), 'The target value.'],
})

const ContainerResourceMetricSource = message('ContainerResourceMetricSource', {
  name: [1, string.always(), 'The resource, such as cpu.'],
  target: [2, MetricTarget.orEmpty().expected(), 'The target value.'],
  container: [3, string.always(), 'The container of each pod that is measured.'],
})

const ExternalMetricSource = message('ExternalMetricSource', {
  metric: [1, MetricIdentifier.orEmpty().expected(), 'The metric.'],
  target: [2, MetricTarget.orEmpty().expected(), 'The target value.'],
})

export const MetricSpec = message('MetricSpec', {
  type: [1, string.always(), 'The type of the metric: Object, Pods, Resource, ContainerResource or External.'],
  object: [2, ObjectMetricSource, 'A metric of one object.'],
  pods: [3, PodsMetricSource, 'A metric of every pod.'],
  resource: [4, ResourceMetricSource, 'A resource that pods use.'],
  containerResource: [7, ContainerResourceMetricSource, 'A resource that one container of every pod uses.'],
  external: [5, ExternalMetricSource, 'A metric from outside of the cluster.'],
})
export type MetricSpec = Static<typeof MetricSpec>

const MetricValueStatus = message('MetricValueStatus', {
  value: [1, quantity.optional(), 'The value.'],
  averageValue: [2, quantity.optional(), 'The value for each pod.'],
  averageUtilization: [3, int32.optional(), 'The part of what pods request, in percent.'],
})

const ObjectMetricStatus = message('ObjectMetricStatus', {
  metric: [1, MetricIdentifier.orEmpty().expected(), 'The metric.'],
  current: [2, MetricValueStatus.orEmpty().expected(), 'The measured value.'],
  describedObject: [3, CrossVersionObjectReference.orEmpty().expected(), 'The object that was measured.'],
})

const PodsMetricStatus = message('PodsMetricStatus', {
  metric: [1, MetricIdentifier.orEmpty().expected(), 'The metric.'],
  current: [2, MetricValueStatus.orEmpty().expected(), 'The measured value.'],
})

const ResourceMetricStatus = message('ResourceMetricStatus', {
  name: [1, string.always(), 'The resource.'],
  current: [2, MetricValueStatus.orEmpty().expected(), 'The measured value.'],
})

const ContainerResourceMetricStatus = message('ContainerResourceMetricStatus', {
  name: [1, string.always(), 'The resource.'],
  current: [2, MetricValueStatus.orEmpty().expected(), 'The measured value.'],
  container: [3, string.always(), 'The container it was measured of.'],
})

const ExternalMetricStatus = message('ExternalMetricStatus', {
  metric: [1, MetricIdentifier.orEmpty().expected(), 'The metric.'],
  current: [2, MetricValueStatus.orEmpty().expected(), 'The measured value.'],
})

export const MetricStatus = message('MetricStatus', {
  type: [1, string.always(), 'The type of the metric: Object, Pods, Resource, ContainerResource or External.'],
  object: [2, ObjectMetricStatus, 'A metric of one object.'],
  pods: [3, PodsMetricStatus, 'A metric of every pod.'],
  resource: [4, ResourceMetricStatus, 'A resource that pods use.'],
  containerResource: [7, ContainerResourceMetricStatus, 'A resource that one container of every pod uses.'],
  external: [5, ExternalMetricStatus, 'A metric from outside of the cluster.'],
})
export type MetricStatus = Static<typeof MetricStatus>
