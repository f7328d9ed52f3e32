import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readerOf } from '../../../../test/kits/admission.ts'
import { NOW } from '../../../../test/kits/kinds/kinds.ts'
import type { AnyObject } from '../../../schema/object-meta.ts'
import { type Evaluator, inScopes } from './evaluator.ts'
import { evaluators } from './evaluators.ts'
import { amountsOf } from './resource-list.ts'

const object = (content: object, metadata: object = {}): AnyObject =>
  ({ apiVersion: 'v1', kind: 'X', metadata: { name: 'x', namespace: 'default', ...metadata }, ...content }) as AnyObject

const evaluatorFor = (
  plural: string,
  { group = '', objects = {} }: { group?: string; objects?: Record<string, AnyObject[]> } = {},
): Evaluator =>
  evaluators({ reader: readerOf(objects), groupDomain: 'k8s.io', now: () => NOW, hasPodLevel: true, hasExtendedResources: true })({
    group,
    plural,
    namespaced: true,
  })!

const usageOf = (plural: string, content: AnyObject, options?: { group?: string; objects?: Record<string, AnyObject[]> }) =>
  amountsOf(evaluatorFor(plural, options).usage(content))

const container = (name: string, requests: object = {}, limits: object = {}, more: object = {}) => ({
  name,
  image: 'i',
  resources: { requests, limits },
  ...more,
})
const pod = (spec: object, status: object = {}, metadata: object = {}) => object({ spec, status }, metadata)

const POD_USAGE: readonly (readonly [what: string, pod: AnyObject, usage: object])[] = [
  ['asks for nothing', pod({ containers: [container('a')] }), {}],
  [
    'has two containers',
    pod({ containers: [container('a', { cpu: '1', memory: '1Gi' }, { cpu: '2' }), container('b', { cpu: '500m' }, { memory: '1Gi' })] }),
    { cpu: '1500m', 'requests.cpu': '1500m', memory: '1Gi', 'requests.memory': '1Gi', 'limits.cpu': '2', 'limits.memory': '1Gi' },
  ],
  [
    'has an init container that asks for more',
    pod({ containers: [container('a', { cpu: '1' })], initContainers: [container('i', { cpu: '3' })] }),
    { cpu: '3', 'requests.cpu': '3' },
  ],
  [
    'has a sidecar, which runs beside containers',
    pod({ containers: [container('a', { cpu: '1' })], initContainers: [container('i', { cpu: '3' }, {}, { restartPolicy: 'Always' })] }),
    { cpu: '4', 'requests.cpu': '4' },
  ],
  [
    'uses ephemeral storage, huge pages and a resource of somebody else',
    pod({
      containers: [
        container('a', { 'ephemeral-storage': '1Gi', 'hugepages-2Mi': '4Mi', 'example.com/gpu': '2' }, { 'ephemeral-storage': '2Gi' }),
      ],
    }),
    {
      'ephemeral-storage': '1Gi',
      'requests.ephemeral-storage': '1Gi',
      'limits.ephemeral-storage': '2Gi',
      'hugepages-2Mi': '4Mi',
      'requests.hugepages-2Mi': '4Mi',
      'requests.example.com/gpu': '2',
    },
  ],
  [
    'has overhead, which adds to limits where there are some',
    pod({ containers: [container('a', { cpu: '1' }, { cpu: '2' })], overhead: { cpu: '100m', memory: '10Mi' } }),
    { cpu: '1100m', 'requests.cpu': '1100m', 'limits.cpu': '2100m', memory: '10Mi', 'requests.memory': '10Mi' },
  ],
  [
    'states resources as a whole',
    pod({ containers: [container('a', { cpu: '1' })], resources: { requests: { cpu: '4' }, limits: { memory: '1Gi' } } }),
    { cpu: '4', 'requests.cpu': '4', 'limits.memory': '1Gi' },
  ],
  [
    'has been given more than it asks for now',
    pod(
      { containers: [container('a', { cpu: '1' }, { cpu: '1' })] },
      { containerStatuses: [{ name: 'a', allocatedResources: { cpu: '2' }, resources: { requests: { cpu: '3' }, limits: { cpu: '4' } } }] },
    ),
    { cpu: '3', 'requests.cpu': '3', 'limits.cpu': '4' },
  ],
  [
    'asks for more than its node will ever have',
    pod(
      { containers: [container('a', { cpu: '9' })] },
      {
        conditions: [{ type: 'PodResizePending', reason: 'Infeasible' }],
        containerStatuses: [{ name: 'a', allocatedResources: { cpu: '2' } }],
      },
    ),
    { cpu: '2', 'requests.cpu': '2' },
  ],
]

for (const [what, given, usage] of POD_USAGE)
  test(`a pod that ${what} uses that`, () => {
    assert.deepEqual(usageOf('pods', given), { 'count/pods': '1', pods: '1', ...usage })
  })

test('a pod that has ended, or whose deletion is overdue, only counts as an object', () => {
  const spec = { containers: [container('a', { cpu: '1' })] }
  const ago = (seconds: number) => new Date(NOW.getTime() - seconds * 1000).toISOString()
  for (const phase of ['Succeeded', 'Failed']) assert.deepEqual(usageOf('pods', pod(spec, { phase })), { 'count/pods': '1' })
  assert.deepEqual(usageOf('pods', pod(spec, {}, { deletionTimestamp: ago(31), deletionGracePeriodSeconds: 30 })), { 'count/pods': '1' })
  assert.equal(usageOf('pods', pod(spec, {}, { deletionTimestamp: ago(29), deletionGracePeriodSeconds: 30 }))['pods'], '1')
})

test('quotas on cpu and memory want every container to state them, unless the pod does', () => {
  const { unstated } = evaluatorFor('pods')
  const given = pod({
    containers: [container('b', { cpu: '1' }), container('a', {}, { memory: '1Gi' })],
    initContainers: [container('i', { cpu: '1' }, { memory: '1Gi' })],
  })
  assert.equal(
    unstated!(['requests.cpu', 'limits.memory', 'pods', 'requests.ephemeral-storage'], given),
    'must specify limits.memory for: b; requests.cpu for: a',
  )
  assert.equal(unstated!(['pods', 'count/pods'], given), undefined)
  assert.equal(unstated!(['cpu'], pod({ containers: [container('a')], resources: { requests: { cpu: '1' } } })), undefined)
})

const scoped = (...scopes: string[]) => object({ spec: { scopes } })
const selecting = (scopeName: string, operator: string, ...values: string[]) =>
  object({ spec: { scopeSelector: { matchExpressions: [{ scopeName, operator, ...(values.length > 0 && { values }) }] } } })
const affinity = (term: object) => ({
  podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term }] },
})

const POD_SCOPES: readonly (readonly [quota: AnyObject, spec: object, isIn: boolean])[] = [
  [scoped('Terminating'), { activeDeadlineSeconds: 0 }, true],
  [scoped('Terminating'), {}, false],
  [scoped('NotTerminating'), {}, true],
  [scoped('NotTerminating'), { activeDeadlineSeconds: 5 }, false],
  [scoped('BestEffort'), { containers: [container('a')] }, true],
  [scoped('BestEffort'), { containers: [container('a', { cpu: '1' })] }, false],
  [scoped('NotBestEffort', 'Terminating'), { containers: [container('a', { cpu: '1' })] }, false],
  [scoped('NotBestEffort', 'NotTerminating'), { containers: [container('a', { cpu: '1' })] }, true],
  [selecting('PriorityClass', 'In', 'high', 'higher'), { priorityClassName: 'high' }, true],
  [selecting('PriorityClass', 'In', 'high'), { priorityClassName: 'low' }, false],
  [selecting('PriorityClass', 'In', 'high'), {}, false],
  [selecting('PriorityClass', 'NotIn', 'high'), { priorityClassName: 'low' }, true],
  [selecting('PriorityClass', 'NotIn', 'high'), {}, true],
  [selecting('PriorityClass', 'Exists'), { priorityClassName: 'low' }, true],
  [scoped('PriorityClass'), {}, false],
  [selecting('PriorityClass', 'DoesNotExist'), {}, true],
  [scoped('CrossNamespacePodAffinity'), { affinity: affinity({ topologyKey: 'k' }) }, false],
  [scoped('CrossNamespacePodAffinity'), { affinity: affinity({ topologyKey: 'k', namespaceSelector: {} }) }, true],
  [scoped('CrossNamespacePodAffinity'), { affinity: affinity({ topologyKey: 'k', namespaces: ['a'] }) }, true],
  [scoped('VolumeAttributesClass'), {}, false],
]

test('every scope says which pods it is about', () => {
  for (const [quota, spec, isIn] of POD_SCOPES)
    assert.equal(inScopes(evaluatorFor('pods'), quota, pod(spec)), isIn, `${JSON.stringify(quota['spec'])} ${JSON.stringify(spec)}`)
})

test('pods are looked at when they are created or resized, and when they get a deadline', () => {
  const { handles } = evaluatorFor('pods')
  const [plain, ending] = [pod({}), pod({ activeDeadlineSeconds: 1 })]
  const write = (operation: 'CREATE' | 'UPDATE', subresource: string, to = plain) =>
    handles({ operation, subresource, object: to, oldObject: plain })
  assert.deepEqual(
    [
      write('CREATE', ''),
      write('UPDATE', ''),
      write('UPDATE', '', ending),
      write('UPDATE', 'resize'),
      write('UPDATE', 'status'),
      write('CREATE', 'binding'),
    ],
    [true, false, true, true, false, false],
  )
})

test('services use node ports and load balancers by their type', () => {
  const ports = [{ port: 80 }, { port: 81, nodePort: 30081 }]
  const service = (spec: object) => {
    const {
      services,
      'services.nodeports': nodePorts,
      'services.loadbalancers': balancers,
    } = usageOf('services', object({ spec: { ports, ...spec } }))
    return [services, nodePorts, balancers]
  }
  assert.deepEqual(service({ type: 'ClusterIP' }), ['1', '0', '0'])
  assert.deepEqual(service({ type: 'NodePort' }), ['1', '2', '0'])
  assert.deepEqual(service({ type: 'LoadBalancer' }), ['1', '2', '1'])
  assert.deepEqual(service({ type: 'LoadBalancer', allocateLoadBalancerNodePorts: false }), ['1', '1', '1'])
  assert.deepEqual(service({ type: 'ExternalName' }), ['1', '0', '0'])
})

test('claims of volumes use storage in whole bytes, in all and by class', () => {
  const claim = (spec: object, status: object = {}, metadata: object = {}) =>
    usageOf('persistentvolumeclaims', object({ spec, status }, metadata))
  const all = { persistentvolumeclaims: '1', 'count/persistentvolumeclaims': '1' }
  assert.deepEqual(claim({}), all)
  assert.deepEqual(claim({ resources: { requests: { storage: '1Gi' } }, storageClassName: 'gold' }), {
    ...all,
    'requests.storage': '1Gi',
    'gold.storageclass.storage.k8s.io/persistentvolumeclaims': '1',
    'gold.storageclass.storage.k8s.io/requests.storage': '1Gi',
  })
  const beta = { annotations: { 'volume.beta.kubernetes.io/storage-class': 'old' } }
  assert.deepEqual(claim({ storageClassName: 'gold' }, {}, beta), { ...all, 'old.storageclass.storage.k8s.io/persistentvolumeclaims': '1' })
  assert.equal(claim({ resources: { requests: { storage: '1500m' } } })['requests.storage'], '2')
  const grown = claim({ resources: { requests: { storage: '1Gi' } } }, { allocatedResources: { storage: '3Gi' } })
  assert.equal(grown['requests.storage'], '3Gi')
})

test('a claim is in the scope of every attributes class that it has or is to get', () => {
  const evaluator = evaluatorFor('persistentvolumeclaims')
  const claim = object({
    spec: { volumeAttributesClassName: 'a' },
    status: { modifyVolumeStatus: { targetVolumeAttributesClassName: 'b' } },
  })
  for (const [operator, values, isIn] of [
    ['In', ['b'], true],
    ['In', ['c'], false],
    ['NotIn', ['a'], true],
    ['Exists', [], true],
  ] as const)
    assert.equal(inScopes(evaluator, selecting('VolumeAttributesClass', operator, ...values), claim), isIn)
  assert.ok(!inScopes(evaluator, scoped('VolumeAttributesClass'), object({ spec: {} })))
  assert.ok(!inScopes(evaluator, scoped('BestEffort'), claim))
})

const devices = (...requests: object[]) => object({ spec: { devices: { requests } } })
const DEVICES = { group: 'resource.k8s.io' }

test('claims of devices use devices by class, the most of each alternative, and 32 for all', () => {
  const usage = (...requests: object[]) => {
    const { 'count/resourceclaims.resource.k8s.io': count, ...others } = usageOf('resourceclaims', devices(...requests), DEVICES)
    assert.equal(count, '1')
    return Object.fromEntries(Object.entries(others).filter(([name]) => name.endsWith('.deviceclass.resource.k8s.io/devices')))
  }
  const exact = (deviceClassName: string, count: number) => ({ deviceClassName, allocationMode: 'ExactCount', count })
  const gpus = (count: string) => ({ 'gpu.deviceclass.resource.k8s.io/devices': count })
  assert.deepEqual(usage({ name: 'a', exactly: exact('gpu', 2) }, { name: 'b', exactly: exact('gpu', 1) }), gpus('3'))
  assert.deepEqual(usage({ name: 'a', ...exact('gpu', 2) }), gpus('2'))
  assert.deepEqual(usage({ name: 'a', exactly: { deviceClassName: 'gpu', allocationMode: 'All' } }), gpus('32'))
  assert.deepEqual(usage({ name: 'a', firstAvailable: [exact('gpu', 2), exact('gpu', 4), exact('fpga', 1)] }), {
    ...gpus('4'),
    'fpga.deviceclass.resource.k8s.io/devices': '1',
  })
})

test('devices count as resources of containers where a class has such a name, but not twice', () => {
  const deviceclasses = [object({ spec: { extendedResourceName: 'example.com/gpu' } }, { name: 'gpu' })]
  const owner = object({ spec: { containers: [container('c', { 'example.com/gpu': '2' })] } }, { name: 'p', uid: 'u' })
  const request = { name: 'a', exactly: { deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 2 } }
  const { limits } = evaluatorFor('resourceclaims', { ...DEVICES, objects: { deviceclasses } })
  assert.deepEqual(
    ['requests.example.com/gpu', 'requests.example.com/other', 'requests.deviceclass.resource.kubernetes.io/gpu', 'pods'].map(limits),
    [true, false, true, false],
  )
  const alone = usageOf('resourceclaims', devices(request), { ...DEVICES, objects: { deviceclasses } })
  assert.equal(alone['requests.example.com/gpu'], '2')
  assert.equal(alone['requests.deviceclass.resource.kubernetes.io/gpu'], '2')
  const made = devices(request)
  made.metadata.annotations = { 'resource.kubernetes.io/extended-resource-claim': 'true' }
  made.metadata.ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', controller: true }]
  const counted = usageOf('resourceclaims', made, { ...DEVICES, objects: { deviceclasses, pods: [owner] } })
  assert.equal(counted['requests.example.com/gpu'], undefined)
})

test('all other kinds are counted, except events and virtual kinds', () => {
  assert.deepEqual(usageOf('secrets', object({})), { 'count/secrets': '1', secrets: '1' })
  assert.deepEqual(usageOf('deployments', object({}), { group: 'apps' }), { 'count/deployments.apps': '1' })
  assert.deepEqual(usageOf('widgets', object({}), { group: 'example.com' }), { 'count/widgets.example.com': '1' })
  assert.equal(evaluatorFor('events'), undefined)
  assert.equal(evaluatorFor('localsubjectaccessreviews', { group: 'authorization.k8s.io' }), undefined)
})
