import assert from 'node:assert/strict'
import { test } from 'node:test'
import { admitted } from '../../../test/kits/admission.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { defaultTolerationSeconds } from './default-toleration-seconds.ts'

const plugin = defaultTolerationSeconds({ notReady: 300, unreachable: 300 })

const given = (key: string) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 })
const tolerationsOf = (tolerations?: object[]) => admitted(plugin, Pod, { spec: { ...(tolerations && { tolerations }) } }).spec.tolerations

test('a pod stays five minutes on nodes that are not ready or out of reach', () => {
  assert.deepEqual(tolerationsOf(), [given('node.kubernetes.io/not-ready'), given('node.kubernetes.io/unreachable')])
})

test('what the pod says about a taint stands', () => {
  const own = { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 }
  assert.deepEqual(tolerationsOf([own]), [own, given('node.kubernetes.io/unreachable')])
  assert.deepEqual(tolerationsOf([{ operator: 'Exists' }]), [{ operator: 'Exists' }])
  const other = { operator: 'Exists', effect: 'NoSchedule' }
  assert.equal(tolerationsOf([other]).length, 3)
})

test('status writes are left alone', () => {
  assert.equal(admitted(plugin, Pod, {}, { old: {}, subresource: 'status' }).spec.tolerations, undefined)
})
