/** Binding assigns a pod to a node: the older alternative to the binding subresource. */
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { ObjectReference } from '../rules/references.ts'

export const Binding = defineKind({
  group: '',
  version: 'v1',
  kind: 'Binding',
  scope: 'Namespaced',
  names: { plural: 'bindings' },
  doc: 'Assigns the pod of the same name to a node.',
  verbs: ['create'],
  fields: {
    target: [2, ObjectReference.orEmpty().always(), 'The node to bind to.'],
  },
  virtual: { forwardsTo: { group: '', version: 'v1', plural: 'pods', subresource: 'binding' } },
})

/** An object of the kind Binding. */
export type Binding = ObjectOf<typeof Binding>
