/** The first version of HorizontalPodAutoscaler, which supports CPU utilization only; other fields are kept in annotations. */
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import type { ObjectMeta } from '../../schema/object-meta.ts'
import { int32, int64, message, string, time } from '../../schema/types.ts'
import { internalRepresentation } from '../rules/internal-representation.ts'
import {
  averageCpu,
  DEFAULT_UTILIZATION,
  dropRoundTripAnnotations,
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerBehavior,
  hasRoundTripAnnotations,
  FORM_ANNOTATIONS as KEYS,
} from './horizontalpodautoscaler.ts'
import { readBehavior, readConditions, readMeasurements, readMetrics, writeMeasurements, writeMetrics } from './metric-annotations.ts'
import type { MetricSpec, MetricStatus } from './metric-shapes.ts'

const CrossVersionObjectReference = message('CrossVersionObjectReference', {
  kind: [1, string.always(), 'Kind of the object.'],
  name: [2, string.always(), 'Name of the object.'],
  apiVersion: [3, string, 'API group and version of the object.'],
}).atomic()

const HorizontalPodAutoscalerSpec = message('HorizontalPodAutoscalerSpec', {
  scaleTargetRef: [1, CrossVersionObjectReference.orEmpty().expected(), 'The object that is scaled.'],
  minReplicas: [2, int32.optional().default(1), 'The least size.'],
  maxReplicas: [3, int32.always(), 'The greatest size.'],
  targetCPUUtilizationPercentage: [4, int32.optional(), 'The average use of processors that is aimed at, of what pods request.'],
})

const HorizontalPodAutoscalerStatus = message('HorizontalPodAutoscalerStatus', {
  observedGeneration: [1, int64.optional(), 'The generation this status describes.'],
  lastScaleTime: [2, time.optional(), 'When the size was last changed.'],
  currentReplicas: [3, int32.always(), 'The size last seen.'],
  desiredReplicas: [4, int32.always(), 'The number of replicas last computed.'],
  currentCPUUtilizationPercentage: [5, int32.optional(), 'The average use of processors last measured.'],
})

export const HorizontalPodAutoscalerV1 = defineKind({
  group: 'autoscaling',
  version: 'v1',
  kind: 'HorizontalPodAutoscaler',
  scope: 'Namespaced',
  names: HorizontalPodAutoscaler.def.names,
  doc: 'Keeps the use of processors by a workload near a target.',
  spec: HorizontalPodAutoscalerSpec.expected(),
  status: HorizontalPodAutoscalerStatus,

  // As in the stored version; its creator then owns the target.
  defaults({ metadata: { annotations }, spec }) {
    if (!readMetrics(annotations?.[KEYS.metrics])?.length) spec.targetCPUUtilizationPercentage ??= DEFAULT_UTILIZATION
  },

  conversion: {
    storedVersion: HorizontalPodAutoscaler,
    toStored({ metadata, spec, status }) {
      const { annotations = {} } = metadata
      const cpu = spec.targetCPUUtilizationPercentage
      const others = readMetrics(annotations[KEYS.metrics]) ?? []
      const metrics = [...others, ...(cpu === undefined ? [] : [averageCpu(cpu)])]
      const behavior = readBehavior(annotations[KEYS.behavior])
      const used = status.currentCPUUtilizationPercentage
      return {
        metadata: plain(metadata),
        spec: {
          scaleTargetRef: spec.scaleTargetRef,
          minReplicas: spec.minReplicas,
          maxReplicas: spec.maxReplicas,
          metrics: metrics.length > 0 ? metrics : [averageCpu(DEFAULT_UTILIZATION)],
          ...((behavior?.scaleUp || behavior?.scaleDown) && { behavior }),
        },
        status: {
          ...common(status),
          currentMetrics: readMeasurements(annotations[KEYS.currentMetrics]) ?? (used === undefined ? null : [usedCpu(used)]),
          conditions: readConditions(annotations[KEYS.conditions]) ?? [],
        },
      }
    },
    fromStored({ metadata, spec, status }: HorizontalPodAutoscaler) {
      const { metrics = [] } = spec
      const measured = status.currentMetrics ?? []
      const used = measured.findLast(m => isCpu(m) && m.resource!.current.averageUtilization !== undefined)
      const cpu = metrics.find(isAverageCpu)
      return {
        metadata: withAnnotations(metadata, { spec, status }),
        spec: {
          scaleTargetRef: spec.scaleTargetRef,
          minReplicas: spec.minReplicas,
          maxReplicas: spec.maxReplicas,
          ...(cpu && { targetCPUUtilizationPercentage: cpu.resource!.target.averageUtilization! }),
        },
        status: {
          ...common(status),
          ...(used && { currentCPUUtilizationPercentage: used.resource!.current.averageUtilization! }),
        },
      }
    },
  },
})

/** An object of the kind HorizontalPodAutoscalerV1. */
export type HorizontalPodAutoscalerV1 = ObjectOf<typeof HorizontalPodAutoscalerV1>

type Common = { observedGeneration?: number | bigint; lastScaleTime?: string; currentReplicas?: number; desiredReplicas: number }
const common = ({ observedGeneration, lastScaleTime, currentReplicas = 0, desiredReplicas }: Common) => ({
  ...(observedGeneration !== undefined && { observedGeneration }),
  ...(lastScaleTime !== undefined && { lastScaleTime }),
  currentReplicas,
  desiredReplicas,
})

const isCpu = ({ type, resource }: MetricSpec | MetricStatus) => type === 'Resource' && resource?.name === 'cpu'
const isAverageCpu = (metric: MetricSpec) => isCpu(metric) && metric.resource!.target.averageUtilization !== undefined

const usedCpu = (percent: number): MetricStatus => ({
  type: 'Resource',
  resource: { name: 'cpu', current: { averageUtilization: percent } },
})

/** Metadata without the annotations that hold fields of other versions. */
function plain(metadata: ObjectMeta): ObjectMeta {
  if (!hasRoundTripAnnotations(metadata)) return metadata
  const copy = { ...metadata, ...(metadata.annotations && { annotations: { ...metadata.annotations } }) }
  dropRoundTripAnnotations(copy)
  return copy
}

/** Metadata with annotations for fields that this version does not have. */
function withAnnotations(metadata: ObjectMeta, { spec, status }: Pick<HorizontalPodAutoscaler, 'spec' | 'status'>): ObjectMeta {
  const others = (spec.metrics ?? []).filter(metric => !isAverageCpu(metric))
  const { currentMetrics, conditions = [] } = status
  const added = {
    ...(others.length > 0 && { [KEYS.metrics]: writeMetrics(others) }),
    ...(currentMetrics?.length && { [KEYS.currentMetrics]: writeMeasurements(currentMetrics) }),
    ...(spec.behavior && { [KEYS.behavior]: JSON.stringify(internalRepresentation(HorizontalPodAutoscalerBehavior, spec.behavior)) }),
    ...(conditions.length > 0 && { [KEYS.conditions]: JSON.stringify(conditions) }),
  }
  const own = plain(metadata)
  return Object.keys(added).length === 0 ? own : { ...own, annotations: { ...own.annotations, ...added } }
}
