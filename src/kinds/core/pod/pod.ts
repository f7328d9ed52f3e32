/** Pod is a group of containers that run together on one node. */

import { setOwn } from '../../../lib/json-value.ts'
import { age, type Column } from '../../../schema/columns.ts'
import { defineKind, type KObject } from '../../../schema/kind.ts'
import type { DefaultingContext, RequestContext } from '../../../schema/request-context.ts'
import { atomic, bool, type Fields, int32, string } from '../../../schema/types.ts'
import type { Container } from '../../rules/pod/containers/container.ts'
import { fillPodLevelRequests, fillPodLevelResources, fillsAfterAdmission } from '../../rules/pod/resources/level-resources.ts'
import { PodSpec } from '../../rules/pod/spec.ts'
import { PodStatus } from '../../rules/pod/status/status.ts'
import { warnAboutAddresses, warnAboutPod } from '../../rules/pod/warnings.ts'
import { binding, eviction } from './create-subresources.ts'
import { LOG_OPTIONS, logOptions } from './log-options.ts'
import { prepareChangedPod, prepareChangedStatus, prepareNewPod } from './preparation.ts'
import { validatePodResize } from './resize-rules.ts'
import { validatePod, validatePodEphemeralContainersUpdate } from './rules.ts'
import { validatePodStatusUpdate } from './status-rules.ts'
import { readinessGatesText, readyText, restartsText, statusText } from './status-text.ts'

/** A WebSocket is opened with GET, which must not permit more than POST. */
const MAY_CREATE = { verb: 'create', gate: 'AuthorizePodWebsocketUpgradeCreatePermission' } as const

const STREAMS: Fields = {
  stdin: [1, bool, 'Whether what is sent goes to the standard input.'],
  stdout: [2, bool, 'Whether the standard output is returned.'],
  stderr: [3, bool, 'Whether the standard error is returned.'],
  tty: [4, bool, 'Whether there is a terminal.'],
  container: [5, string, 'The container; the only one when absent.'],
}

const podColumns: Readonly<Record<string, Column<Pod>>> = {
  Ready: ['string', readyText, 'The aggregate readiness state of this pod for accepting traffic.'],
  Status: ['string', statusText, 'The aggregate status of the containers in this pod.'],
  Restarts: [
    'string',
    restartsText,
    'The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.',
  ],
  Age: age,
  IP: [
    'string',
    pod => pod.status.podIPs?.[0]?.ip || '<none>',
    'podIP address allocated to the pod. Routable at least within the cluster. Empty if not yet allocated.',
    'wide',
  ],
  Node: [
    'string',
    pod => pod.spec.nodeName || '<none>',
    'NodeName indicates in which node this pod is scheduled. If empty, this pod is a candidate for scheduling by the scheduler defined in schedulerName. Once this field is set, the kubelet for this node becomes responsible for the lifecycle of this pod. This field should not be used to express a desire for the pod to be scheduled on a specific node. https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename',
    'wide',
  ],
  'Nominated Node': [
    'string',
    pod => pod.status.nominatedNodeName || '<none>',
    'nominatedNodeName is set only when this pod preempts other pods on the node, but it cannot be scheduled right away as preemption victims receive their graceful termination periods. This field does not guarantee that the pod will be scheduled on this node. Scheduler may decide to place the pod elsewhere if other nodes become available sooner. Scheduler may also decide to give the resources on this node to a higher priority pod that is created after preemption. As a result, this field may be different than PodSpec.nodeName when the pod is scheduled.',
    'wide',
  ],
  'Readiness Gates': [
    'string',
    readinessGatesText,
    'If specified, all readiness gates will be evaluated for pod readiness. A pod is ready when all its containers are ready AND all conditions specified in the readiness gates have status equal to "True" More info: https://git.k8s.io/enhancements/keps/sig-network/580-pod-readiness-gates',
    'wide',
  ],
}

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
      warn: ({ status }) => warnAboutAddresses(status),
    },
    updates: {
      ephemeralcontainers: {
        merge: (sent, stored) => {
          const { ephemeralContainers: _, ...spec } = stored.spec
          const { ephemeralContainers } = sent.spec
          return { ...stored, spec: ephemeralContainers ? { ...spec, ephemeralContainers } : spec }
        },
        keepsMetadata: true,
        resetFields: ['status'],
        prepareForUpdate: prepareChangedPod,
        validate: validatePodEphemeralContainersUpdate,
      },
      resize: {
        merge: takeResources,
        keepsMetadata: true,
        resetFields: ['status'],
        prepareForUpdate: prepareResizedPod,
        validate: validatePodResize,
      },
    },
    creates: { binding, eviction },
    connect: {
      attach: { kind: 'PodAttachOptions', verbs: ['create', 'get'], options: STREAMS, needs: MAY_CREATE },
      exec: {
        kind: 'PodExecOptions',
        verbs: ['create', 'get'],
        options: { ...STREAMS, command: [6, atomic(string), 'The command and its arguments.'] },
        needs: MAY_CREATE,
      },
      log: { kind: 'Pod', verbs: ['get'], options: LOG_OPTIONS, isRead: true, check: logOptions },
      portforward: {
        kind: 'PodPortForwardOptions',
        verbs: ['create', 'get'],
        options: { ports: [1, atomic(int32), 'The ports to forward.'] },
        needs: MAY_CREATE,
      },
      proxy: {
        kind: 'PodProxyOptions',
        verbs: ['create', 'delete', 'get', 'patch', 'update'],
        options: { path: [1, string, 'The path that is asked for.'] },
        isAddressed: true,
      },
    },
  },

  selectable: {
    'spec.nodeName': pod => pod.spec.nodeName,
    // The field label of early API versions.
    'spec.host': pod => pod.spec.nodeName,
    'spec.restartPolicy': pod => pod.spec.restartPolicy,
    'spec.schedulerName': pod => pod.spec.schedulerName,
    'spec.serviceAccountName': pod => pod.spec.serviceAccountName,
    'spec.hostNetwork': pod => pod.spec.hostNetwork ?? false,
    'status.phase': pod => pod.status.phase,
    'status.podIP': pod => pod.status.podIPs?.[0]?.ip,
    // A supported field label that matches only the empty string.
    'status.podIPs': () => undefined,
    'status.nominatedNodeName': pod => pod.status.nominatedNodeName,
  },
  fieldSelectors: { dividing: 'spec.nodeName' },

  rowConditions: ({ status: { phase } }) => (phase === 'Succeeded' || phase === 'Failed' ? [COMPLETED[phase]] : []),
  columns: podColumns,
})

/** An object of the kind Pod. */
export type Pod = KObject<PodSpec, PodStatus>

const COMPLETED = {
  Succeeded: { type: 'Completed', status: 'True', reason: 'Succeeded', message: 'The pod has completed successfully.' },
  Failed: { type: 'Completed', status: 'True', reason: 'Failed', message: 'The pod failed.' },
}

/** Fills in a pod's spec after the defaults that every template has. */
function fillPod({ spec }: { spec: PodSpec }, { gate }: DefaultingContext): void {
  if (spec.terminationGracePeriodSeconds < 0) spec.terminationGracePeriodSeconds = 1
  spec.enableServiceLinks ??= true
  for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    requestLimits(container)
    if (spec.hostNetwork) exposePorts(container)
  }
  if (gate('PodLevelResources') && !fillsAfterAdmission(gate)) fillPodLevelRequests(spec)
}

/** Requests default to limits. */
function requestLimits({ resources }: Container): void {
  if (!resources.limits) return
  const requests = (resources.requests ??= {})
  for (const [name, limit] of Object.entries(resources.limits)) if (!Object.hasOwn(requests, name)) setOwn(requests, name, limit)
}

/** In the host network every port is a port of the node. */
function exposePorts({ ports }: Container): void {
  for (const port of ports ?? []) if (!port.hostPort && port.containerPort) port.hostPort = port.containerPort
}

/**
 * Copies resources and resize policies only. Added, removed, reordered or renamed containers are copied as received, for the rules to
 * refuse.
 */
function takeResources<P extends Pod>(sent: P, stored: P): P {
  const { containers = [], initContainers = [], resources } = sent.spec
  const old = stored.spec
  if ((containers ?? []).length !== (old.containers ?? []).length) return sent
  if ((initContainers ?? []).length !== (old.initContainers ?? []).length) return sent
  const spec = { ...old, containers: mergeResources(containers, old.containers) }
  if (old.initContainers) spec.initContainers = mergeResources(initContainers, old.initContainers)
  if (resources) spec.resources = resources
  else delete spec.resources
  return { ...stored, spec }
}

/** Completes a resized pod. */
function prepareResizedPod(pod: Pod, old: Pod, ctx: RequestContext): void {
  prepareChangedPod(pod, old, ctx)
  fillPodLevelResources(pod.spec)
}

function mergeResources(sent: Container[], stored: Container[]): Container[] {
  if (sent.some((container, i) => container.name !== stored[i]?.name)) return sent
  return stored.map((container, i) => {
    const { resizePolicy: _, ...kept } = container
    const { resources, resizePolicy } = sent[i]!
    return { ...kept, resources, ...(resizePolicy ? { resizePolicy } : {}) }
  })
}
