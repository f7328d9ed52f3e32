import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Reinvocation } from './reinvocation.ts'

const object = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } })

test('those that ran before a change are invoked again, and those after it are not', () => {
  const reinvocation = new Reinvocation()
  const { webhooks } = reinvocation
  webhooks.begin(object('x'))
  webhooks.invoked('a')
  webhooks.changed()
  webhooks.invoked('b')
  webhooks.end(object('x'))
  reinvocation.request()
  assert.equal(reinvocation.startSecond(), true)
  webhooks.begin(object('x'))
  assert.deepEqual([webhooks.skips('a'), webhooks.skips('b'), webhooks.skips('never asked')], [false, true, true])
})

test('a change between the rounds reinvokes all that ran', () => {
  const reinvocation = new Reinvocation()
  const { policies } = reinvocation
  policies.begin(object('x'))
  policies.invoked('a')
  policies.end(object('x'))
  reinvocation.request()
  reinvocation.startSecond()
  policies.begin(object('changed'))
  assert.equal(policies.skips('a'), false)
})

test('there is a second round only if one of them wants reinvocation, and never a third', () => {
  const reinvocation = new Reinvocation()
  assert.equal(reinvocation.startSecond(), false)
  reinvocation.request()
  assert.equal(reinvocation.startSecond(), true)
  reinvocation.request()
  assert.equal(reinvocation.startSecond(), false)
})
