import assert from 'node:assert/strict'
import { test } from 'node:test'
import { container } from '../../../../test/kits/kinds/pod-shapes.ts'
import { type Draft, errors, MIRROR } from '../../../../test/kits/kinds/pods.ts'
import { validatePodResize } from './resize-rules.ts'

const cpu = (amount: string, more: object = {}) => ({
  spec: { containers: [container({ resources: { requests: { cpu: amount }, ...more } })] },
})
const resizeRows: readonly (readonly [name: string, old: Draft, now: Draft, expected: readonly string[]])[] = [
  ['cpu may change', cpu('1'), cpu('2'), []],
  [
    'requests are not given up',
    cpu('1'),
    { spec: { containers: [container({ resources: { requests: { memory: '1Gi' } } })] } },
    ['spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed'],
  ],
  [
    'only cpu and memory change',
    cpu('1'),
    { spec: { containers: [container({ resources: { requests: { cpu: '1', 'ephemeral-storage': '1Gi' } } })] } },
    ['spec: Forbidden: only cpu and memory resources are mutable'],
  ],
  [
    'the QoS class cannot change',
    cpu('1'),
    cpu('1', { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1', memory: '1Gi' } }),
    ['spec: Invalid value: "": Pod QOS Class may not change as a result of resizing'],
  ],
  [
    'containers stay',
    cpu('1'),
    { spec: { containers: [container({ name: 'x', resources: { requests: { cpu: '1' } } })] } },
    ['spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize'],
  ],
  [
    'containers are not added',
    cpu('1'),
    { spec: { containers: [container({ resources: { requests: { cpu: '1' } } }), container({ name: 'b' })] } },
    ['spec.containers: Forbidden: containers may not be added or removed on resize'],
  ],
  [
    'other fields stay',
    cpu('1'),
    { spec: { ...cpu('1').spec, hostname: 'x' } },
    ['spec: Forbidden: only cpu and memory resources are mutable'],
  ],
  [
    'mirrors are not resized',
    { metadata: MIRROR, spec: { nodeName: 'n' } },
    { metadata: MIRROR, spec: { nodeName: 'n' } },
    [': Forbidden: static pods cannot be resized'],
  ],
  [
    'Windows pods are not resized',
    { spec: { os: { name: 'windows' } } },
    { spec: { os: { name: 'windows' } } },
    [': Forbidden: windows pods cannot be resized'],
  ],
  [
    'a node without reported resources cannot resize',
    { ...cpu('1'), status: { containerStatuses: [{ name: 'main', state: { running: {} } }] } },
    cpu('2'),
    ['spec: Forbidden: Pod running on node without support for resize'],
  ],
  [
    'volumes stay',
    cpu('1'),
    { spec: { ...cpu('1').spec, volumes: [{ name: 'v', emptyDir: {} }] } },
    ['spec.volumes: Forbidden: volumes are immutable on resize when InPlacePodVerticalScalingMemoryBackedVolumes feature gate is disabled'],
  ],
  [
    'resources of the pod are not given up',
    { spec: { resources: { requests: { cpu: '1', memory: '1Gi' } } } },
    { spec: { resources: { requests: { cpu: '2' } } } },
    ['spec.resources.requests: Forbidden: pod-level resource requests cannot be removed'],
  ],
]
for (const [name, old, now, expected] of resizeRows)
  test(`resizing: ${name}`, () => assert.deepEqual(errors(validatePodResize, now, { old }), expected))

test('resizing: volumes in memory may grow with the feature', () => {
  const volume = (sizeLimit: string | undefined, medium: string) => ({
    spec: { volumes: [{ name: 'v', emptyDir: { ...(sizeLimit ? { sizeLimit } : {}), medium } }] },
  })
  const more = ['InPlacePodVerticalScalingMemoryBackedVolumes']
  assert.deepEqual(errors(validatePodResize, volume('2Gi', 'Memory'), { old: volume('1Gi', 'Memory'), more }), [])
  assert.deepEqual(errors(validatePodResize, volume('2Gi', ''), { old: volume('1Gi', ''), more }), [
    'spec.volumes[0].emptyDir.sizeLimit: Forbidden: sizeLimit is only mutable for memory-backed emptyDir volumes',
  ])
  assert.deepEqual(errors(validatePodResize, volume(undefined, 'Memory'), { old: volume('1Gi', 'Memory'), more }), [
    'spec.volumes[0].emptyDir.sizeLimit: Forbidden: adding or removing sizeLimit on an existing volume is not allowed',
  ])
})

test('resizing: a pod covers what claims take for its containers, with the feature', () => {
  const draft = (cpu: string, more: object = {}) => ({
    spec: {
      resources: { requests: { cpu }, limits: { cpu, ...more } },
      containers: [container({ resources: { requests: { cpu: '1' }, limits: { cpu: '1' } } })],
      resourceClaims: [{ name: 'c', resourceClaimName: 'c' }],
    },
    status: {
      nodeAllocatableResourceClaimStatuses: [
        {
          resourceClaimName: 'c',
          containers: ['main'],
          mapping: [{ name: 'cpu', quantity: '1' }],
          overhead: [{ name: 'cpu', perPod: '1', perContainer: '1' }],
        },
      ],
    },
  })
  const more = ['DRANodeAllocatableResources']
  assert.deepEqual(errors(validatePodResize, draft('5'), { old: draft('4'), more }), [])
  assert.deepEqual(errors(validatePodResize, draft('3'), { old: draft('4') }), [])
  assert.deepEqual(errors(validatePodResize, draft('3'), { old: draft('4'), more }), [
    'spec.resources: Invalid value: {"Limits":{"cpu":"3"},"Requests":{"cpu":"3"},"Claims":null}: pod level request for cpu is insufficient to cover the aggregated container and node-allocatable DRA requests',
  ])
})
