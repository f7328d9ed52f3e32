/** NodeMetrics is the resource usage of a node. */
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { duration, mapOf, quantity, time } from '../../schema/types.ts'

export const NodeMetrics = defineKind({
  group: 'metrics.{group_domain}',
  version: 'v1beta1',
  kind: 'NodeMetrics',
  scope: 'Cluster',
  names: { plural: 'nodes', singular: 'nodemetrics' },
  doc: 'The resource usage of a node.',
  verbs: ['get', 'list'],
  replaceable: true,
  fields: {
    timestamp: [2, time.always(), 'When it was measured.'],
    window: [3, duration.always(), 'How long the time was over which it was measured.'],
    usage: [4, mapOf(quantity).always(), 'The amounts, by resource.'],
  },
  virtual: { source: 'node usage' },

  columns: {
    cpu: ['string', ({ usage }) => usage?.['cpu'] ?? '', 'Processor time.'],
    memory: ['string', ({ usage }) => usage?.['memory'] ?? '', 'Memory.'],
    Window: ['string', ({ window }) => window ?? '', 'How long the time was over which it was measured.'],
    Age: age,
  },
})

/** An object of the kind NodeMetrics. */
export type NodeMetrics = ObjectOf<typeof NodeMetrics>
