import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Budget } from '../../../schema/budget.ts'
import { readinessGatesText, readyText, restartsText, statusText } from './status-text.ts'

const ctx = { now: new Date('2026-07-01T12:00:00Z'), budget: new Budget() }
type PodLike = Parameters<typeof statusText>[0]

const container = (name: string, more: object = {}) => ({
  name,
  ready: false,
  restartCount: 0,
  image: '',
  imageID: '',
  state: {},
  lastState: {},
  ...more,
})
const running = { ready: true, started: true, state: { running: {} } }
const pod = (status: object, spec: object = {}, metadata: object = {}) =>
  ({ metadata, spec: { containers: [{ name: 'a' }, { name: 'b' }], ...spec }, status }) as unknown as PodLike
const row = (p: PodLike) => [readyText(p), statusText(p), restartsText(p, ctx)]

test('a pod shows its phase, or the reason it gives', () => {
  assert.deepEqual(row(pod({ phase: 'Pending' })), ['0/2', 'Pending', '0'])
  assert.equal(statusText(pod({ phase: 'Failed', reason: 'Evicted' })), 'Evicted')
  assert.equal(statusText(pod({})), '')
})

test('a pod with scheduling gates is shown as SchedulingGated', () => {
  assert.equal(statusText(pod({ phase: 'Pending', conditions: [{ type: 'PodScheduled', reason: 'SchedulingGated' }] })), 'SchedulingGated')
})

test('running containers are counted', () => {
  assert.deepEqual(row(pod({ phase: 'Running', containerStatuses: [container('a', running), container('b', running)] })), [
    '2/2',
    'Running',
    '0',
  ])
})

test('the first container that waits or has ended gives the reason', () => {
  const status = (...states: object[]) => ({ phase: 'Running', containerStatuses: states.map(state => container('x', { state })) })
  assert.equal(statusText(pod(status({ waiting: { reason: 'CrashLoopBackOff' } }, { terminated: { exitCode: 1 } }))), 'CrashLoopBackOff')
  assert.equal(statusText(pod(status({ terminated: { exitCode: 3 } }))), 'ExitCode:3')
  assert.equal(statusText(pod(status({ terminated: { exitCode: 137, signal: 9 } }))), 'Signal:9')
  assert.equal(statusText(pod(status({ terminated: { exitCode: 137, reason: 'OOMKilled' } }))), 'OOMKilled')
  assert.equal(statusText(pod(status({ waiting: {} }))), 'Running')
})

test('a completed container does not hide one that runs or one that failed', () => {
  const completed = { state: { terminated: { exitCode: 0, reason: 'Completed' } } }
  const failed = { state: { terminated: { exitCode: 1, reason: 'Error' } } }
  const statuses = (...states: object[]) => states.map(state => container('x', state))
  const ready = [{ type: 'Ready', status: 'True' }]
  assert.equal(statusText(pod({ phase: 'Running', conditions: ready, containerStatuses: statuses(completed, running) })), 'Running')
  assert.equal(statusText(pod({ phase: 'Running', containerStatuses: statuses(completed, running) })), 'NotReady')
  assert.equal(statusText(pod({ phase: 'Running', containerStatuses: statuses(completed, failed) })), 'Error')
  assert.equal(statusText(pod({ phase: 'Succeeded', containerStatuses: statuses(completed) })), 'Completed')
})

test('init containers show how far they are, or why they do not get further', () => {
  const spec = { initContainers: [{ name: 'i' }, { name: 'j' }] }
  const status = (...states: object[]) => ({
    phase: 'Pending',
    initContainerStatuses: states.map((state, n) => container(n === 0 ? 'i' : 'j', { state })),
  })
  const done = { terminated: { exitCode: 0 } }
  assert.equal(statusText(pod(status({ waiting: { reason: 'PodInitializing' } }), spec)), 'Init:0/2')
  assert.equal(statusText(pod(status(done, { running: {} }), spec)), 'Init:1/2')
  assert.equal(statusText(pod(status(done, { waiting: { reason: 'ImagePullBackOff' } }), spec)), 'Init:ImagePullBackOff')
  assert.equal(statusText(pod(status({ terminated: { exitCode: 2 } }), spec)), 'Init:ExitCode:2')
  assert.equal(statusText(pod(status({ terminated: { exitCode: 2, signal: 15 } }), spec)), 'Init:Signal:15')
  assert.equal(statusText(pod(status({ terminated: { exitCode: 2, reason: 'Error' } }), spec)), 'Init:Error')
  assert.equal(statusText(pod(status(done, done), spec)), 'Pending')
})

test('sidecars count as containers', () => {
  const spec = { initContainers: [{ name: 's', restartPolicy: 'Always' }] }
  const status = {
    phase: 'Running',
    initContainerStatuses: [container('s', { ...running, restartCount: 2 })],
    containerStatuses: [container('a', running), container('b', { restartCount: 1 })],
  }
  assert.deepEqual(row(pod(status, spec)), ['2/3', 'Running', '3'])
})

test('restarts say when the last one was', () => {
  const ended = (finishedAt: string | null) => ({ restartCount: 2, lastState: { terminated: { exitCode: 1, finishedAt } } })
  const statuses = (...states: object[]) => ({ phase: 'Running', containerStatuses: states.map(state => container('x', state)) })
  assert.equal(restartsText(pod(statuses(ended('2026-07-01T11:00:00Z'), ended('2026-07-01T11:55:00Z'))), ctx), '4 (5m ago)')
  assert.equal(restartsText(pod(statuses(ended(null))), ctx), '2')
  assert.equal(restartsText(pod(statuses({ ...ended('2026-07-01T11:00:00Z'), restartCount: 0 })), ctx), '0')
})

test('a pod that is being deleted is shown as Terminating, unless it has finished or its node is lost', () => {
  const leaving = { deletionTimestamp: '2026-07-01T11:00:00Z' }
  assert.equal(statusText(pod({ phase: 'Running' }, {}, leaving)), 'Terminating')
  assert.equal(statusText(pod({ phase: 'Succeeded' }, {}, leaving)), 'Succeeded')
  assert.equal(statusText(pod({ phase: 'Running', reason: 'NodeLost' }, {}, leaving)), 'Unknown')
})

test('readiness gates are counted', () => {
  const spec = { readinessGates: [{ conditionType: 'a' }, { conditionType: 'b' }] }
  assert.equal(
    readinessGatesText(
      pod(
        {
          conditions: [
            { type: 'a', status: 'True' },
            { type: 'b', status: 'False' },
          ],
        },
        spec,
      ),
    ),
    '1/2',
  )
  assert.equal(readinessGatesText(pod({})), '<none>')
})
