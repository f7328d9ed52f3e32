/** Keeps pods from nodes that are closed to new ones, unless they tolerate that. */
import { type InEffect, isTolerated } from '../../kinds/rules/pod/scheduling/tolerance.ts'
import { type Plugin, unresolvable } from '../plugin.ts'

const CLOSED = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }
const REJECTION = unresolvable('node(s) were unschedulable')

export const nodeUnschedulableWith = (inEffect: InEffect): Plugin => ({
  name: 'NodeUnschedulable',
  isLocal: true,
  filter: ({ pod }) => ({
    test: ({ node }) => (node?.spec?.unschedulable && !isTolerated(CLOSED, inEffect(pod.spec.tolerations)) ? REJECTION : undefined),
  }),
  queueingHints: {
    'node added': (_, event) => event.about === 'node' && !event.after?.spec?.unschedulable,
    'node taints': (_, event) => event.about === 'node' && event.before?.spec?.unschedulable === true && !event.after?.spec?.unschedulable,
    'self tolerations': (_, event) => event.about === 'self' && isTolerated(CLOSED, inEffect(event.after?.spec.tolerations)),
  },
})
