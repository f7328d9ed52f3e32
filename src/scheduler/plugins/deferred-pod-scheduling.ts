/** A pod whose resize is deferred looks for room on its node alone, and not if the node forbids to make room for resizes. */
import type { Node } from '../../kinds/core/node.ts'
import { type Plugin, unresolvable } from '../plugin.ts'
import { isResizeDeferred } from '../pod-info.ts'

export const DEFERRED_POD_SCHEDULING = 'DeferredPodScheduling'

const ELSEWHERE = unresolvable('pod assigned to different node')
const DISABLED = unresolvable('node had resize preemption disabled')

const isDisabledOn = (node: Node | undefined): boolean => (node?.spec?.podPreemptionPolicy?.disableResizePreemption ?? []).length > 0

export const deferredPodScheduling: Plugin = {
  name: DEFERRED_POD_SCHEDULING,
  seesResizes: true,
  filter({ info: { nodeName, isResizeDeferred: isResize } }) {
    if (!isResize) return undefined
    return {
      test({ name, node }) {
        if (name !== nodeName) return ELSEWHERE
        return isDisabledOn(node) ? DISABLED : undefined
      },
    }
  },
  queueingHints: {
    'node preemption policy': (pod, event) =>
      event.about === 'node' &&
      isResizeDeferred(pod) &&
      pod.spec.nodeName === event.after?.metadata.name &&
      isDisabledOn(event.before) &&
      !isDisabledOn(event.after),
    'node added': (pod, event) =>
      event.about === 'node' && isResizeDeferred(pod) && pod.spec.nodeName === event.after?.metadata.name && !isDisabledOn(event.after),
  },
}
