import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conform } from '../../../schema/conform.ts'
import { fillDefaults } from '../../../schema/defaults.ts'
import type { AnyType } from '../../../schema/types.ts'
import { PodSpec, PodTemplateSpec } from './spec.ts'
import { ContainerStatus } from './status/container-status.ts'
import { PodStatus } from './status/status.ts'
import { Volume } from './volumes/volumes.ts'

function filled(type: AnyType, sent: object): any {
  const { value, problems } = conform(type, sent as never)
  assert.deepEqual(problems, [])
  fillDefaults(type, value)
  return value
}
const container = (more: object) => filled(PodSpec, { containers: [{ name: 'main', ...more }] }).containers[0]

test('a template with one image gets the defaults that a server answers', () => {
  const sent = { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'main', image: 'example.com/app:1' }] } }
  assert.deepEqual(filled(PodTemplateSpec, sent), {
    metadata: { labels: { app: 'a' } },
    spec: {
      containers: [
        {
          name: 'main',
          image: 'example.com/app:1',
          imagePullPolicy: 'IfNotPresent',
          resources: {},
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
        },
      ],
      dnsPolicy: 'ClusterFirst',
      restartPolicy: 'Always',
      schedulerName: 'default-scheduler',
      securityContext: {},
      terminationGracePeriodSeconds: 30,
    },
  })
})

test('a template does not require fields that are set on pods only', () => {
  const sent = { hostNetwork: true, containers: [{ name: 'a', ports: [{ containerPort: 80 }], resources: { limits: { cpu: '1' } } }] }
  const { containers, enableServiceLinks } = filled(PodTemplateSpec, { spec: sent }).spec
  assert.equal(enableServiceLinks, undefined)
  assert.deepEqual(containers[0].ports, [{ containerPort: 80, protocol: 'TCP' }])
  assert.deepEqual(containers[0].resources, { limits: { cpu: '1' } })
})

test('a grace period of zero is kept', () => {
  assert.equal(filled(PodSpec, { terminationGracePeriodSeconds: 0 }).terminationGracePeriodSeconds, 0)
})

test('both names of the service account are filled from either, and the newer wins', () => {
  const names = (spec: object) => {
    const { serviceAccountName, serviceAccount } = filled(PodSpec, spec)
    return [serviceAccountName, serviceAccount]
  }
  assert.deepEqual(names({ serviceAccount: 'old' }), ['old', 'old'])
  assert.deepEqual(names({ serviceAccountName: 'new' }), ['new', 'new'])
  assert.deepEqual(names({ serviceAccountName: 'new', serviceAccount: 'old' }), ['new', 'new'])
  assert.deepEqual(names({}), [undefined, undefined])
})

test('ephemeral containers are filled like others', () => {
  const { ephemeralContainers } = filled(PodSpec, { ephemeralContainers: [{ name: 'debug', image: 'busybox' }] })
  assert.equal(ephemeralContainers[0].imagePullPolicy, 'Always')
  assert.equal(ephemeralContainers[0].terminationMessagePolicy, 'File')
  assert.deepEqual(ephemeralContainers[0].resources, {})
})

test('probes and hooks are filled', () => {
  const { livenessProbe, readinessProbe, lifecycle } = container({
    livenessProbe: { httpGet: { port: 80 } },
    readinessProbe: { grpc: { port: 9000 }, periodSeconds: 3 },
    lifecycle: { preStop: { httpGet: { port: 'web', path: '/bye', scheme: 'HTTPS' } } },
  })
  const timing = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 }
  assert.deepEqual(livenessProbe, { httpGet: { path: '/', port: 80, scheme: 'HTTP' }, ...timing })
  assert.deepEqual(readinessProbe, { grpc: { port: 9000, service: '' }, ...timing, periodSeconds: 3 })
  assert.deepEqual(lifecycle.preStop.httpGet, { path: '/bye', port: 'web', scheme: 'HTTPS' })
})

test('references to fields and files are filled', () => {
  const { env } = container({
    env: [
      { name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'B', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
      { name: 'C', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'k' } } },
    ],
  })
  assert.deepEqual(env[0].valueFrom.fieldRef, { apiVersion: 'v1', fieldPath: 'metadata.name' })
  assert.deepEqual(env[1].valueFrom.resourceFieldRef, { resource: 'limits.cpu', divisor: '0' })
  assert.equal(env[2].valueFrom.fileKeyRef.optional, false)
})

test('amounts are rounded up to thousandths, whatever the name of the resource', () => {
  const { resources } = container({ resources: { limits: { cpu: '100u', memory: '1.5', ['__proto__']: '1n' }, requests: { cpu: '1' } } })
  assert.equal(resources.limits.cpu, '1m')
  assert.equal(resources.limits.memory, '1500m')
  assert.deepEqual(Object.keys(resources.limits), ['cpu', 'memory', '__proto__'])
  assert.equal(Object.getOwnPropertyDescriptor(resources.limits, '__proto__')?.value, '1m')
  assert.deepEqual(filled(PodSpec, { overhead: { cpu: '1500u' } }).overhead, { cpu: '2m' })
})

test('a volume that says nothing is an empty directory', () => {
  assert.deepEqual(filled(Volume, { name: 'v' }), { name: 'v', emptyDir: {} })
  assert.deepEqual(filled(Volume, { name: 'v', nfs: { server: 's', path: '/' } }), { name: 'v', nfs: { server: 's', path: '/' } })
})

test('volumes of every kind get their default modes and types', () => {
  const source = (sent: object) => {
    const { name: _, ...rest } = filled(Volume, { name: 'v', ...sent })
    return rest
  }
  assert.deepEqual(source({ secret: { secretName: 's' } }), { secret: { secretName: 's', defaultMode: 420 } })
  assert.deepEqual(source({ configMap: { name: 'c' } }), { configMap: { name: 'c', defaultMode: 420 } })
  assert.deepEqual(source({ secret: { defaultMode: 0 } }), { secret: { defaultMode: 0 } })
  assert.deepEqual(source({ hostPath: { path: '/x' } }), { hostPath: { path: '/x', type: '' } })
  assert.deepEqual(source({ image: { reference: 'a:1' } }), { image: { reference: 'a:1', pullPolicy: 'IfNotPresent' } })
  assert.deepEqual(source({ rbd: { monitors: ['m'], image: 'i' } }).rbd, {
    monitors: ['m'],
    image: 'i',
    pool: 'rbd',
    user: 'admin',
    keyring: '/etc/ceph/keyring',
  })
  assert.deepEqual(source({ azureDisk: { diskName: 'd', diskURI: 'u' } }).azureDisk, {
    diskName: 'd',
    diskURI: 'u',
    cachingMode: 'ReadWrite',
    fsType: 'ext4',
    readOnly: false,
    kind: 'Shared',
  })
  assert.deepEqual(source({ projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }).projected, {
    sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 3600 } }],
    defaultMode: 420,
  })
  assert.deepEqual(source({ ephemeral: { volumeClaimTemplate: { spec: {} } } }).ephemeral.volumeClaimTemplate, {
    metadata: {},
    spec: { resources: {}, volumeMode: 'Filesystem' },
  })
})

test('the address of a pod and the first of its addresses agree', () => {
  const addresses = (status: object) => {
    const { podIP, podIPs } = filled(PodStatus, status)
    return [podIP, podIPs]
  }
  assert.deepEqual(addresses({ podIP: '10.0.0.1' }), ['10.0.0.1', [{ ip: '10.0.0.1' }]])
  assert.deepEqual(addresses({ podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }] }), ['10.0.0.1', [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }]])
  assert.deepEqual(addresses({ podIP: '10.0.0.2', podIPs: [{ ip: '10.0.0.1' }] }), ['10.0.0.2', [{ ip: '10.0.0.2' }]])
})

test('a container status always has a restart count, and unknown times are null', () => {
  assert.deepEqual(filled(ContainerStatus, { name: 'a', state: { running: {} }, allocatedResources: { cpu: '1n' } }), {
    name: 'a',
    state: { running: { startedAt: null } },
    lastState: {},
    ready: false,
    restartCount: 0,
    image: '',
    imageID: '',
    allocatedResources: { cpu: '1m' },
  })
})
