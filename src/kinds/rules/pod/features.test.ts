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
      securityContext: { seLinuxChangePolicy: 'Recursive' },
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
