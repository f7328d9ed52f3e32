import assert from 'node:assert/strict'
import { test } from 'node:test'
import { admitted, readerOf, type Step } from '../../../test/kits/admission.ts'
import { withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { LimitRange } from '../../kinds/core/limitrange.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { limitRanger } from './limit-ranger.ts'

const range = (...limits: object[]) => withDefaults(LimitRange, { metadata: { name: 'r', namespace: 'default' }, spec: { limits } })
const plugin = (...ranges: object[]) => limitRanger(readerOf({ limitranges: ranges as never }))

type Amounts = Record<string, string>
const container = (requests: Amounts = {}, limits: Amounts = {}, more: object = {}) => ({
  name: 'c',
  image: 'i',
  resources: { requests, limits },
  ...more,
})

/** The messages of one limit about a pod; none when it fits. */
function faults(limit: object, spec: object, step: Step = {}): string {
  const result = admitted(plugin(range(limit)), Pod, { metadata: { name: 'p' }, spec }, { step: 'validate', ...step })
  return typeof result === 'string' ? result.replace('403 pods "p" is forbidden: ', '') : ''
}

const ofContainers = (limit: object) => ({ type: 'Container', ...limit })
const BOUNDS: readonly (readonly [limit: object, requests: Amounts, limits: Amounts, fault: string])[] = [
  [{ min: { cpu: '100m' } }, {}, {}, 'minimum cpu usage per Container is 100m.  No request is specified'],
  [{ min: { cpu: '100m' } }, { cpu: '50m' }, {}, 'minimum cpu usage per Container is 100m, but request is 50m'],
  [{ min: { cpu: '100m' } }, { cpu: '100m' }, { cpu: '50m' }, 'minimum cpu usage per Container is 100m, but limit is 50m'],
  [{ min: { cpu: '100m' } }, { cpu: '100m' }, {}, ''],
  [{ max: { memory: '1Gi' } }, { memory: '1Gi' }, {}, 'maximum memory usage per Container is 1Gi.  No limit is specified'],
  [{ max: { memory: '1Gi' } }, {}, { memory: '2Gi' }, 'maximum memory usage per Container is 1Gi, but limit is 2Gi'],
  [{ max: { memory: '1Gi' } }, { memory: '2Gi' }, { memory: '1Gi' }, 'maximum memory usage per Container is 1Gi, but request is 2Gi'],
  [{ max: { memory: '1Gi' } }, {}, { memory: '1024Mi' }, ''],
  [
    { maxLimitRequestRatio: { cpu: '2' } },
    {},
    {},
    'cpu max limit to request ratio per Container is 2, but no request is specified or request is 0',
  ],
  [
    { maxLimitRequestRatio: { cpu: '2' } },
    { cpu: '0' },
    { cpu: '1' },
    'cpu max limit to request ratio per Container is 2, but no request is specified or request is 0',
  ],
  [
    { maxLimitRequestRatio: { cpu: '2' } },
    { cpu: '1' },
    {},
    'cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0',
  ],
  [
    { maxLimitRequestRatio: { cpu: '2' } },
    { cpu: '200m' },
    { cpu: '900m' },
    'cpu max limit to request ratio per Container is 2, but provided ratio is 4.500000',
  ],
  [{ maxLimitRequestRatio: { cpu: '1500m' } }, { cpu: '2' }, { cpu: '3' }, ''],
]

test('containers must be within the bounds, and errors name those they violate', () => {
  for (const [limit, requests, limits, fault] of BOUNDS)
    assert.equal(
      faults(ofContainers(limit), { containers: [container(requests, limits)] }),
      fault,
      JSON.stringify([limit, requests, limits]),
    )
})

test('init containers have the same bounds; the same fault is told once, several in a list', () => {
  const limit = ofContainers({ min: { cpu: '1', memory: '1Gi' } })
  assert.equal(
    faults(limit, { containers: [container()], initContainers: [container({ memory: '1Gi' })] }),
    '[minimum cpu usage per Container is 1.  No request is specified, minimum memory usage per Container is 1Gi.  No request is specified]',
  )
})

const POD_TOTALS: readonly (readonly [what: string, limit: object, spec: object, fault: string])[] = [
  [
    'containers together',
    { max: { cpu: '2' } },
    { containers: [container({}, { cpu: '1500m' }), container({}, { cpu: '1' }, { name: 'd' })] },
    'maximum cpu usage per Pod is 2, but limit is 2500m',
  ],
  [
    'an init container that asks for more than all others',
    { max: { cpu: '2' } },
    { containers: [container({}, { cpu: '1' })], initContainers: [container({}, { cpu: '3' }, { name: 'i' })] },
    'maximum cpu usage per Pod is 2, but limit is 3',
  ],
  [
    'a sidecar beside the containers',
    { max: { cpu: '2' } },
    { containers: [container({}, { cpu: '1' })], initContainers: [container({}, { cpu: '2' }, { name: 'i', restartPolicy: 'Always' })] },
    'maximum cpu usage per Pod is 2, but limit is 3',
  ],
  ['what fits', { min: { cpu: '1' } }, { containers: [container({ cpu: '500m' }), container({ cpu: '500m' }, {}, { name: 'd' })] }, ''],
]

for (const [what, limit, spec, fault] of POD_TOTALS)
  test(`limits on pods are about ${what}`, () => {
    assert.equal(faults({ type: 'Pod', ...limit }, spec), fault)
  })

test('containers get defaults for what they omit, and an annotation says so', () => {
  const limit = ofContainers({ default: { cpu: '500m', memory: '256Mi' }, defaultRequest: { cpu: '100m', memory: '128Mi' } })
  const spec = {
    containers: [container({ cpu: '50m' }), container({}, { cpu: '1', memory: '1Gi' }, { name: 'd' })],
    initContainers: [{ name: 'i', image: 'i' }],
  }
  const filled = admitted(plugin(range(limit)), Pod, { spec })
  assert.deepEqual(
    filled.spec.containers.map((each: any) => each.resources),
    [
      { requests: { cpu: '50m', memory: '128Mi' }, limits: { cpu: '500m', memory: '256Mi' } },
      // Limits that were given are requests by the defaults of pods, before limit ranges are looked at.
      { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } },
    ],
  )
  assert.equal(
    filled.metadata.annotations['kubernetes.io/limit-ranger'],
    'LimitRanger plugin set: memory request for container c; cpu, memory limit for container c; cpu, memory request for init container i; cpu, memory limit for init container i',
  )
})

test('a pod that omits nothing is not changed', () => {
  const limit = ofContainers({ default: { cpu: '1' }, defaultRequest: { cpu: '1' } })
  const filled = admitted(plugin(range(limit)), Pod, { spec: { containers: [container({ cpu: '2' }, { cpu: '3' })] } })
  assert.equal(filled.metadata.annotations, undefined)
  assert.deepEqual(filled.spec.containers[0].resources, { requests: { cpu: '2' }, limits: { cpu: '3' } })
})

test('the first limit range that a pod violates is reported', () => {
  const [cpu, memory] = [range(ofContainers({ min: { cpu: '1' } })), range(ofContainers({ min: { memory: '1Gi' } }))]
  assert.equal(
    admitted(plugin(cpu, memory), Pod, { spec: { containers: [container()] } }, { step: 'validate' }),
    '403 pods "x" is forbidden: minimum cpu usage per Container is 1.  No request is specified',
  )
})

const claimFault = (limit: object, requests: Amounts) => {
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests } }
  const result = admitted(plugin(range({ type: 'PersistentVolumeClaim', ...limit })), PersistentVolumeClaim, { spec }, { step: 'validate' })
  return typeof result === 'string' ? result : ''
}

test('claims ask for as much as the bounds let them', () => {
  const rejected = '403 persistentvolumeclaims "x" is forbidden: '
  assert.equal(
    claimFault({ min: { storage: '2Gi' } }, { storage: '1Gi' }),
    `${rejected}minimum storage usage per PersistentVolumeClaim is 2Gi, but request is 1Gi`,
  )
  assert.equal(
    claimFault({ max: { storage: '2Gi' } }, { storage: '3Gi' }),
    `${rejected}maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi`,
  )
  assert.equal(
    claimFault({ max: { storage: '2Gi' } }, {}),
    `${rejected}maximum storage usage per PersistentVolumeClaim is 2Gi.  No request is specified`,
  )
  assert.equal(claimFault({ min: { storage: '1Gi' }, max: { storage: '2Gi' } }, { storage: '1.5Gi' }), '')
})

test('pods are looked at when they are created and resized, and not when they are being deleted', () => {
  const limit = ofContainers({ min: { cpu: '1' } })
  const spec = { containers: [container()] }
  const fault = 'minimum cpu usage per Container is 1.  No request is specified'
  const old = { metadata: { name: 'p' }, spec }
  const leaving = { metadata: { name: 'p', deletionTimestamp: '2026-07-01T00:00:00Z' }, spec }
  assert.equal(faults(limit, spec, { old }), '')
  assert.equal(faults(limit, spec, { old, subresource: 'status' }), '')
  assert.equal(faults(limit, spec, { old, subresource: 'resize' }), fault)
  assert.equal(faults(limit, spec, { old: leaving, subresource: 'resize' }), '')
})
