/** Table columns of pods. */

import { age, type Column } from '../../schema/columns.ts'
import type { PodObject } from './pod-preparation.ts'
import { readinessGatesText, readyText, restartsText, statusText } from './pod-status-text.ts'

export const podColumns: Readonly<Record<string, Column<PodObject>>> = {
  Ready: ['string', readyText, 'Containers that are ready, of those that should run.'],
  Status: ['string', statusText, 'How the pod is doing, from the states of its containers.'],
  Restarts: ['string', restartsText, 'How often containers were restarted, and when that was last.'],
  Age: age,
  IP: ['string', pod => pod.status.podIPs?.[0]?.ip || '<none>', 'Address of the pod.', 'wide'],
  Node: ['string', pod => pod.spec.nodeName || '<none>', 'The node the pod is bound to.', 'wide'],
  'Nominated Node': [
    'string',
    pod => pod.status.nominatedNodeName || '<none>',
    'The node on which other pods are making room for this one.',
    'wide',
  ],
  'Readiness Gates': ['string', readinessGatesText, 'Further conditions for readiness that hold, of all.', 'wide'],
}
