/** ComponentStatus shows whether a component of the control plane is healthy. Deprecated: use the health endpoints. */

import { conditionOf } from '../../schema/conditions.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { keyed, message, string } from '../../schema/types.ts'

const ComponentCondition = message('ComponentCondition', {
  type: [1, string.always(), 'Always Healthy.'],
  status: [2, string.always(), 'Whether the part works: True or False.'],
  message: [3, string, 'The message of the component.'],
  error: [4, string, 'The error of the component.'],
})

export const ComponentStatus = defineKind({
  group: '',
  version: 'v1',
  kind: 'ComponentStatus',
  scope: 'Cluster',
  names: { plural: 'componentstatuses', singular: 'componentstatus', short: ['cs'] },
  doc: 'Whether a part of the server works.',
  verbs: ['get', 'list'],
  deprecated: 'v1 ComponentStatus is deprecated in v1.19+',
  fields: {
    conditions: [2, keyed(ComponentCondition, 'type').mergedBy('type'), 'How the part is.'],
  },
  virtual: {
    list: parts =>
      parts.map(({ name, problem }) => ({
        kind: 'ComponentStatus',
        apiVersion: 'v1',
        metadata: { name },
        conditions: [
          problem === undefined ? { type: 'Healthy', status: 'True', message: 'ok' } : { type: 'Healthy', status: 'False', error: problem },
        ],
      })),
  },

  columns: {
    Status: ['string', o => STATUSES.get(healthOf(o)?.status) ?? 'Unknown', 'Status of the component conditions'],
    Message: ['string', o => healthOf(o)?.message ?? '', 'Message of the component conditions'],
    Error: ['string', o => healthOf(o)?.error ?? '', 'Error of the component conditions'],
  },
})

/** An object of the kind ComponentStatus. */
export type ComponentStatus = ObjectOf<typeof ComponentStatus>

type Condition = { type: string; status: string; message?: string; error?: string }
const healthOf = ({ conditions }: { conditions?: Condition[] }) => conditionOf(conditions, 'Healthy')
const STATUSES: ReadonlyMap<string | undefined, string> = new Map([
  ['True', 'Healthy'],
  ['False', 'Unhealthy'],
  ['Unknown', 'Unhealthy'],
])
