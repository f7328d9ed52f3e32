import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conflictsOf, labelsByVolume, type Use, useOf } from './labels.ts'

const mounts = [{ name: 'data' }]

test('a volume has the labels of the containers that mount it', () => {
  const spec = {
    securityContext: { seLinuxOptions: { level: 's0:c1,c2' } },
    containers: [{ volumeMounts: mounts }, { volumeMounts: mounts, securityContext: { seLinuxOptions: { level: 's0:c3' } } }],
  }
  assert.deepEqual([...labelsByVolume(spec).get('data')!], [':::s0:c1,c2', ':::s0:c3'])
})

test('a label counts only for volumes that can be mounted with one', () => {
  const pod = { namespace: 'a', name: 'p' }
  const spec = (seLinuxChangePolicy?: string) => ({
    containers: [],
    ...(seLinuxChangePolicy && { securityContext: { seLinuxChangePolicy } }),
  })
  const label = ':::s0'
  assert.deepEqual(useOf(pod, spec(), { label, isSupported: true }), { pod, label, changePolicy: 'MountOption' })
  const recursive = { pod, label: '', changePolicy: 'Recursive' }
  assert.deepEqual(useOf(pod, spec(), { label, isSupported: false }), recursive)
  assert.deepEqual(useOf(pod, spec('Recursive'), { label, isSupported: true }), recursive)
})

test('levels and policies conflict; what a label leaves open does not; pods of other namespaces stay unnamed', () => {
  const use = (namespace: string, name: string, label: string, changePolicy = 'MountOption'): Use => ({
    pod: { namespace, name },
    label,
    changePolicy,
  })
  const a = use('x', 'a', 'u:r:t:s0:c1')
  assert.deepEqual([...conflictsOf(a, [use('x', 'b', ':::s0:c1')])], [])
  assert.deepEqual(
    [...conflictsOf(a, [use('x', 'b', ':::s0:c2')])].map(({ pod, message }) => [pod.name, message]),
    [
      [
        'a',
        'SELinuxLabel "u:r:t:s0:c1" conflicts with pod b that uses the same volume as this pod with SELinuxLabel ":::s0:c2". If both pods land on the same node, only one of them may access the volume.',
      ],
      [
        'b',
        'SELinuxLabel ":::s0:c2" conflicts with pod a that uses the same volume as this pod with SELinuxLabel "u:r:t:s0:c1". If both pods land on the same node, only one of them may access the volume.',
      ],
    ],
  )
  const [first] = conflictsOf(a, [use('y', 'b', 'u:r:t:s0:c1', 'Recursive')])
  assert.deepEqual(first, {
    pod: a.pod,
    reason: 'SELinuxChangePolicyConflict',
    message:
      'SELinuxChangePolicy"MountOption" conflicts with another pod that uses the same volume as this pod with a different SELinuxChangePolicy. If both pods land on the same node, only one of them may access the volume.',
  })
})
