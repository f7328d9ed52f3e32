/** Pod is a group of containers that run together on one node. */
import { defineKind } from '../../schema/kind.ts'
import { PodSpec } from '../shapes/pod/spec.ts'
import { PodStatus } from '../shapes/pod/status/status.ts'
import { warnAboutPod } from '../shapes/pod/warnings.ts'
import { binding, eviction } from './pod-actions.ts'
import { podColumns } from './pod-columns.ts'
import { fillPod } from './pod-defaults.ts'
import { prepareChangedPod, prepareChangedStatus, prepareNewPod } from './pod-preparation.ts'
import { prepareResizedPod, takeResources } from './pod-resize.ts'
import { validatePodResize } from './pod-resize-rules.ts'
import { validatePod, validatePodEphemeralContainersUpdate } from './pod-rules.ts'
import { validatePodStatusUpdate } from './pod-status-rules.ts'

export const Pod = defineKind({
  group: '',
  version: 'v1',
  kind: 'Pod',
  scope: 'Namespaced',
  names: { plural: 'pods', short: ['po'], categories: ['all'] },
  doc: 'A group of containers that run together on one node.',
  spec: PodSpec,
  status: PodStatus,
  generation: true,

  defaults: fillPod,
  prepareForCreate: prepareNewPod,
  prepareForUpdate: prepareChangedPod,
  validate: validatePod,
  warn: (pod, old) => (old ? [] : warnAboutPod(pod)),

  deletion: {
    grace({ spec, status }, asked) {
      const isOver = !spec.nodeName || status.phase === 'Failed' || status.phase === 'Succeeded'
      const seconds = isOver ? 0 : (asked ?? Number(spec.terminationGracePeriodSeconds))
      return seconds < 0 ? 1 : seconds
    },
    returns: 'object',
  },

  subresources: {
    status: {
      resetFields: ['spec', 'metadata.deletionTimestamp', 'metadata.ownerReferences'],
      prepareForUpdate: prepareChangedStatus,
      validate: validatePodStatusUpdate,
    },
    updates: {
      ephemeralcontainers: {
        merge: (sent, stored) => {
          const { ephemeralContainers: _, ...spec } = stored.spec
          const { ephemeralContainers } = sent.spec
          return { ...stored, spec: ephemeralContainers ? { ...spec, ephemeralContainers } : spec }
        },
        keepsMetadata: true,
        prepareForUpdate: prepareChangedPod,
        validate: validatePodEphemeralContainersUpdate,
      },
      resize: { merge: takeResources, keepsMetadata: true, prepareForUpdate: prepareResizedPod, validate: validatePodResize },
    },
    creates: { binding, eviction },
    connect: {
      attach: { kind: 'PodAttachOptions', verbs: ['create', 'get'] },
      exec: { kind: 'PodExecOptions', verbs: ['create', 'get'] },
      log: { kind: 'Pod', verbs: ['get'] },
      portforward: { kind: 'PodPortForwardOptions', verbs: ['create', 'get'] },
      proxy: { kind: 'PodProxyOptions', verbs: ['create', 'delete', 'get', 'patch', 'update'] },
    },
  },

  selectable: {
    'spec.nodeName': pod => pod.spec.nodeName,
    // What clients of the first versions ask for.
    'spec.host': pod => pod.spec.nodeName,
    'spec.restartPolicy': pod => pod.spec.restartPolicy,
    'spec.schedulerName': pod => pod.spec.schedulerName,
    'spec.serviceAccountName': pod => pod.spec.serviceAccountName,
    'spec.hostNetwork': pod => pod.spec.hostNetwork ?? false,
    'status.phase': pod => pod.status.phase,
    'status.podIP': pod => pod.status.podIPs?.[0]?.ip,
    // A field that may be asked for, but that matches only the empty text.
    'status.podIPs': () => undefined,
    'status.nominatedNodeName': pod => pod.status.nominatedNodeName,
  },

  rowConditions: ({ status: { phase } }) => (phase === 'Succeeded' || phase === 'Failed' ? [COMPLETED[phase]] : []),
  columns: podColumns,
})

const COMPLETED = {
  Succeeded: { type: 'Completed', status: 'True', reason: 'Succeeded', message: 'The pod has completed successfully.' },
  Failed: { type: 'Completed', status: 'True', reason: 'Failed', message: 'The pod failed.' },
}
