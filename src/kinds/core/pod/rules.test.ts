import assert from 'node:assert/strict'
import { test } from 'node:test'
import { container, type Rows, texts } from '../../../../test/kits/kinds/pod-shapes.ts'
import { type Draft, errors, MIRROR } from '../../../../test/kits/kinds/pods.ts'
import { refTo } from '../../../schema/refs.ts'
import type { ObjectReference } from '../../rules/references.ts'
import { validateBinding, validatePod, validatePodEphemeralContainersUpdate } from './rules.ts'

const createRows: Rows<Draft> = [
  ['a plain pod is fine', {}, []],
  [
    'a new pod has no ephemeral containers',
    { spec: { ephemeralContainers: [container({ name: 'e' })] } },
    ['spec.ephemeralContainers: Forbidden: cannot be set on create'],
  ],
  [
    'a pod behind gates has no node',
    { spec: { nodeName: 'n', schedulingGates: [{ name: 'a' }] } },
    ['spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared'],
  ],
  [
    'a token is of an account',
    { spec: { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }] } },
    ['spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set'],
  ],
  [
    'a grace period is not negative',
    { spec: { terminationGracePeriodSeconds: -1 } },
    ['spec.terminationGracePeriodSeconds: Invalid value: -1: must be greater than or equal to 0'],
  ],
  [
    'images are not padded',
    { spec: { containers: [container({ image: ' x' })], initContainers: [container({ name: 'i', image: 'x ' })] } },
    [
      'spec.containers[0].image: Invalid value: " x": must not have leading or trailing whitespace',
      'spec.initContainers[0].image: Invalid value: "x ": must not have leading or trailing whitespace',
    ],
  ],
  [
    'annotations of a pod are in its metadata',
    { metadata: MIRROR },
    ['metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set'],
  ],
  [
    'a pod says which ports of the node it takes',
    { spec: { hostNetwork: true, containers: [container({ ports: [{ containerPort: 80, hostPort: 81 }] })] } },
    ['spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true'],
  ],
]
for (const [name, draft, expected] of createRows) test(name, () => assert.deepEqual(errors(validatePod, draft), expected))

const updateRows: readonly (readonly [name: string, old: Draft, now: Draft, expected: readonly string[]])[] = [
  ['an image may change', {}, { spec: { containers: [container({ image: 'example.com/app:2' })] } }, []],
  [
    'an amount may be written differently',
    { spec: { containers: [container({ resources: { limits: { memory: '1Gi' } } })] } },
    { spec: { containers: [container({ resources: { limits: { memory: '1073741824' } } })] } },
    [],
  ],
  [
    'containers cannot be added or removed',
    {},
    { spec: { containers: [container(), container({ name: 'b' })] } },
    ['spec.containers: Forbidden: pod updates may not add or remove containers'],
  ],
  [
    'init containers cannot be added or removed',
    {},
    { spec: { initContainers: [container({ name: 'b' })] } },
    ['spec.initContainers: Forbidden: pod updates may not add or remove containers'],
  ],
  ['a deadline may be set', {}, { spec: { activeDeadlineSeconds: 5 } }, []],
  ['a deadline may come closer', { spec: { activeDeadlineSeconds: 5 } }, { spec: { activeDeadlineSeconds: 4 } }, []],
  [
    'a deadline is not moved away',
    { spec: { activeDeadlineSeconds: 5 } },
    { spec: { activeDeadlineSeconds: 6 } },
    ['spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value'],
  ],
  [
    'a deadline is not lifted',
    { spec: { activeDeadlineSeconds: 5 } },
    {},
    ['spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value'],
  ],
  [
    'tolerations are added, and their time may change',
    { spec: { tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 1 }] } },
    { spec: { tolerations: [{ operator: 'Exists' }, { key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 2 }] } },
    [],
  ],
  [
    'tolerations are not taken away',
    { spec: { tolerations: [{ operator: 'Exists' }] } },
    {},
    ['spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds'],
  ],
  ['gates are opened', { spec: { schedulingGates: [{ name: 'a' }] } }, {}, []],
  [
    'gates are not built',
    { spec: { schedulingGates: [{ name: 'a' }] } },
    { spec: { schedulingGates: [{ name: 'a' }, { name: 'b' }] } },
    ["spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'b'"],
  ],
  [
    'a gated pod may become pickier',
    { spec: { schedulingGates: [{ name: 'a' }], nodeSelector: { a: 'b' } } },
    { spec: { schedulingGates: [{ name: 'a' }], nodeSelector: { a: 'b', c: 'd' } } },
    [],
  ],
  [
    'a gated pod does not become less picky',
    { spec: { schedulingGates: [{ name: 'a' }], nodeSelector: { a: 'b' } } },
    { spec: { schedulingGates: [{ name: 'a' }] } },
    ['spec.nodeSelector: Invalid value: null: only additions to spec.nodeSelector are allowed (no mutations or deletions)'],
  ],
  [
    'a negative grace period may become one',
    { spec: { terminationGracePeriodSeconds: -1 } },
    { spec: { terminationGracePeriodSeconds: 1 } },
    [],
  ],
  [
    'a pod does not become a mirror',
    { spec: { nodeName: 'n' } },
    { metadata: MIRROR, spec: { nodeName: 'n' } },
    ['metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation'],
  ],
  [
    'a mirror stays one',
    { metadata: MIRROR, spec: { nodeName: 'n' } },
    { spec: { nodeName: 'n' } },
    ['metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not remove or update mirror pod annotation'],
  ],
]
for (const [name, old, now, expected] of updateRows) test(name, () => assert.deepEqual(errors(validatePod, now, { old }), expected))

test('what may not change is shown', () => {
  const [error, ...more] = errors(validatePod, { spec: { hostname: 'b' } }, { old: { spec: { hostname: 'a' } } })
  assert.deepEqual(more, [])
  assert.ok(
    error?.startsWith(
      'spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n@@ ',
    ),
  )
  assert.ok(error?.includes('\n- "Hostname": "a",\n+ "Hostname": "b",\n'))
})

test('requirements on nodes of a gated pod are added at the end', () => {
  const spec = (...keys: string[]) => ({
    schedulingGates: [{ name: 'a' }],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: keys.map(key => ({ key, operator: 'Exists' })) }],
        },
      },
    },
  })
  assert.deepEqual(errors(validatePod, { spec: spec('a', 'b') }, { old: { spec: spec('a') } }), [])
  assert.deepEqual(errors(validatePod, { spec: spec('b', 'a') }, { old: { spec: spec('a') } }), [
    'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]: Invalid value: {"MatchExpressions":[{"Key":"b","Operator":"Exists","Values":null},{"Key":"a","Operator":"Exists","Values":null}],"MatchFields":null}: only additions are allowed (no mutations or deletions)',
  ])
  assert.deepEqual(errors(validatePod, { spec: { schedulingGates: [{ name: 'a' }] } }, { old: { spec: spec('a') } }), [
    'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Invalid value: null: no additions/deletions to non-empty NodeSelectorTerms list are allowed',
  ])
  assert.deepEqual(errors(validatePod, { spec: spec('a') }, { old: { spec: { schedulingGates: [{ name: 'a' }] } } }), [])
})

test('ephemeral containers are added, and stay', () => {
  const spec = (...names: string[]) => ({ spec: { ephemeralContainers: names.map(name => container({ name })) } })
  const rule = validatePodEphemeralContainersUpdate
  assert.deepEqual(errors(rule, spec('a', 'b'), { old: spec('a') }), [])
  assert.deepEqual(errors(rule, spec('b'), { old: spec('a') }), [
    'spec.ephemeralContainers: Forbidden: existing ephemeral containers "a" may not be removed\n',
  ])
  const [error] = errors(rule, { spec: { ephemeralContainers: [container({ name: 'a', image: 'y' })] } }, { old: spec('a') })
  assert.match(error!, /^spec\.ephemeralContainers: Forbidden: existing ephemeral containers "a" may not be changed\n@@ /)
  const mirror = { metadata: MIRROR, spec: { nodeName: 'n' } }
  assert.deepEqual(errors(rule, mirror, { old: mirror }), [': Forbidden: static pods do not support ephemeral containers'])
})

test('a binding names a node', () => {
  const bind = (target: ObjectReference) => texts(validateBinding({ target }, refTo({ target })))
  assert.deepEqual(bind({ kind: 'Node', name: 'n' }), [])
  assert.deepEqual(bind({ kind: 'Pod' }), [
    'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
    'target.name: Required value',
  ])
  assert.match(bind({ name: 'N' })[0]!, /^target\.name: Invalid value: "N": a lowercase RFC 1123 subdomain/)
})
