/** Two small valid objects of every kind that the server stores, for tests that go through all of them. */
import { generateKeyPairSync } from 'node:crypto'
import { encodePem } from '../src/lib/pem.ts'
import { certificate, certificateRequest } from './kits/x509.ts'

/** The specific fields of the n-th object of a kind; its name is `every-N` by default. */
type Sample = (n: number) => { readonly metadata?: { readonly name: string }; readonly [field: string]: unknown }

/** The n-th object of a kind, labelled `every=kind`. */
export function sampleOf({ apiVersion, kind }: { apiVersion: string; kind: string }, n: number): any {
  const sample = SAMPLES[`${apiVersion} ${kind}`] ?? SAMPLES[kind]
  if (!sample) throw new Error(`there is no sample of ${apiVersion} ${kind}`)
  const { metadata, ...rest } = sample(n)
  return { apiVersion, kind, metadata: { name: `every-${n}`, labels: { every: 'kind' }, ...metadata }, ...rest }
}

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const request = certificateRequest(pair)
const base64 = (text: string) => Buffer.from(text).toString('base64')

const labels = { app: 'every' }
const selector = { matchLabels: labels }
const containers = [{ name: 'c', image: 'example.com/c' }]
const template = { metadata: { labels }, spec: { containers } }
const jobTemplate = { spec: { containers, restartPolicy: 'Never' } }
const nothing = { resourceRules: [{ apiGroups: ['none.example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nones'] }] }
const about = { kind: 'Pod', namespace: 'default', name: 'p', uid: 'u', apiVersion: 'v1', resourceVersion: '7', fieldPath: 'spec' }
const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' }
const devices = { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] }
const formerDevices = { requests: [{ name: 'r', deviceClassName: 'c' }] }
const candidate = { leaseName: 'l', binaryVersion: '1.37.0', emulationVersion: '1.36.0', strategy: 'OldestEmulationVersion' }

/** Samples by kind; those whose fields depend on the version by that, too. */
const SAMPLES: Readonly<Record<string, Sample>> = {
  MutatingAdmissionPolicy: () => ({
    spec: {
      matchConstraints: nothing,
      reinvocationPolicy: 'Never',
      mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/spec"}]' } }],
    },
  }),
  MutatingAdmissionPolicyBinding: () => ({ spec: { policyName: 'none' } }),
  MutatingWebhookConfiguration: () => ({}),
  ValidatingAdmissionPolicy: () => ({ spec: { matchConstraints: nothing, validations: [{ expression: 'true' }] } }),
  ValidatingAdmissionPolicyBinding: () => ({ spec: { policyName: 'none', validationActions: ['Deny'] } }),
  ValidatingWebhookConfiguration: () => ({}),
  CustomResourceDefinition: n => customKind(`made${n}s`, { kind: `Made${n}`, scope: 'Namespaced' }),
  APIService: n => ({
    metadata: { name: `v1.g${n}.example.com` },
    spec: {
      group: `g${n}.example.com`,
      version: 'v1',
      groupPriorityMinimum: 1,
      versionPriority: 1,
      // The server would check one with a service, and write its status.
    },
  }),
  ControllerRevision: () => ({ data: {}, revision: 1 }),
  DaemonSet: () => ({ spec: { selector, template } }),
  Deployment: () => ({ spec: { selector, template } }),
  ReplicaSet: () => ({ spec: { selector, template } }),
  StatefulSet: () => ({ spec: { selector, template, serviceName: 's' } }),
  HorizontalPodAutoscaler: () => ({
    spec: { maxReplicas: 2, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } },
  }),
  CronJob: () => ({ spec: { schedule: '* * * * *', jobTemplate: { spec: { template: jobTemplate } } } }),
  Job: () => ({ spec: { template: jobTemplate } }),
  CertificateSigningRequest: () => ({
    spec: {
      request: base64(encodePem('CERTIFICATE REQUEST', request)),
      signerName: 'example.com/s',
      usages: ['client auth'],
    },
  }),
  ClusterTrustBundle: n => ({
    metadata: { name: `example.com:s:every-${n}` },
    spec: { signerName: 'example.com/s', trustBundle: encodePem('CERTIFICATE', certificate(pair, { ca: true })) },
  }),
  PodCertificateRequest: () => ({
    spec: {
      signerName: 'example.com/s',
      podName: 'p',
      podUID: 'p-uid',
      serviceAccountName: 'default',
      serviceAccountUID: 's-uid',
      nodeName: 'n',
      nodeUID: 'n-uid',
      stubPKCS10Request: request.toString('base64'),
    },
  }),
  Lease: () => ({ spec: {} }),
  ConfigMap: () => ({ data: { a: '1' } }),
  Endpoints: () => ({ subsets: [] }),
  'v1 Event': () => ({ involvedObject: about, reason: 'Why', type: 'Normal', source: { component: 'tester' }, reportingComponent: 'me' }),
  LimitRange: () => ({ spec: { limits: [] } }),
  Namespace: () => ({}),
  Node: () => ({ spec: { unschedulable: true } }),
  PersistentVolume: () => ({ spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } } }),
  PersistentVolumeClaim: () => ({ spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } }),
  Pod: () => ({ spec: { containers, nodeName: 'n', serviceAccountName: 'a', hostNetwork: true, restartPolicy: 'Never' } }),
  PodTemplate: () => ({ template }),
  ReplicationController: () => ({ spec: { selector: labels, template } }),
  ResourceQuota: () => ({ spec: { hard: {} } }),
  Secret: () => ({ data: { a: 'MQ==' } }),
  Service: () => ({ spec: { ports: [{ port: 80 }], clusterIP: 'None' } }),
  ServiceAccount: () => ({}),
  EndpointSlice: () => ({ addressType: 'IPv4', endpoints: [] }),
  // The same objects as the other events, so they need names of their own.
  'events.k8s.io/v1 Event': n => ({
    metadata: { name: `every-new-${n}` },
    eventTime: '2026-07-01T12:00:00.000000Z',
    reportingController: 'example.com/me',
    reportingInstance: 'me-1',
    action: 'Act',
    reason: 'Why',
    type: 'Normal',
    regarding: about,
  }),
  FlowSchema: () => ({ spec: { priorityLevelConfiguration: { name: 'global-default' }, matchingPrecedence: 9000 } }),
  PriorityLevelConfiguration: () => ({
    spec: { type: 'Limited', limited: { nominalConcurrencyShares: 1, limitResponse: { type: 'Reject' } } },
  }),
  Ingress: () => ({ spec: { defaultBackend: { service: { name: 's', port: { number: 80 } } } } }),
  IngressClass: () => ({ spec: { controller: 'example.com/c' } }),
  IPAddress: n => ({
    metadata: { name: `192.168.77.${n}` },
    spec: { parentRef: { resource: 'services', namespace: 'default', name: 's' } },
  }),
  NetworkPolicy: () => ({ spec: { podSelector: {} } }),
  ServiceCIDR: n => ({ spec: { cidrs: [`10.24${n}.0.0/24`] } }),
  RuntimeClass: () => ({ handler: 'h' }),
  PodDisruptionBudget: () => ({ spec: { maxUnavailable: 1, selector } }),
  ClusterRole: () => ({ rules: [] }),
  ClusterRoleBinding: () => ({ roleRef }),
  Role: () => ({ rules: [] }),
  RoleBinding: () => ({ roleRef }),
  DeviceClass: () => ({ spec: {} }),
  DeviceTaintRule: () => ({ spec: { taint: { key: 'example.com/k', effect: 'NoSchedule' } } }),
  LeaseCandidate: () => ({ spec: candidate }),
  'resource.k8s.io/v1beta1 ResourceClaim': () => ({ spec: { devices: formerDevices } }),
  'resource.k8s.io/v1beta1 ResourceClaimTemplate': () => ({ spec: { spec: { devices: formerDevices } } }),
  StorageVersion: n => ({ metadata: { name: `example.every${n}` }, spec: {} }),
  ResourceClaim: () => ({ spec: { devices } }),
  ResourceClaimTemplate: () => ({ spec: { spec: { devices } } }),
  ResourcePoolStatusRequest: () => ({ spec: { driver: 'd.example.com' } }),
  ResourceSlice: () => ({
    spec: { driver: 'd.example.com', nodeName: 'n', pool: { name: 'p', generation: 1, resourceSliceCount: 1 }, devices: [] },
  }),
  PriorityClass: () => ({ value: 1 }),
  CSIDriver: () => ({ spec: {} }),
  CSINode: () => ({ spec: { drivers: [] } }),
  CSIStorageCapacity: () => ({ storageClassName: 's' }),
  StorageClass: () => ({ provisioner: 'p.example.com' }),
  VolumeAttachment: () => ({ spec: { attacher: 'a.example.com', nodeName: 'n', source: { persistentVolumeName: 'v' } } }),
  VolumeAttributesClass: () => ({ driverName: 'd.example.com', parameters: { a: 'b' } }),
  StorageVersionMigration: () => ({ spec: { resource: { group: 'apps', resource: 'daemonsets' } } }),
  Near: () => ({ spec: { color: 'red', size: 3 } }),
  Far: () => ({ spec: { color: 'red', size: 3 } }),
}

/** The definition of a kind Widget, in the group `example.com`, whose objects may have any fields. */
export const WIDGETS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    names: { plural: 'widgets', kind: 'Widget' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}

/** A definition in the group `custom.example.com` whose objects have a color and a size, and are selected by both. */
export function customKind(plural: string, { kind, scope }: { kind: string; scope: 'Namespaced' | 'Cluster' }) {
  const spec = { type: 'object', properties: { color: { type: 'string' }, size: { type: 'integer' } } }
  return {
    metadata: { name: `${plural}.custom.example.com` },
    spec: {
      group: 'custom.example.com',
      scope,
      names: { plural, kind },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
          selectableFields: [{ jsonPath: '.spec.color' }, { jsonPath: '.spec.size' }],
        },
      ],
    },
  }
}
