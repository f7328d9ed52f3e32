import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextStep, type Range, type Step } from './reconcile.ts'

const finalizer = 'networking.k8s.io/service-cidr-finalizer'
const range = (name: string, cidrs: string[], more: { metadata?: object; conditions?: object[] } = {}): Range =>
  ({ metadata: { name, ...more.metadata }, spec: { cidrs }, status: { conditions: more.conditions } }) as never
const going = { finalizers: [finalizer], deletionTimestamp: '2026-07-01T00:00:00Z' }
const next = (o: Range, addresses: string[] = [], others: Range[] = []): Step | undefined =>
  nextStep(o, { ranges: [o, ...others], addresses: () => addresses, finalizer })
const said = (step: Step | undefined) => (step?.step === 'report' ? `${step.ready.status} ${step.ready.reason}` : step?.step)

test('a new range gets a finalizer, then the condition Ready, then nothing', () => {
  assert.equal(next(range('a', ['10.0.0.0/24']))?.step, 'protect')
  const step = next(range('a', ['10.0.0.0/24'], { metadata: { finalizers: [finalizer] } }))
  assert.deepEqual(step, { step: 'report', ready: { status: 'True', reason: '', message: 'Kubernetes Service CIDR is ready' } })
  const conditions = [{ type: 'Ready', status: 'True', reason: '', message: 'Kubernetes Service CIDR is ready' }]
  assert.equal(next(range('a', ['10.0.0.0/24'], { metadata: { finalizers: ['x/y', finalizer] }, conditions })), undefined)
})

test('a range with services stays until they are deleted', () => {
  const o = range('a', ['10.0.0.0/24', 'fd00::/112'], { metadata: going })
  assert.equal(said(next(o, ['10.0.0.5'])), 'False Terminating')
  assert.equal(said(next(o, ['fd00::1'])), 'False Terminating')
  assert.equal(said(next(o, ['10.0.1.5'])), 'release')
  assert.equal(said(next(o)), 'release')
  const conditions = [
    {
      type: 'Ready',
      status: 'False',
      reason: 'Terminating',
      message: 'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR',
    },
  ]
  assert.equal(next(range('a', ['10.0.0.0/24'], { metadata: going, conditions }), ['10.0.0.5']), undefined)
})

test('a range that another range covers is removed at once', () => {
  const o = range('a', ['10.0.0.0/24'], { metadata: going })
  assert.equal(said(next(o, ['10.0.0.5'], [range('b', ['10.0.0.0/16'])])), 'release')
  assert.equal(said(next(o, ['10.0.0.5'], [range('b', ['10.0.0.0/24'])])), 'release')
  assert.equal(said(next(o, ['10.0.0.5'], [range('b', ['10.0.0.0/29'])])), 'release')
  assert.equal(said(next(o, ['10.0.0.50'], [range('b', ['10.0.0.0/29'])])), 'False Terminating')
  // The last address of the smaller block is nobody's there, but somebody's here.
  assert.equal(said(next(o, ['10.0.0.7'], [range('b', ['10.0.0.0/29'])])), 'False Terminating')
  assert.equal(said(next(o, ['10.0.0.5'], [range('b', ['10.0.0.0/24'], { metadata: going })])), 'False Terminating')
})

test('a range that finalizers of others keep is not touched', () => {
  const metadata = { finalizers: ['a.com/other'], deletionTimestamp: '2026-07-01T00:00:00Z' }
  assert.equal(next(range('a', ['10.0.0.0/24'], { metadata }), ['10.0.0.5']), undefined)
})
