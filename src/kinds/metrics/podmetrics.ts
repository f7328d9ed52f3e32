/** PodMetrics is the resource usage of a pod's containers. */
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { atomic, duration, mapOf, message, quantity, string, time } from '../../schema/types.ts'

const ContainerMetrics = message('ContainerMetrics', {
  name: [1, string.always(), 'The container.'],
  usage: [2, mapOf(quantity).always(), 'The amounts, by resource.'],
})

export const PodMetrics = defineKind({
  group: 'metrics.{group_domain}',
  version: 'v1beta1',
  kind: 'PodMetrics',
  scope: 'Namespaced',
  names: { plural: 'pods', singular: 'podmetrics' },
  doc: 'The resource usage of the containers of a pod.',
  verbs: ['get', 'list'],
  replaceable: true,
  fields: {
    timestamp: [2, time.always(), 'When it was measured.'],
    window: [3, duration.always(), 'How long the time was over which it was measured.'],
    containers: [4, atomic(ContainerMetrics).always(), 'Each container that runs.'],
  },
  virtual: { source: 'pod usage' },

  columns: {
    Window: ['string', ({ window }) => window ?? '', 'How long the time was over which it was measured.'],
    Age: age,
  },
})

/** An object of the kind PodMetrics. */
export type PodMetrics = ObjectOf<typeof PodMetrics>
