import assert from 'node:assert/strict'
import test from 'node:test'
import type { Pod } from '../kinds/core/pod/pod.ts'
import type { DeviceClass } from '../kinds/resource/deviceclass.ts'
import { extendedRequests, isDeviceResource, ResourceClasses } from './extended-resources.ts'

const classOf = (name: string, extendedResourceName?: string, creationTimestamp = '2026-01-01T00:00:00Z') =>
  ({ metadata: { name, creationTimestamp }, spec: { ...(extendedResourceName && { extendedResourceName }) } }) as unknown as DeviceClass

test('of several classes for a resource the one created later counts, and then the first by name', () => {
  const classes = new ResourceClasses({ extendedResources: true })
  const behind = (resource: string) => classes.behind(resource)?.metadata.name
  assert.equal(behind('example.com/gpu'), undefined)
  classes.set(classOf('b', 'example.com/gpu'))
  classes.set(classOf('a', 'example.com/gpu'))
  assert.equal(behind('example.com/gpu'), 'a')
  classes.set(classOf('z', 'example.com/gpu', '2026-01-02T00:00:00Z'))
  assert.equal(behind('example.com/gpu'), 'z')
  assert.equal(behind('deviceclass.resource.kubernetes.io/b'), 'b')
  classes.set(classOf('z', 'example.com/other'))
  assert.deepEqual([behind('example.com/gpu'), behind('example.com/other')], ['a', 'z'])
  classes.remove('a')
  assert.equal(behind('example.com/gpu'), 'b')
  assert(isDeviceResource('example.com/gpu') && isDeviceResource('deviceclass.resource.kubernetes.io/x') && !isDeviceResource('cpu'))
})

test('containers get requests of their own; init containers use what later ones have, and share what they need beyond', () => {
  const container = (name: string, count: string, more: object = {}) => ({
    name,
    resources: { requests: { cpu: '1', 'x.com/g': count } },
    ...more,
  })
  const pod = {
    spec: {
      initContainers: [container('small', '1'), container('large', '5'), container('side', '1', { restartPolicy: 'Always' })],
      containers: [container('main', '2'), { name: 'none', resources: {} }],
    },
  } as unknown as Pod
  const { requests, mappings } = extendedRequests(pod, ['x.com/g'], () => classOf('c'))
  assert.deepEqual(
    requests.map(({ name, exactly }) => [name, exactly?.deviceClassName, exactly?.count]),
    [
      ['container-1-request-1', 'c', 2],
      ['container-2-request-1', 'c', 1],
      ['container-3-request-1', 'c', 2],
    ],
  )
  assert.deepEqual(
    mappings.map(({ containerName, requestName }) => `${containerName} ${requestName}`),
    [
      'side container-2-request-1',
      'main container-3-request-1',
      'small container-2-request-1',
      'large container-2-request-1',
      'large container-3-request-1',
      'large container-1-request-1',
    ],
  )
})
