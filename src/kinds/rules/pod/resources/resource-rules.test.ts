import assert from 'node:assert/strict'
import { test } from 'node:test'
import { container, containerErrors, podSpec, type Rows, specErrors } from '../../../../../test/kits/kinds/pod-shapes.ts'
import { isExtendedResourceName, isIntegerResource, isOvercommitAllowed, isWholeHugePages } from './resource-rules.ts'

const limits = (limits: object) => ({ resources: { limits } })

const rows: Rows<object> = [
  ['common resources are fine', limits({ cpu: '1', memory: '1Gi', 'ephemeral-storage': '1G', 'example.com/gpu': '1' }), []],
  [
    'unqualified names are those of containers',
    limits({ gold: '1' }),
    [
      'resources.limits[gold]: Invalid value: "gold": must be a standard resource type or fully qualified',
      'resources.limits[gold]: Invalid value: "gold": must be a standard resource for containers',
    ],
  ],
  [
    'resources of quotas are not for containers',
    limits({ pods: '1' }),
    ['resources.limits[pods]: Invalid value: "pods": must be a standard resource for containers'],
  ],
  [
    'extended resources have names that quotas can use',
    limits({ 'requests.example.com/gpu': '1' }),
    [
      'resources.limits[requests.example.com/gpu]: Invalid value: "requests.example.com/gpu": doesn\'t follow extended resource name standard',
    ],
  ],
  [
    'names of prototypes are names like others',
    limits({ __proto__x: '1' }),
    [
      "resources.limits[__proto__x]: Invalid value: \"__proto__x\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      'resources.limits[__proto__x]: Invalid value: "__proto__x": must be a standard resource for containers',
    ],
  ],
  ['amounts are not negative', limits({ cpu: '-1' }), ['resources.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0']],
  [
    'what is counted is whole',
    limits({ 'example.com/gpu': '500m' }),
    ['resources.limits[example.com/gpu]: Invalid value: "500m": must be an integer'],
  ],
  [
    'requests stay below limits',
    { resources: { limits: { cpu: '1' }, requests: { cpu: '2' } } },
    ['resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
  ],
  [
    'resources without overcommit need equal requests and limits',
    { resources: { limits: { 'example.com/gpu': '2' }, requests: { 'example.com/gpu': '1', 'example.com/fpga': '1' } } },
    [
      'resources.requests: Invalid value: "1": must be equal to example.com/gpu limit of 2',
      'resources.limits: Required value: Limit must be set for non overcommitable resources',
    ],
  ],
  [
    'huge pages are multiples of the page size, and require cpu or memory',
    limits({ 'hugepages-2Mi': '3Mi' }),
    [
      'resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
      'resources: Forbidden: HugePages require cpu or memory',
    ],
  ],
  [
    'claims are declared by the pod',
    { resources: { claims: [{ name: 'a' }, { name: '' }] } },
    [
      'resources.claims[0]: Not found: "a": must be one of the names in pod.spec.resourceClaims which is empty',
      'resources.claims[1]: Required value',
    ],
  ],
]
for (const [name, given, expected] of rows) test(name, () => assert.deepEqual(containerErrors(given), expected))

test('a claim and the requests in it are named once', () => {
  const resourceClaims = [
    { name: 'b', resourceClaimName: 'x' },
    { name: 'a', resourceClaimName: 'x' },
  ]
  const claims = [{ name: 'a', request: 'r' }, { name: 'a', request: 'r' }, { name: 'a' }, { name: 'a' }, { name: 'c', request: 'A' }]
  assert.deepEqual(
    containerErrors({ resources: { claims } }, { resourceClaims }).map(text => text.slice(0, 110)),
    [
      'resources.claims[1]: Duplicate value: "a/r"',
      'resources.claims[2]: Duplicate value: "a"',
      'resources.claims[3]: Duplicate value: "a"',
      'resources.claims[4].request: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or \'-\', and must start'.slice(
        0,
        110,
      ),
      'resources.claims[4]: Not found: "c": must be one of the names in pod.spec.resourceClaims: a, b',
    ],
  )
})

test('names of resources are classified', () => {
  assert.equal(isExtendedResourceName('example.com/gpu'), true)
  assert.equal(isExtendedResourceName('kubernetes.io/gpu'), false)
  assert.equal(isExtendedResourceName('gpu'), false)
  assert.equal(isExtendedResourceName(`${'a'.repeat(250)}.com/gpu`), false)
  assert.equal(isIntegerResource('services.nodeports'), true)
  assert.equal(isIntegerResource('cpu'), false)
  assert.equal(isOvercommitAllowed('hugepages-2Mi'), false)
  assert.equal(isOvercommitAllowed('memory'), true)
  assert.equal(isWholeHugePages('hugepages-2Mi', '4Mi'), true)
  assert.equal(isWholeHugePages('hugepages-0', '4Mi'), false)
  assert.equal(isWholeHugePages('hugepages-many', '4Mi'), false)
})

const podRows: Rows<object> = [
  [
    'pod-level resources are cpu, memory and huge pages only',
    { resources: { limits: { 'ephemeral-storage': '1' } } },
    ['spec.resources.limits[ephemeral-storage]: Unsupported value: "ephemeral-storage": supported values: "cpu", "hugepages-", "memory"'],
  ],
  [
    'a pod has no claims as a whole',
    { resources: { claims: [{ name: 'a' }] }, resourceClaims: [{ name: 'a', resourceClaimName: 'x' }] },
    ['spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level'],
  ],
  [
    'pod-level requests cover the sum of those of the containers',
    {
      resources: { requests: { cpu: '1' }, limits: { cpu: '2' } },
      containers: [
        container({ resources: { requests: { cpu: '600m' }, limits: { cpu: '3' } } }),
        container({ name: 'b', resources: { requests: { cpu: '600m' } } }),
      ],
    },
    [
      'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 1200m',
      'spec.resources.containers[0][cpu].limits: Invalid value: "3": must be less than or equal to pod limits of 2',
    ],
  ],
  [
    'a pod has as many huge pages as its containers together',
    {
      resources: { requests: { 'hugepages-2Mi': '2Mi', cpu: '1' }, limits: { 'hugepages-2Mi': '2Mi', cpu: '1' } },
      containers: ['a', 'b'].map(name => container({ name, resources: { limits: { 'hugepages-2Mi': '2Mi', cpu: '100m' } } })),
    },
    ['spec.resources.limits[hugepages-2Mi]: Invalid value: "2Mi": must be greater than or equal to aggregate container limits of 4Mi'],
  ],
  [
    'a Windows pod has no pod-level resources',
    { resources: { limits: { cpu: '1' } }, os: { name: 'windows' } },
    ['spec.resources: Forbidden: may not be set for a windows pod'],
  ],
  [
    'overhead is measured like limits',
    { overhead: { cpu: '-1', gold: '1' } },
    [
      'spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
      'spec.overhead.limits[gold]: Invalid value: "gold": must be a standard resource type or fully qualified',
      'spec.overhead.limits[gold]: Invalid value: "gold": must be a standard resource for containers',
    ],
  ],
]
for (const [name, given, expected] of podRows) test(name, () => assert.deepEqual(specErrors(podSpec(given)), expected))

test('without the feature gate, pod-level resources are not validated', () =>
  assert.deepEqual(specErrors(podSpec({ resources: { limits: { gold: '1' } } }), { podLevelResources: false }), []))
