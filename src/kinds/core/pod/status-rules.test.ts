import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contextWith } from '../../../../test/kits/kinds/kinds.ts'
import { container, texts } from '../../../../test/kits/kinds/pod-shapes.ts'
import { type Draft, errors, GATES, podOf } from '../../../../test/kits/kinds/pods.ts'
import { type Ref, refTo } from '../../../schema/refs.ts'
import type { PodStatus } from '../../rules/pod/status/status.ts'
import type { Pod } from './pod.ts'
import { validatePodStatusUpdate } from './status-rules.ts'

const ended = (exitCode: number) => ({ name: 'main', state: { terminated: { exitCode } } })
const statusRows: readonly (readonly [name: string, now: object, expected: readonly string[], old?: Draft])[] = [
  ['nothing observed is fine', {}, []],
  [
    'conditions are label keys and count up',
    { conditions: [{ type: 'Ready', observedGeneration: -1 }, { type: 'a b' }] },
    [
      'status.conditions[0].observedGeneration: Invalid value: -1: must be a non-negative integer',
      "status.conditions[1].Type: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
  ],
  [
    'a bound pod is not nominated',
    { nominatedNodeName: 'x' },
    ['status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node'],
    { spec: { nodeName: 'n' } },
  ],
  ['generations count up', { observedGeneration: -1 }, ['status.observedGeneration: Invalid value: -1: must be a non-negative integer']],
  [
    'the QoS class cannot change',
    { qosClass: 'Burstable' },
    ['status.qosClass: Invalid value: "Burstable": field is immutable'],
    { status: { qosClass: 'BestEffort' } },
  ],
  [
    'a container that ended may run again',
    { containerStatuses: [{ name: 'main', state: { running: {} } }] },
    [],
    { status: { containerStatuses: [ended(0)] } },
  ],
  [
    'a container that terminated finally cannot run again',
    { containerStatuses: [{ name: 'main', state: { running: {} } }] },
    ['status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state'],
    { spec: { restartPolicy: 'OnFailure' }, status: { containerStatuses: [ended(0)] } },
  ],
  [
    'a container that failed may run again',
    { containerStatuses: [{ name: 'main', state: { running: {} } }] },
    [],
    { spec: { restartPolicy: 'OnFailure' }, status: { containerStatuses: [ended(1)] } },
  ],
  [
    'a rule of the container decides first',
    { containerStatuses: [{ name: 'main', state: { running: {} } }] },
    [],
    {
      spec: {
        restartPolicy: 'Never',
        containers: [
          container({ restartPolicy: 'Never', restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }] }),
        ],
      },
      status: { containerStatuses: [ended(42)] },
    },
  ],
  [
    'ephemeral containers end once',
    { ephemeralContainerStatuses: [{ name: 'main', state: { running: {} } }] },
    ['status.ephemeralContainerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state'],
    { status: { ephemeralContainerStatuses: [ended(0)] } },
  ],
  [
    'claims are those of the pod',
    { resourceClaimStatuses: [{ name: 'a' }, { name: 'a' }] },
    [
      'status.resourceClaimStatuses[0].name: Invalid value: "a": must match the name of an entry in `spec.resourceClaims`',
      'status.resourceClaimStatuses[1].name: Invalid value: "a": must match the name of an entry in `spec.resourceClaims`',
      'status.resourceClaimStatuses[1].name: Duplicate value: "a"',
    ],
  ],
  [
    'claims for extended resources are mapped',
    {
      extendedResourceClaimStatus: {
        requestMappings: [
          { containerName: 'x', resourceName: 'a/b', requestName: 'r' },
          { containerName: 'main', resourceName: 'a/b', requestName: 'r' },
        ],
        resourceClaimName: '',
      },
    },
    [
      'status.extendedResourceClaimStatus.requestMappings[0].containerName: Invalid value: "x": must match the name of an entry in spec.initContainers.name or spec.containers.name',
      'status.extendedResourceClaimStatus.requestMappings[1].resourceName: Invalid value: "a/b": must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests',
      'status.extendedResourceClaimStatus.resourceClaimName: Required value',
    ],
  ],
  [
    'node allocatable resources of claims refer to claims of the pod, with supported names',
    {
      nodeAllocatableResourceClaimStatuses: [
        { resourceClaimName: 'c', mapping: [{ name: 'gold', quantity: '-1' }], overhead: [{ name: 'cpu' }] },
      ],
    },
    [
      'status.nodeAllocatableResourceClaimStatuses[0].resourceClaimName: Invalid value: "c": no mapping found in pod reference',
      'status.nodeAllocatableResourceClaimStatuses[0].mapping[0].name: Invalid value: "gold": must be a node allocatable resource name',
      'status.nodeAllocatableResourceClaimStatuses[0].mapping[0].quantity: Invalid value: "-1": must be non-negative',
      'status.nodeAllocatableResourceClaimStatuses[0].overhead[0]: Invalid value: "": at least one of perPod or perContainer must be set',
    ],
  ],
  [
    'volumes that are unwell are of the pod',
    { volumeHealth: [{ name: 'v', healthConditions: [{ status: 'Degraded', reason: '1' }] }] },
    [
      'status.volumeHealth[0].name: Not found: "v"',
      "status.volumeHealth[0].healthConditions[0].reason: Invalid value: \"1\": a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')",
    ],
  ],
  [
    'volumes and their conditions are listed once, and complete',
    {
      volumeHealth: [
        {
          name: '',
          healthConditions: [
            { status: '', reason: '' },
            { status: 'Degraded', reason: 'A' },
            { status: 'Degraded', reason: 'A' },
          ],
        },
        { name: '' },
      ],
    },
    [
      'status.volumeHealth[1]: Duplicate value: {"name":"","lastTransitionTime":null}',
      'status.volumeHealth[0].name: Required value',
      'status.volumeHealth[0].healthConditions[2]: Duplicate value: {"status":"Degraded","reason":"A"}',
      'status.volumeHealth[0].healthConditions[0].status: Required value',
      'status.volumeHealth[0].healthConditions[0].reason: Required value',
      'status.volumeHealth[1].name: Required value',
    ],
  ],
  [
    'a pair of addresses has one of each family',
    { podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }] },
    ['status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: may specify no more than one IP for each IP family'],
  ],
  [
    'addresses of the node are addresses',
    { hostIP: 'x', hostIPs: [{ ip: 'x' }, { ip: '::1' }] },
    [
      'status.hostIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      'status.hostIPs: Internal error: failed to check for dual stack with error:invalid IP[0]: x',
      'status.hostIPs: Invalid value: [{"IP":"x"},{"IP":"::1"}]: may specify no more than one IP for each IP family',
    ],
  ],
  [
    'users of containers are in range',
    { containerStatuses: [{ name: 'main', user: { linux: { uid: 4294967296, gid: -1, supplementalGroups: [-1] } } }] },
    [
      'status.containerStatuses[0].user.linux.uid: Invalid value: 4294967296: must be between 0 and 4294967295, inclusive',
      'status.containerStatuses[0].user.linux.gid: Invalid value: -1: must be between 0 and 2147483647, inclusive',
      'status.containerStatuses[0].user.linux.supplementalGroups[0]: Invalid value: -1: must be between 0 and 2147483647, inclusive',
    ],
  ],
  [
    'allocated resources are among the requests, each listed once',
    {
      containerStatuses: [
        {
          name: 'main',
          allocatedResourcesStatus: [
            {
              name: 'a/gpu',
              resources: [
                { resourceID: 'x', health: 'Odd', message: '' },
                { resourceID: 'x', health: 'Healthy' },
              ],
            },
            { name: 'claim:c' },
          ],
        },
      ],
    },
    [
      'status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "a/gpu": must match one of the container\'s resource requests',
      'status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].health: Unsupported value: "Odd": supported values: "Healthy", "Unhealthy", "Unknown"',
      'status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].message: Required value: must be non-empty if specified',
      'status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].resourceID: Duplicate value: "x"',
      "status.containerStatuses[0].allocatedResourcesStatus[1].name: Invalid value: \"claim:c\": must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty",
    ],
  ],
  [
    'ephemeral containers are given no devices',
    { ephemeralContainerStatuses: [{ name: 'e', allocatedResourcesStatus: [{ name: 'a/gpu' }] }] },
    ['status.ephemeralContainerStatuses[0].allocatedResourcesStatus: Forbidden: must not be specified in container status'],
  ],
]
for (const [name, status, expected, old = {}] of statusRows)
  test(`status: ${name}`, () => assert.deepEqual(errors(validatePodStatusUpdate, { ...old, status }, { old }), expected))

test('status: podIP and podIPs agree', () => {
  const pod = podOf({})
  const check = (status: Partial<PodStatus>) => {
    const changed = { ...pod, status: { ...pod.status, ...status } }
    return texts(validatePodStatusUpdate(changed, refTo(changed) as Ref<Pod>, { ...contextWith({ gates: GATES }), old: pod }))
  }
  const message = 'podIP and podIPs must either both be set or both be unset'
  assert.deepEqual(check({ podIP: '10.0.0.1' }), [`status.podIPs: Invalid value: null: ${message}`])
  assert.deepEqual(check({ podIPs: [{ ip: '10.0.0.1' }] }), [`status.podIPs: Invalid value: [{"IP":"10.0.0.1"}]: ${message}`])
  assert.deepEqual(check({ podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.2' }] }), [
    'status.podIPs[0].ip: Invalid value: "10.0.0.2": must be equal to `podIP`',
  ])
})
