/** Scale is the number of replicas of an object, as in its scale subresource. */
import { age, NAME_DOC } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { int32, message, string } from '../../schema/types.ts'

export const Scale = defineKind({
  group: 'autoscaling',
  version: 'v1',
  kind: 'Scale',
  scope: 'Namespaced',
  names: { plural: 'scales' },
  spec: message('ScaleSpec', {
    replicas: [1, int32.min(0).openapiDefault(0), 'How many instances are wanted.'],
  }),
  status: message('ScaleStatus', {
    replicas: [1, int32.always(), 'How many instances there are.'],
    selector: [2, string, 'Which pods are counted, as a label selector in text.'],
  }),
  columns: {
    Name: ['string', o => o.metadata.name, NAME_DOC],
    Desired: ['integer', o => o.spec.replicas ?? 0, 'replicas is the desired number of instances for the scaled object.'],
    Available: ['integer', o => o.status.replicas, 'replicas is the actual number of observed instances of the scaled object.'],
    Age: age,
  },
})
export type Scale = ObjectOf<typeof Scale>
