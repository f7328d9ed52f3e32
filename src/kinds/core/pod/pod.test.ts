import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  cells,
  check,
  checkSubresource,
  contextWith,
  created,
  type Draft,
  NOW,
  updated,
  withDefaults,
} from '../../../../test/kits/kinds/kinds.ts'
import { StatusError } from '../../../schema/status-error.ts'
import { Pod } from './pod.ts'

const { subresources, deletion, selectable } = Pod.def
const ctx = contextWith()

const draft = (spec: object = {}, more: object = {}): Draft => ({ spec: { containers: [{ name: 'c', image: 'a:1' }], ...spec }, ...more })
const stored = (spec: object = {}, more: object = {}): any => withDefaults(Pod, draft(spec, more))

test('a new pod is pending and has a class of service', () => {
  const { status, spec } = created(Pod, draft({}, { status: { phase: 'Running', podIP: '1.1.1.1' } }))
  assert.deepEqual(status, { phase: 'Pending', qosClass: 'BestEffort' })
  assert.equal(spec.enableServiceLinks, true)
})

test('what is limited is requested, and counts for the class of service', () => {
  const limits = { cpu: '1', memory: '1Gi' }
  const pod = created(Pod, draft({ containers: [{ name: 'c', resources: { limits, requests: { cpu: '500m' } } }] }))
  assert.deepEqual(pod.spec.containers[0].resources, { limits, requests: { cpu: '500m', memory: '1Gi' } })
  assert.equal(pod.status.qosClass, 'Burstable')
})

test('in the network of the node ports are ports of the node', () => {
  const containers = [{ name: 'c', ports: [{ containerPort: 80 }, { containerPort: 81, hostPort: 8081 }] }]
  const [{ ports }] = stored({ hostNetwork: true, containers }).spec.containers
  assert.deepEqual(
    ports.map((port: any) => port.hostPort),
    [80, 8081],
  )
})

test('a negative grace period becomes one second', () => {
  assert.equal(stored({ terminationGracePeriodSeconds: -5 }).spec.terminationGracePeriodSeconds, 1)
})

test('a pod without containers is filled without fault', () => {
  assert.equal(created(Pod, { spec: {} }).status.qosClass, 'BestEffort')
})

test('a pod that is held back is not scheduled', () => {
  const { status } = created(Pod, draft({ schedulingGates: [{ name: 'a' }] }))
  assert.deepEqual(status.conditions, [
    {
      type: 'PodScheduled',
      status: 'False',
      lastProbeTime: null,
      lastTransitionTime: '2026-07-01T12:00:00Z',
      reason: 'SchedulingGated',
      message: 'Scheduling is blocked due to non-empty scheduling gates',
    },
  ])
})

test('label keys become conditions on the labels of the pod', () => {
  const term = { topologyKey: 'zone', labelSelector: {}, matchLabelKeys: ['app', 'none'], mismatchLabelKeys: ['tier'] }
  const { spec } = created(
    Pod,
    draft(
      {
        affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
        topologySpreadConstraints: [{ topologyKey: 'zone', matchLabelKeys: ['app'] }],
      },
      { metadata: { labels: { app: 'a', tier: 't' } } },
    ),
  )
  assert.deepEqual(spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions, [
    { key: 'app', operator: 'In', values: ['a'] },
    { key: 'tier', operator: 'NotIn', values: ['t'] },
  ])
  assert.equal(spec.topologySpreadConstraints[0].labelSelector, undefined)
})

test('a profile given by annotation becomes a field', () => {
  const annotations = { 'container.apparmor.security.beta.kubernetes.io/c': 'localhost/strict' }
  const { spec } = created(Pod, draft({}, { metadata: { annotations } }))
  assert.deepEqual(spec.containers[0].securityContext, { appArmorProfile: { type: 'Localhost', localhostProfile: 'strict' } })
})

test('resources of the whole pod stay when an update leaves them out', () => {
  const old = draft({ resources: { limits: { cpu: '1' } } })
  const keeping = contextWith({ gates: ['PodLevelResources', 'PodLevelResourcesFixDefaulting'] })
  assert.deepEqual(updated(Pod, draft(), old, keeping).spec.resources, { limits: { cpu: '1' } })
  assert.equal(updated(Pod, draft(), old).spec.resources, undefined, 'without PodLevelResourcesFixDefaulting')
})

test('an ordinary pod passes, and so does a new image for it', () => {
  assert.deepEqual(check(Pod, draft()), [])
  assert.deepEqual(check(Pod, draft({ containers: [{ name: 'c', image: 'a:2' }] }), { old: draft() }), [])
})

test('what is decided about a pod cannot be changed', () => {
  const [error, ...rest] = check(Pod, draft({ nodeName: 'other' }), { old: draft({ nodeName: 'n' }) })
  assert.match(error!, /^spec: Forbidden: pod updates may not change fields other than `spec.containers\[\*\].image`/)
  assert.deepEqual(rest, [])
})

test('every subresource has its own rules', () => {
  const debug = { name: 'debug', image: 'b', terminationMessagePolicy: 'File' }
  assert.deepEqual(checkSubresource(Pod, 'ephemeralcontainers', draft({ ephemeralContainers: [debug] }), draft()), [])
  assert.match(
    checkSubresource(Pod, 'ephemeralcontainers', draft(), draft({ ephemeralContainers: [debug] }))[0]!,
    /^spec.ephemeralContainers: Forbidden: existing ephemeral containers "debug" may not be removed/,
  )
  assert.deepEqual(checkSubresource(Pod, 'status', draft({}, { status: { phase: 'Running', podIP: '10.0.0.1' } }), draft()), [])
  assert.deepEqual(
    checkSubresource(Pod, 'status', draft({}, { status: { qosClass: 'Burstable' } }), draft({}, { status: { qosClass: 'Guaranteed' } })),
    ['status.qosClass: Invalid value: "Burstable": field is immutable'],
  )
  const sized = (cpu: string) => draft({ containers: [{ name: 'c', image: 'a:1', resources: { requests: { cpu } } }] })
  assert.deepEqual(checkSubresource(Pod, 'resize', sized('2'), sized('1')), [])
})

test('deletion waits for running pods only', () => {
  const grace = (spec: object, status: object, asked?: number) => deletion!.grace!(stored(spec, { status }), asked)
  assert.equal(grace({}, { phase: 'Pending' }), 0)
  assert.equal(grace({ nodeName: 'n' }, { phase: 'Running' }), 30)
  assert.equal(grace({ nodeName: 'n' }, { phase: 'Running' }, 5), 5)
  assert.equal(grace({ nodeName: 'n' }, { phase: 'Running' }, 0), 0)
  assert.equal(grace({ nodeName: 'n' }, { phase: 'Running' }, -1), 1)
  assert.equal(grace({ nodeName: 'n' }, { phase: 'Succeeded' }, 5), 0)
})

test('a status keeps fields that its writer must not change or does not support', () => {
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' }]
  const old = stored(
    {},
    {
      metadata: { ownerReferences },
      status: {
        phase: 'Pending',
        qosClass: 'BestEffort',
        observedGeneration: 3,
        conditions: [{ type: 'Ready', status: 'False', observedGeneration: 2 }],
      },
    },
  )
  const sent = stored(
    {},
    {
      metadata: { deletionTimestamp: '2026-07-01T12:00:00Z' },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    },
  )
  subresources!.status!.prepareForUpdate!(sent, old, ctx)
  assert.deepEqual(sent.metadata.ownerReferences, ownerReferences)
  assert.equal(sent.metadata.deletionTimestamp, undefined)
  assert.equal(sent.status.phase, 'Running')
  assert.equal(sent.status.qosClass, 'BestEffort')
  assert.equal(sent.status.observedGeneration, 3)
  assert.equal(sent.status.conditions[0].observedGeneration, 2)
})

test('ephemeral containers are all that their path changes', () => {
  const sent = stored({ nodeName: 'other', ephemeralContainers: [{ name: 'debug', image: 'b' }] })
  const old = stored({ nodeName: 'n' })
  const taken = subresources!.updates!.ephemeralcontainers!.merge!(sent, old)
  assert.deepEqual(taken.spec, { ...old.spec, ephemeralContainers: sent.spec.ephemeralContainers })
})

test('resources are all that a resize changes', () => {
  const resources = { limits: { cpu: '2' }, requests: { cpu: '2' } }
  const resizePolicy = [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }]
  const old = stored({ containers: [{ name: 'c', image: 'a:1', resources: { limits: { cpu: '1' } } }] })
  const take = subresources!.updates!.resize!.merge!
  const taken = take(stored({ nodeName: 'x', containers: [{ name: 'c', image: 'b:2', resources, resizePolicy }] }), old)
  assert.deepEqual(taken.spec, { ...old.spec, containers: [{ ...old.spec.containers[0], resources, resizePolicy }] })
  const renamed = stored({ containers: [{ name: 'd', image: 'b:2' }] })
  assert.equal(take(renamed, old).spec.containers[0]!.name, 'd')
})

const act = (name: 'binding' | 'eviction', pod: Pod, sent: object) => {
  const { check, change } = subresources!.creates![name]!
  const input = { metadata: { name: 'x' }, ...sent } as never
  check!(input, 'x')
  return change!(pod, input, ctx)
}
const refusal = (action: () => unknown): string => {
  try {
    action()
  } catch (error) {
    if (error instanceof StatusError) return `${error.code} ${error.message}`
  }
  return ''
}

test('a binding puts a pod on a node', () => {
  const pod = stored({}, { metadata: { labels: { a: '1' } }, status: { nominatedNodeName: 'm' } })
  const bound: any = act('binding', pod, {
    kind: 'Binding',
    metadata: { name: 'x', labels: { ['__proto__']: 'p', a: '2' }, annotations: { note: 'n' } },
    target: { kind: 'Node', name: 'node-1' },
  })
  assert.equal(bound.spec.nodeName, 'node-1')
  assert.equal(bound.status.nominatedNodeName, undefined)
  assert.deepEqual(Object.entries(bound.metadata.labels), [
    ['a', '2'],
    ['__proto__', 'p'],
  ])
  assert.deepEqual(bound.metadata.annotations, { note: 'n' })
  assert.deepEqual(
    bound.status.conditions.map((c: any) => [c.type, c.status]),
    [['PodScheduled', 'True']],
  )
})

test('a binding is refused when the pod cannot be bound', () => {
  const target = { name: 'node-1' }
  const refused = (pod: Pod, input: object = {}) => refusal(() => act('binding', pod, { kind: 'Binding', target, ...input }))
  assert.equal(
    refused(stored({ nodeName: 'n' })),
    '409 Operation cannot be fulfilled on pods/binding "x": pod x is already assigned to node "n"',
  )
  assert.equal(
    refused(stored({ schedulingGates: [{ name: 'a' }] })),
    '409 Operation cannot be fulfilled on pods/binding "x": pod x has non-empty .spec.schedulingGates',
  )
  assert.equal(refused(stored(), { metadata: { name: 'y' } }), '400 name in URL does not match name in Binding object')
  assert.equal(refused(stored(), { target: {} }), '422 Binding "x" is invalid: target.name: Required value')
  assert.equal(
    refused(stored(), { target: { kind: 'Pod', name: 'p' } }),
    '422 Binding "x" is invalid: target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
  )
  assert.match(refused(stored(), { metadata: { name: 'x', uid: 'other' } }), /^409 .*Precondition failed: UID in precondition: other/)
})

test('an eviction deletes the pod and says why', () => {
  const pod = stored()
  assert.equal(act('eviction', pod, { kind: 'Eviction' }), 'delete')
  assert.equal(pod.status.conditions[0].reason, 'EvictionByEvictionAPI')
  const deleteOptions = { ignoreStoreReadErrorWithClusterBreakingPotential: true }
  assert.match(
    refusal(() => act('eviction', pod, { kind: 'Eviction', deleteOptions })),
    /^422 Eviction.policy "x" is invalid: deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: can not be set for pod eviction/,
  )
})

test('fields by which pods are selected read as text or nothing', () => {
  const pod = stored({ nodeName: 'n' }, { status: { podIP: '10.0.0.1' } })
  const read = Object.fromEntries(Object.entries(selectable!).map(([name, get]) => [name, get(pod)]))
  assert.deepEqual(read, {
    'spec.nodeName': 'n',
    'spec.host': 'n',
    'spec.restartPolicy': 'Always',
    'spec.schedulerName': 'default-scheduler',
    'spec.serviceAccountName': undefined,
    'spec.hostNetwork': false,
    'status.phase': undefined,
    'status.podIP': '10.0.0.1',
    'status.podIPs': undefined,
    'status.nominatedNodeName': undefined,
  })
})

test('a row of a table', () => {
  const creationTimestamp = new Date(NOW.getTime() - 90_000).toISOString().replace('.000', '')
  assert.deepEqual(cells(Pod, draft({}, { metadata: { creationTimestamp }, status: { phase: 'Pending' } })), {
    Ready: '0/1',
    Status: 'Pending',
    Restarts: '0',
    Age: '90s',
    IP: '<none>',
    Node: '<none>',
    'Nominated Node': '<none>',
    'Readiness Gates': '<none>',
  })
})
