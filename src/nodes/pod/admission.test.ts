import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { PodSpec } from '../../kinds/rules/pod/spec.ts'
import { rejectionOf, resizeProblem } from './admission.ts'

const spec = (cpu: string, more: object = {}) =>
  ({ containers: [{ name: 'c', resources: { requests: { cpu } } }], ...more }) as unknown as PodSpec
const pod = (cpu: string, status: object = {}) => ({ metadata: {}, spec: spec(cpu), status }) as unknown as Pod
const allocatable = { cpu: '2', memory: '1Gi', pods: '3' }
const NODE = { name: 'n', labels: { zone: 'a' }, taints: [], allocatable, count: 0, gate: () => true }

test('a node takes a pod while it has what the pod requests', () => {
  const node = { ...NODE, count: 1 }
  assert.equal(
    rejectionOf(spec('1500m'), () => [pod('500m')], node),
    undefined,
  )
  assert.deepEqual(
    rejectionOf(spec('1501m'), () => [pod('500m')], node),
    {
      reason: 'OutOfcpu',
      message: "Node didn't have enough resource: cpu, requested: 1501, used: 500, capacity: 2000",
    },
  )
  assert.equal(
    rejectionOf(spec('0'), () => [pod('9')], node),
    undefined,
  )
  assert.equal(rejectionOf(spec('0'), () => [], { ...NODE, count: 3 })?.reason, 'OutOfpods')
  const gpu = { containers: [{ name: 'c', resources: { requests: { 'example.com/gpu': '1' } } }] } as unknown as PodSpec
  assert.equal(
    rejectionOf(gpu, () => [], { ...node, allocatable: { ...allocatable, 'example.com/gpu': '0' } })?.reason,
    'OutOfexample.com/gpu',
  )
  // A kubelet lets pass what its node knows nothing of.
  assert.equal(
    rejectionOf(gpu, () => [], node),
    undefined,
  )
})

test('a node takes a pod that may be there, whose ports are free, and for whose system it is', () => {
  const reasonFor = (more: object, { others = [] as object[], taints = [] as object[] } = {}) =>
    rejectionOf(spec('0', more), () => others.map(each => ({ ...pod('0'), spec: spec('0', each) })), { ...NODE, taints: taints as never })
      ?.reason
  assert.equal(reasonFor({ nodeSelector: { zone: 'a' } }), undefined)
  assert.equal(reasonFor({ nodeSelector: { zone: 'b' } }), 'NodeAffinity')
  const listening = (hostIP?: string) => ({ containers: [{ name: 'c', ports: [{ containerPort: 1, hostPort: 80, hostIP }] }] })
  assert.equal(reasonFor(listening(), { others: [{}] }), undefined)
  assert.equal(reasonFor(listening(), { others: [listening('10.0.0.1')] }), 'NodePorts')
  assert.equal(reasonFor(listening('10.0.0.2'), { others: [listening('10.0.0.1')] }), undefined)
  const taints = [{ key: 'k', effect: 'NoExecute' }]
  assert.equal(reasonFor({}, { taints }), 'TaintToleration')
  assert.equal(reasonFor({ tolerations: [{ key: 'k', operator: 'Exists' }] }, { taints }), undefined)
  assert.equal(reasonFor({}, { taints: [{ key: 'k', effect: 'NoSchedule' }] }), undefined)
  assert.deepEqual(
    rejectionOf(spec('0', { os: { name: 'windows' } }), () => [], NODE),
    {
      reason: 'PodOSNotSupported',
      message: "Failed to admit pod as the OS field doesn't match node OS",
    },
  )
})

test('init containers count while they run, sidecars with the containers', () => {
  const init = (cpu: string, more = {}) => ({ name: 'i', resources: { requests: { cpu } }, ...more })
  const fits = (initContainers: object[]) => !rejectionOf(spec('1', { initContainers }), () => [], NODE)
  assert.ok(fits([init('2')]))
  assert.ok(!fits([init('2100m')]))
  assert.ok(!fits([init('1100m', { restartPolicy: 'Always' })]))
  assert.ok(!fits([init('500m', { restartPolicy: 'Always' }), init('1600m')]))
})

test('a resize is infeasible when the node is too small, and deferred while others use it', () => {
  assert.equal(resizeProblem(spec('3'), () => [], NODE)?.reason, 'Infeasible')
  assert.equal(resizeProblem(spec('2'), () => [pod('1')], NODE)?.reason, 'Deferred')
  assert.equal(
    resizeProblem(spec('2'), () => [], NODE),
    undefined,
  )
})

test('devices that are resources of the node count for the pod and for others, where the feature is on', () => {
  const claimed = [{ resourceClaimName: 'c', mapping: [{ name: 'cpu', quantity: '1' }] }]
  const other = pod('500m', { nodeAllocatableResourceClaimStatuses: claimed })
  const reasonOf = (room: object) => rejectionOf(spec('500m'), () => [other], { ...NODE, ...room })?.reason
  assert.equal(reasonOf({}), undefined)
  assert.equal(reasonOf({ claimed }), 'OutOfcpu')
  assert.equal(reasonOf({ claimed, gate: () => false }), undefined)
  assert.equal(resizeProblem(spec('1'), () => [other], NODE)?.reason, 'Deferred')
})

test('a node takes no pod that sets kernel parameters which others would notice', () => {
  const rejection = (name: string, more: object = {}) =>
    rejectionOf(spec('0', { securityContext: { sysctls: [{ name, value: '1' }] }, ...more }), () => [], NODE)
  assert.equal(rejection('kernel.shm_rmid_forced'), undefined)
  assert.equal(rejection('net/ipv4/tcp_syncookies'), undefined)
  assert.deepEqual(rejection('kernel/msgmax'), { reason: 'SysctlForbidden', message: 'forbidden sysctl: "kernel.msgmax" not allowlisted' })
  const onHost = rejection('net.ipv4.tcp_rmem', { hostNetwork: true })
  assert.equal(onHost?.message, 'forbidden sysctl: "net.ipv4.tcp_rmem" not allowed with host Net enabled')
})
