import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dropDisabledPodFields, dropDisabledTemplateFields } from './features.ts'
import type { PodTemplateSpec } from './spec.ts'

const off = () => false
const template = () =>
  ({
    metadata: { annotations: { 'pod.beta.kubernetes.io/init-containers': '[]', kept: 'yes' } },
    spec: {
      evictionResponders: [{ name: 'a.b/c', priority: 1 }],
      hostnameOverride: 'h',
      resources: { requests: { cpu: '1' } },
      hostUsers: false,
      resourceClaims: [{ name: 'c' }],
      securityContext: { seLinuxChangePolicy: 'Recursive', supplementalGroupsPolicy: 'Strict' },
      topologySpreadConstraints: [{ maxSkew: 1, matchLabelKeys: ['a'] }],
      volumes: [
        { name: 'a', emptyDir: { mode: 0o700 } },
        { name: 'b', secret: { defaultUser: 1, items: [{ key: 'k', path: 'p', user: 2 }] } },
        { name: 'c', projected: { defaultUser: 1, sources: [{ serviceAccountToken: { path: 't', user: 3 } }] } },
        { name: 'd', image: { reference: 'r' } },
        { name: 'e', projected: { sources: [{ clusterTrustBundle: { path: 'c' } }, { podCertificate: {} }] } },
      ],
      containers: [
        {
          name: 'main',
          env: [{ name: 'A', valueFrom: { fileKeyRef: { key: 'k' } } }],
          restartPolicy: 'Never',
          resizePolicy: [{ resourceName: 'cpu' }],
          resources: { claims: [{ name: 'c' }] },
          securityContext: { procMount: 'Unmasked' },
          volumeMounts: [
            { name: 'a', mountPath: '/a', bindMountOptions: ['noexec'] },
            { name: 'd', mountPath: '/d' },
          ],
          livenessProbe: { grpc: { port: 1, service: '', mode: 'TLS' } },
          readinessProbe: { httpGet: { port: 1, protocol: 'H2C' } },
          lifecycle: { stopSignal: 'SIGINT', preStop: { httpGet: { port: 1, protocol: 'H2C' } } },
        },
      ],
    },
  }) as unknown as PodTemplateSpec

test('fields of features that are off are dropped', () => {
  const sent = template()
  dropDisabledTemplateFields(sent, undefined, off)
  assert.deepEqual(sent, {
    metadata: { annotations: { kept: 'yes' } },
    spec: {
      securityContext: {},
      topologySpreadConstraints: [{ maxSkew: 1 }],
      volumes: [
        { name: 'a', emptyDir: {} },
        { name: 'b', secret: { items: [{ key: 'k', path: 'p' }] } },
        { name: 'c', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } },
        { name: 'e', projected: { sources: [{}, {}] } },
      ],
      containers: [
        {
          name: 'main',
          env: [{ name: 'A', valueFrom: {} }],
          resources: {},
          securityContext: { procMount: 'Default' },
          volumeMounts: [{ name: 'a', mountPath: '/a' }],
          livenessProbe: { grpc: { port: 1, service: '' } },
          readinessProbe: { httpGet: { port: 1 } },
          lifecycle: { preStop: { httpGet: { port: 1 } } },
        },
      ],
    },
  })
})

test('fields of a feature that is on stay', () => {
  const sent = template()
  dropDisabledTemplateFields(sent, undefined, name => name === 'EmptyDirVolumeMode')
  assert.deepEqual(sent.spec.volumes?.[0], { name: 'a', emptyDir: { mode: 0o700 } })
  assert.equal(sent.spec.evictionResponders, undefined)
})

test('what a stored object has may be kept and changed', () => {
  const sent = template()
  dropDisabledTemplateFields(sent, template(), off)
  assert.deepEqual(sent.spec, template().spec)
})

test('observations of features that are off are dropped from the status of a pod', () => {
  const pod = {
    metadata: {},
    spec: template().spec,
    status: {
      volumeHealth: [{ name: 'a' }],
      extendedResourceClaimStatus: {},
      resources: {},
      observedGeneration: 2,
      containerStatuses: [
        {
          name: 'main',
          user: {},
          allocatedResourcesStatus: [{ name: 'r', resources: [{ resourceID: 'x', message: 'm' }] }],
          volumeMounts: [{ name: 'a', mountPath: '/a', volumeStatus: { image: {} } }],
        },
      ],
    },
  }
  dropDisabledPodFields(pod as never, undefined, off)
  assert.deepEqual(pod.status, { containerStatuses: [{ name: 'main', volumeMounts: [{ name: 'a', mountPath: '/a' }] }] })
})

test('the message about the health of a device goes with its own gate', () => {
  const containerStatuses = [{ allocatedResourcesStatus: [{ name: 'r', resources: [{ resourceID: 'x', message: 'm' }] }] }]
  const pod = { metadata: {}, spec: {}, status: { containerStatuses } }
  dropDisabledPodFields(pod as never, undefined, name => name === 'ResourceHealthStatus')
  assert.deepEqual(pod.status.containerStatuses[0]!.allocatedResourcesStatus, [{ name: 'r', resources: [{ resourceID: 'x' }] }])
})

const at = (value: any, path: string): unknown => path.split('.').reduce((part, key) => part?.[key], value)

test('each gate drops its own fields and no others', () => {
  const fields: Record<string, readonly string[]> = {
    AtomicWriteVolumeUserFields: ['volumes.1.secret.defaultUser', 'volumes.1.secret.items.0.user', 'volumes.2.projected.defaultUser'],
    ClusterTrustBundleProjection: ['volumes.4.projected.sources.0.clusterTrustBundle'],
    ContainerRestartRules: ['containers.0.restartPolicy'],
    ContainerStopSignals: ['containers.0.lifecycle.stopSignal'],
    EmptyDirVolumeMode: ['volumes.0.emptyDir.mode'],
    EnvFiles: ['containers.0.env.0.valueFrom.fileKeyRef'],
    EvictionRequestAPI: ['evictionResponders'],
    GRPCContainerProbeTLS: ['containers.0.livenessProbe.grpc.mode'],
    H2CContainerProbe: ['containers.0.readinessProbe.httpGet.protocol', 'containers.0.lifecycle.preStop.httpGet.protocol'],
    HostnameOverride: ['hostnameOverride'],
    InPlacePodVerticalScaling: ['containers.0.resizePolicy'],
    MatchLabelKeysInPodTopologySpread: ['topologySpreadConstraints.0.matchLabelKeys'],
    PodCertificateRequest: ['volumes.4.projected.sources.1.podCertificate'],
    PodLevelResources: ['resources'],
    SELinuxChangePolicy: ['securityContext.seLinuxChangePolicy'],
    SupplementalGroupsPolicy: ['securityContext.supplementalGroupsPolicy'],
    UserNamespacesSupport: ['hostUsers'],
    DynamicResourceAllocation: ['resourceClaims', 'containers.0.resources.claims'],
    VolumeBindMountOptions: ['containers.0.volumeMounts.0.bindMountOptions'],
  }
  const all = Object.values(fields).flat()
  for (const [gate, own] of Object.entries(fields)) {
    const sent = template()
    dropDisabledTemplateFields(sent, undefined, name => name !== gate)
    const gone = all.filter(path => at(sent.spec, path) === undefined)
    assert.deepEqual(gone, own, gate)
  }
  const sent = template()
  dropDisabledTemplateFields(sent, undefined, name => name !== 'ImageVolume' && name !== 'ProcMountType')
  const [main] = sent.spec.containers!
  assert.deepEqual([sent.spec.volumes!.length, main!.volumeMounts!.length, main!.securityContext!.procMount], [4, 1, 'Default'])
})

test('each gate drops its own observations', () => {
  const fields: Record<string, readonly string[]> = {
    CSIVolumeHealth: ['volumeHealth'],
    DRAExtendedResource: ['extendedResourceClaimStatus'],
    ImageVolumeWithDigest: ['containerStatuses.0.volumeMounts.0.volumeStatus'],
    InPlacePodLevelResourcesVerticalScaling: ['resources'],
    PodObservedGenerationTracking: ['observedGeneration', 'conditions.0.observedGeneration'],
    ResourceHealthStatusMessage: ['containerStatuses.0.allocatedResourcesStatus.0.resources.0.message'],
  }
  const all = Object.values(fields).flat()
  for (const [gate, own] of Object.entries(fields)) {
    const pod = {
      metadata: {},
      spec: {},
      status: {
        volumeHealth: [{ name: 'a' }],
        extendedResourceClaimStatus: {},
        resources: {},
        observedGeneration: 2,
        conditions: [{ type: 'Ready', observedGeneration: 2 }],
        containerStatuses: [
          {
            allocatedResourcesStatus: [{ name: 'r', resources: [{ resourceID: 'x', message: 'm' }] }],
            volumeMounts: [{ name: 'a', volumeStatus: { image: {} } }],
          },
        ],
      },
    }
    dropDisabledPodFields(pod as never, undefined, name => name !== gate)
    const gone = all.filter(path => at(pod.status, path) === undefined)
    assert.deepEqual(gone, own, gate)
  }
})
