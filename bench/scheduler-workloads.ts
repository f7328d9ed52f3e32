/** Workloads of Kubernetes' own benchmark of its scheduler, test/integration/scheduler_perf: the same nodes, pods and numbers of them. */

export type SchedulerWorkload = {
  /** The names of the test case and of the workload there. */
  readonly name: string
  readonly nodes: number
  /** Label that nodes get in turns. */
  readonly zones?: readonly string[]
  /** Pods that are there before. */
  readonly before: number
  readonly podBefore?: Template
  /** Pods that are measured. */
  readonly pods: number
  readonly pod: Template
  /** A pod that is created every 200 milliseconds meanwhile. */
  readonly churn?: Template
  /** Devices: ten on each node; claims that have devices before, and the objects that pods refer to. */
  readonly devices?: { readonly classes: readonly object[]; readonly claimsBefore: number; readonly template?: object }
  /** Pods a second that upstream's CI demands. */
  readonly threshold?: number
  /** Whether `--quick` runs it. */
  readonly isQuick?: boolean
}

export type Template = (index: number) => object

const DRIVER = 'test-driver.cdi.k8s.io'
const ZONE = 'topology.kubernetes.io/zone'
export const NAMESPACES = ['sched-0', 'sched-1'] as const

const pod = (prefix: string, spec: object = {}, { labels, cpu = '100m' }: { labels?: object; cpu?: string } = {}): object => {
  const resources = { cpu, memory: '500Mi' }
  const container = { name: 'pause', image: 'registry.k8s.io/pause:3.10.2', ports: [{ containerPort: 80 }] }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { generateName: prefix, ...(labels && { labels }) },
    spec: { containers: [{ ...container, resources: { limits: resources, requests: resources } }], ...spec },
  }
}

const basic: Template = () => pod('pod-')
const low: Template = () => pod('pod-', { terminationGracePeriodSeconds: 0 }, { cpu: '900m' })
const high: Template = () => pod('pod-high-priority-', { terminationGracePeriodSeconds: 0, priority: 9_999_999 }, { cpu: '3970m' })
const tooLarge: Template = () => pod('pod-h-', { priority: 10 }, { cpu: '9' })

const colored = (color: string) => ({ labels: { color } })
const spreading =
  (whenUnsatisfiable: string): Template =>
  () => {
    const labelSelector = { matchLabels: { color: 'blue' } }
    const constraint = { maxSkew: 5, topologyKey: ZONE, whenUnsatisfiable, labelSelector }
    return pod('spreading-pod-', { topologySpreadConstraints: [constraint] }, colored('blue'))
  }
const near = (color: string, topologyKey: string) => ({
  labelSelector: { matchLabels: { color } },
  topologyKey,
  namespaces: [...NAMESPACES].reverse(),
})
const HOST = 'kubernetes.io/hostname'
const required = (terms: object[]) => ({ requiredDuringSchedulingIgnoredDuringExecution: terms })
const preferred = (term: object) => ({ preferredDuringSchedulingIgnoredDuringExecution: [{ podAffinityTerm: term, weight: 1 }] })
const affinity: Template = () => pod('affinity-pod-', { affinity: { podAffinity: required([near('blue', ZONE)]) } }, colored('blue'))
const antiAffinity: Template = () =>
  pod('anti-affinity-pod-', { affinity: { podAntiAffinity: required([near('green', HOST)]) } }, colored('green'))
const preferredAffinity: Template = () =>
  pod('preferred-affinity-pod-', { affinity: { podAffinity: preferred(near('red', HOST)) } }, colored('red'))

const withClaim: Template = () => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { generateName: 'test-dra' },
  spec: {
    containers: [{ name: 'pause', image: 'registry.k8s.io/pause:3.10.1', resources: { claims: [{ name: 'resource' }] } }],
    resourceClaims: [{ name: 'resource', resourceClaimTemplateName: 'test-claim-template' }],
  },
})
const CLASSES = 25
const withResource: Template = index => {
  const resources = { [`example.com/gpu-${index % CLASSES}`]: '1' }
  const container = { name: 'pause', image: 'registry.k8s.io/pause:3.9', resources: { requests: resources, limits: resources } }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: `test-dra-${index}` }, spec: { containers: [container] } }
}
const deviceClass = (name: string, extendedResourceName?: string) => ({
  apiVersion: 'resource.k8s.io/v1',
  kind: 'DeviceClass',
  metadata: { name },
  spec: { selectors: [{ cel: { expression: `device.driver == "${DRIVER}"` } }], ...(extendedResourceName && { extendedResourceName }) },
})
export const CLAIM_SPEC = { devices: { requests: [{ name: 'req-0', exactly: { deviceClassName: 'test-class' } }] } }
const claimTemplate = {
  apiVersion: 'resource.k8s.io/v1',
  kind: 'ResourceClaimTemplate',
  metadata: { name: 'test-claim-template' },
  spec: { spec: CLAIM_SPEC },
}

/** The node at an index; upstream's have generated names. */
export const nodeOf = (index: number, zones: readonly string[] | undefined): object => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: nodeName(index), labels: { [HOST]: nodeName(index), ...(zones && { [ZONE]: zones[index % zones.length] }) } },
  spec: {},
  status: {
    capacity: { pods: '110', cpu: '4', memory: '32Gi' },
    allocatable: { pods: '110', cpu: '4', memory: '32Gi' },
    conditions: [{ type: 'Ready', status: 'True' }],
    phase: 'Running',
  },
})
export const nodeName = (index: number): string => `scheduler-perf-${index}`

const DEVICES = 10
/** The devices of the node at an index, with as many attributes as upstream's. */
export function sliceOf(index: number): object {
  const name = `resourceslice-${index}`
  const text = (string: string) => ({ string })
  const devices = Array.from({ length: DEVICES }, (_, i) => ({
    name: `basic-device-${i}`,
    attributes: {
      driver: text('xe'),
      driverVersion: { version: '1.2.3' },
      'resource.k8s.io/pciRoot': text(String(i % 2)),
      family: text('Arc Pro B-Series'),
      health: text('Healthy'),
      model: text('B60'),
      pciAddress: text(`0000:0${i}:00.0`),
      pciId: text('0xe211'),
      pciRoot: text(`0${i % 2}`),
      'resource.kubernetes.io/pciBusID': text(`0000:0${i}:00.0`),
      'resource.kubernetes.io/pciRoot': text(`pci0000:0${i % 2}`),
      sriov: { bool: true },
      type: text('gpu'),
    },
    capacity: { memory: { value: '24480Mi' }, millicores: { value: '1k' } },
  }))
  const pool = { name, generation: 1, resourceSliceCount: 1 }
  const spec = { pool, driver: DRIVER, nodeName: nodeName(index), devices }
  return { apiVersion: 'resource.k8s.io/v1', kind: 'ResourceSlice', metadata: { name }, spec }
}

/** An allocation of a device, spread over the nodes. */
export function allocationOf(index: number, nodes: number): object {
  const node = index % nodes
  const device = Math.floor(index / nodes) % DEVICES
  const result = { request: 'req-0', driver: DRIVER, pool: `resourceslice-${node}`, device: `basic-device-${device}` }
  const fields = [{ key: 'metadata.name', operator: 'In', values: [nodeName(node)] }]
  return { devices: { results: [result] }, nodeSelector: { nodeSelectorTerms: [{ matchFields: fields }] } }
}

const MOONS = ['moon-1', 'moon-2', 'moon-3']
const ONE_ZONE = ['zone1']
const claims = { classes: [deviceClass('test-class')], template: claimTemplate }
const resources = {
  classes: Array.from({ length: CLASSES }, (_, i) => deviceClass(`test-class-${i}`, `example.com/gpu-${i}`)),
  claimsBefore: 0,
}
const spread = { zones: MOONS, pod: spreading('DoNotSchedule'), podBefore: basic }
const near0 = { zones: ONE_ZONE, pod: affinity }
const preempting = { podBefore: low, pod: basic, churn: high }

export const WORKLOADS: readonly SchedulerWorkload[] = [
  { name: 'SchedulingBasic/500Nodes', nodes: 500, before: 500, pods: 1000, pod: basic, isQuick: true },
  { name: 'SchedulingBasic/5000Nodes_10000Pods', nodes: 5000, before: 1000, pods: 10_000, pod: basic, threshold: 680 },
  { name: 'TopologySpreading/500Nodes', nodes: 500, before: 1000, pods: 1000, ...spread, isQuick: true },
  { name: 'TopologySpreading/5000Nodes_5000Pods', nodes: 5000, before: 5000, pods: 5000, ...spread, threshold: 460 },
  {
    ...{ name: 'PreferredTopologySpreading/5000Nodes_5000Pods', nodes: 5000, zones: MOONS, before: 5000, podBefore: basic },
    ...{ pods: 5000, pod: spreading('ScheduleAnyway'), threshold: 340 },
  },
  { name: 'SchedulingPodAffinity/500Nodes', nodes: 500, before: 500, pods: 1000, ...near0, isQuick: true },
  { name: 'SchedulingPodAffinity/5000Nodes_5000Pods', nodes: 5000, before: 5000, pods: 5000, ...near0, threshold: 70 },
  {
    ...{ name: 'SchedulingPreferredPodAffinity/5000Nodes_5000Pods', nodes: 5000, before: 5000 },
    ...{ pods: 5000, pod: preferredAffinity, threshold: 160 },
  },
  { name: 'SchedulingPodAntiAffinity/5000Nodes_2000Pods', nodes: 5000, before: 1000, pods: 2000, pod: antiAffinity, threshold: 180 },
  { name: 'PreemptionAsync/500Nodes', nodes: 500, before: 2000, pods: 500, ...preempting, isQuick: true },
  { name: 'PreemptionAsync/5000Nodes', nodes: 5000, before: 20_000, pods: 5000, ...preempting, threshold: 570 },
  {
    ...{ name: 'Unschedulable/5kNodes/100Init/10kPods', nodes: 5000, before: 100, pods: 10_000 },
    ...{ pod: basic, churn: tooLarge, threshold: 590 },
  },
  {
    ...{ name: 'SchedulingWithResourceClaimTemplate/5000pods_500nodes', nodes: 500, before: 0, pods: 2500, pod: withClaim },
    ...{ devices: { ...claims, claimsBefore: 2500 }, threshold: 56, isQuick: true },
  },
  {
    ...{ name: 'SchedulingWithResourceClaimTemplate, 5000 nodes', nodes: 5000, before: 0, pods: 2500, pod: withClaim },
    ...{ devices: { ...claims, claimsBefore: 25_000 } },
  },
  {
    ...{ name: 'ExtendedResource/Explicit_25classes_5000pods_500nodes', nodes: 500, before: 2500, pods: 2500, pod: withResource },
    ...{ devices: resources, threshold: 120, isQuick: true },
  },
]
