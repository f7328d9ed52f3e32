import assert from 'node:assert/strict'
import { test } from 'node:test'
import { created, type Draft } from '../../../test/kits/kinds/kinds.ts'
import { Job } from '../../kinds/batch/job.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { FailureRecord } from './back-off.ts'
import { COMPLETION_INDEX, FAILURE_COUNT, IGNORED_FAILURE_COUNT, TRACKING_FINALIZER } from './job-pod.ts'
import { podForJob } from './pod-for-job.ts'
import { assess, countReleased, planPods, trackPods } from './reconcile.ts'

const START = '2026-07-01T12:00:00Z'
const at = (seconds: number) => Date.parse(START) + seconds * 1000
const textAt = (seconds: number) => new Date(at(seconds)).toISOString().replace('.000', '')

const template = { metadata: {}, spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'i' }] } }
function job(spec: object = {}, status: object = {}, metadata: object = {}): Job {
  const made = created(Job, {
    metadata: { name: 'work', uid: 'u1', namespace: 'default', ...metadata },
    spec: { template, ...spec },
  } as Draft)
  return { ...made, status: { startTime: START, ...status } } as never
}

type PodShape = {
  name?: string
  phase?: string
  index?: number
  tracked?: boolean
  leaving?: boolean
  ready?: boolean
  code?: number
  ended?: number
  failures?: number
  conditions?: object[]
  restarts?: number
}
let pods = 0
function pod(shape: PodShape = {}): Pod {
  const {
    name = `p${++pods}`,
    phase = 'Running',
    index,
    tracked = true,
    leaving,
    ready,
    code = phase === 'Succeeded' ? 0 : 1,
    ended = 0,
  } = shape
  const over = phase === 'Succeeded' || phase === 'Failed'
  const annotations = {
    ...(index !== undefined && { [COMPLETION_INDEX]: String(index) }),
    ...(shape.failures !== undefined && { [FAILURE_COUNT]: String(shape.failures) }),
  }
  return {
    metadata: {
      name,
      uid: name,
      namespace: 'default',
      annotations,
      creationTimestamp: START,
      ...(tracked && { finalizers: [TRACKING_FINALIZER] }),
      ...(leaving && { deletionTimestamp: textAt(ended) }),
    },
    spec: { containers: [{ name: 'main' }] },
    status: {
      phase,
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: textAt(ended) }, ...(shape.conditions ?? [])],
      containerStatuses: [
        {
          name: 'main',
          restartCount: shape.restarts ?? 0,
          state: over ? { terminated: { exitCode: code, finishedAt: textAt(ended) } } : { running: {} },
        },
      ],
    },
  } as never
}

type Round = { seconds?: number; record?: FailureRecord; failing?: readonly string[]; forgetsStart?: boolean }
/** One reconcile in which every write succeeds, but deletions of `failing` pods. */
function round(work: Job, list: readonly Pod[], { seconds = 1, record, failing = [], forgetsStart = true }: Round = {}) {
  const assessment = assess({ job: work, pods: list, now: at(seconds), record, forgetsStart })
  const plan = planPods(assessment)
  const removed = plan.remove.filter(({ metadata }) => !failing.includes(metadata.name!))
  const progress = trackPods(assessment, plan, { removed, created: plan.create.length })
  const released = new Set(progress.release.map(({ metadata }) => metadata.uid!))
  const { status, events } = countReleased(work, progress, { released, now: at(seconds) })
  return {
    plan,
    progress,
    status,
    events: [...progress.events, ...events].map(e => `${e.type} ${e.reason}: ${e.message}`),
    record: assessment.record,
  }
}
const names = (list: readonly Pod[]) => list.map(({ metadata }) => metadata.name)
const conditions = ({ conditions = [] }: Job['status']) => conditions.map(c => `${c.type}=${c.status} ${c.reason}: ${c.message}`)

test('as many pods run as there is work for, and no more than at once', () => {
  assert.equal(round(job({ completions: 5, parallelism: 3 }), []).plan.create.length, 3)
  assert.equal(round(job({ completions: 5, parallelism: 3 }, { succeeded: 4 }), []).plan.create.length, 1)
  assert.equal(round(job({ completions: 5, parallelism: 3 }), [pod(), pod({ phase: 'Succeeded' })]).plan.create.length, 2)
  assert.equal(round(job({ parallelism: 2 }), []).plan.create.length, 2)
  assert.equal(round(job({ completions: 5, parallelism: 0 }), []).plan.create.length, 0)
})

test('when there are too many pods those go that have achieved least', () => {
  const list = [pod({ name: 'a', ready: true }), pod({ name: 'b', phase: 'Pending' }), pod({ name: 'c' })]
  const { plan, status } = round(job({ completions: 5, parallelism: 1 }), list)
  assert.deepEqual(names(plan.remove), ['b', 'c'])
  assert.equal(plan.removedCount, false)
  assert.deepEqual([status.active, status.terminating, status.failed], [1, 2, undefined])
})

test('a queue of work begins no pods after the first success and is complete when all have ended', () => {
  const work = job({ parallelism: 3 })
  const first = round(work, [pod({ phase: 'Succeeded' }), pod()])
  assert.deepEqual([first.plan.create.length, first.status.succeeded, first.status.active], [0, 1, 1])
  assert.deepEqual(conditions(first.status), [])
  const last = round({ ...work, status: first.status }, [pod({ phase: 'Succeeded' })])
  assert.equal(last.status.succeeded, 2)
  assert.equal(last.status.completionTime, textAt(1))
})

test('a job is complete when enough pods have succeeded', () => {
  const { status, events, progress } = round(job(), [pod({ name: 'a', phase: 'Succeeded' })])
  assert.deepEqual(progress.status.uncountedTerminatedPods, { succeeded: ['a'] })
  assert.deepEqual(conditions(progress.status), ['SuccessCriteriaMet=True CompletionsReached: Reached expected number of succeeded pods'])
  assert.deepEqual(conditions(status).at(-1), 'Complete=True CompletionsReached: Reached expected number of succeeded pods')
  assert.deepEqual([status.succeeded, status.completionTime, status.uncountedTerminatedPods], [1, textAt(1), {}])
  assert.deepEqual(events, ['Normal Completed: Job completed'])
  const more = round(job(), [pod({ phase: 'Succeeded' }), pod({ phase: 'Succeeded' })])
  assert.match(more.events[0]!, /TooManySucceededPods/)
})

test('a pod is counted once, at whatever point the server was killed', () => {
  const work = job({ completions: 2 })
  const ended = pod({ name: 'a', phase: 'Succeeded' })
  const { progress } = round(work, [ended])
  // The status was written, the finalizer is still there.
  const again = round({ ...work, status: progress.status }, [ended])
  assert.deepEqual(again.progress.status.uncountedTerminatedPods, { succeeded: ['a'] })
  assert.equal(again.status.succeeded, 1)
  // The finalizer is gone, the pod not counted.
  const later = round({ ...work, status: progress.status }, [pod({ name: 'a', phase: 'Succeeded', tracked: false })])
  assert.deepEqual([later.progress.status.succeeded, later.progress.status.uncountedTerminatedPods], [1, {}])
  // All is counted.
  assert.equal(round({ ...work, status: later.status }, [pod({ name: 'a', phase: 'Succeeded', tracked: false })]).status.succeeded, 1)
})

test('a status names only so many pods at a time, and the job is not over before all are counted', () => {
  const list = Array.from({ length: 600 }, () => pod({ phase: 'Succeeded' }))
  const { progress, status } = round(job({ completions: 600, parallelism: 600 }), list)
  assert.deepEqual([progress.release.length, progress.status.uncountedTerminatedPods?.succeeded?.length, status.succeeded], [500, 500, 500])
  assert.equal(conditions(status).length, 1)
})

test('after failures a job waits twice as long each time', () => {
  const work = job({ completions: 2, parallelism: 1 })
  const first = round(work, [pod({ phase: 'Failed', ended: 0 })])
  assert.deepEqual([first.plan.create.length, first.plan.waitMs, first.status.failed], [0, 9000, 1])
  const second = round({ ...work, status: first.status }, [pod({ phase: 'Failed', ended: 10 })], { seconds: 10, record: first.record })
  assert.equal(second.plan.waitMs, 20_000)
  const ok = round({ ...work, status: second.status }, [pod({ phase: 'Succeeded', ended: 20 })], { seconds: 20, record: second.record })
  assert.deepEqual([ok.plan.create.length, ok.plan.waitMs], [1, undefined])
  // Without a memory, the pods tell.
  const restarted = round(work, [pod({ phase: 'Failed', tracked: false }), pod({ phase: 'Failed', tracked: false, ended: 5 })], {
    seconds: 5,
  })
  assert.equal(restarted.plan.waitMs, 20_000)
})

test('one failure too many ends a job and all its pods', () => {
  const work = job({ backoffLimit: 1, completions: 3, parallelism: 3 }, { failed: 1 })
  const { plan, progress, status } = round(work, [pod({ name: 'a', phase: 'Failed' }), pod({ name: 'b', ready: true })])
  assert.deepEqual([names(plan.remove), plan.removedCount], [['b'], true])
  assert.deepEqual(progress.status.uncountedTerminatedPods, { failed: ['a', 'b'] })
  assert.deepEqual(conditions(status), ['FailureTarget=True BackoffLimitExceeded: Job has reached the specified backoff limit'])
  assert.deepEqual([status.failed, status.terminating, status.ready, status.active], [3, 1, 0, undefined])
  const over = round({ ...work, status }, [])
  assert.deepEqual(conditions(over.status)[1], 'Failed=True BackoffLimitExceeded: Job has reached the specified backoff limit')
  assert.deepEqual(over.events, ['Warning BackoffLimitExceeded: Job has reached the specified backoff limit'])
})

test('a job whose pods cannot be deleted is not over', () => {
  const work = job({ backoffLimit: 0, completions: 2, parallelism: 2 })
  const { status, progress } = round(work, [pod({ name: 'a', phase: 'Failed' }), pod({ name: 'b' })], { failing: ['b'] })
  assert.deepEqual([conditions(status), status.active, names(progress.release)], [[], 1, ['a']])
})

test('restarts of containers count where the node restarts them', () => {
  const spec = { template: { ...template, spec: { ...template.spec, restartPolicy: 'OnFailure' } }, backoffLimit: 2 }
  assert.equal(round(job(spec), [pod({ restarts: 1 })]).status.conditions, undefined)
  assert.match(conditions(round(job(spec), [pod({ restarts: 2 })]).status)[0]!, /BackoffLimitExceeded/)
  assert.match(conditions(round(job({ ...spec, backoffLimit: 0 }), [pod({ restarts: 1 })]).status)[0]!, /BackoffLimitExceeded/)
})

test('a job that is active for too long fails', () => {
  const work = job({ activeDeadlineSeconds: 10 })
  assert.equal(assess({ job: work, pods: [pod()], now: at(4), record: undefined, forgetsStart: true }).deadlineMs, 6000)
  assert.deepEqual(conditions(round(work, [pod()], { seconds: 10 }).status), [
    'FailureTarget=True DeadlineExceeded: Job was active longer than specified deadline',
  ])
  assert.equal(round(job({ activeDeadlineSeconds: 10, suspend: true }), [], { seconds: 10 }).status.completionTime, undefined)
})

test('indexes that have succeeded are named, and others begun', () => {
  const work = job({ completionMode: 'Indexed', completions: 4, parallelism: 2 }, { completedIndexes: '1', succeeded: 1 })
  const list = [pod({ index: 0, phase: 'Succeeded' }), pod({ index: 2 }), pod({ index: 7, phase: 'Succeeded' })]
  const { plan, status, progress } = round(work, list)
  assert.deepEqual(plan.create, [{ index: 3 }])
  assert.deepEqual([status.completedIndexes, status.succeeded, status.uncountedTerminatedPods], ['0,1', 2, {}])
  assert.equal(progress.release.length, 2)
})

test('every index has one pod, and pods of no index go', () => {
  const work = job({ completionMode: 'Indexed', completions: 2, parallelism: 2 })
  const list = [
    pod({ name: 'a', index: 0 }),
    pod({ name: 'b', index: 0, ready: true }),
    pod({ name: 'c', index: 1 }),
    pod({ name: 'd', index: 2 }),
    pod({ name: 'e' }),
  ]
  assert.deepEqual(names(round(work, list).plan.remove).sort(), ['a', 'd', 'e'])
})

test('where indexes fail on their own, the last failed pod stays until its index has another', () => {
  const spec = { completionMode: 'Indexed', completions: 2, parallelism: 2, backoffLimitPerIndex: 1 }
  const failed = pod({ name: 'a', index: 0, phase: 'Failed', failures: 0 })
  const waiting = round(job(spec), [failed, pod({ index: 1 })])
  assert.deepEqual([waiting.plan.create, waiting.plan.waitMs, waiting.progress.release], [[], 9000, []])
  assert.deepEqual([waiting.status.failed, waiting.status.failedIndexes], [undefined, ''])
  const later = round(job(spec), [failed, pod({ index: 1 })], { seconds: 11 })
  assert.deepEqual(later.plan.create, [{ index: 0, replaced: failed }])
  const next = podForJob(job(spec), later.plan.create[0]!)
  assert.equal(next.metadata?.annotations?.[FAILURE_COUNT], '1')
  const replaced = round(job(spec), [failed, pod({ index: 0, failures: 1 }), pod({ index: 1 })], { seconds: 12 })
  assert.deepEqual([names(replaced.progress.release), replaced.status.failed], [['a'], 1])
})

test('a job with failed indexes fails when nothing is left to do, or too many have', () => {
  const spec = { completionMode: 'Indexed', completions: 3, parallelism: 3, backoffLimitPerIndex: 0 }
  const list = [pod({ index: 0, phase: 'Failed', failures: 0 }), pod({ index: 1, phase: 'Succeeded' }), pod({ index: 2 })]
  const open = round(job(spec), list)
  assert.deepEqual([open.status.failedIndexes, open.status.completedIndexes, conditions(open.status)], ['0', '1', []])
  const over = round(job(spec), [...list.slice(0, 2), pod({ index: 2, phase: 'Succeeded' })])
  assert.match(conditions(over.status)[0]!, /FailureTarget=True FailedIndexes: Job has failed indexes/)
  const many = round(job({ ...spec, maxFailedIndexes: 0 }), list)
  assert.match(conditions(many.status)[0]!, /MaxFailedIndexesExceeded: Job has exceeded the specified maximal number of failed indexes/)
})

const policy = (action: string, rule: object) => ({ podFailurePolicy: { rules: [{ action, ...rule }] }, completions: 2, parallelism: 2 })
const codes = { onExitCodes: { operator: 'In', values: [42] } }

test('a failure policy fails the job, ignores a failure, counts it or fails its index', () => {
  const failed = (name: string, shape: PodShape = {}) => pod({ name, phase: 'Failed', code: 42, ...shape })
  const why = 'PodFailurePolicy: Container main for pod default/a failed with exit code 42 matching FailJob rule at index 0'
  assert.deepEqual(conditions(round(job(policy('FailJob', codes)), [failed('a')]).status), [
    `FailureTarget=True ${why}`,
    `Failed=True ${why}`,
  ])
  const disrupted = { onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }
  const evicted = failed('b', { conditions: [{ type: 'DisruptionTarget', status: 'True' }] })
  assert.match(
    conditions(round(job(policy('FailJob', disrupted)), [evicted]).status)[0]!,
    /: Pod default\/b has condition DisruptionTarget matching FailJob rule at index 0$/,
  )
  const ignored = round(job(policy('Ignore', codes)), [failed('a')])
  assert.deepEqual([ignored.status.failed, names(ignored.progress.release)], [undefined, ['a']])
  assert.equal(round(job(policy('Ignore', codes)), [failed('a', { code: 1 })]).status.failed, 1)
  assert.equal(round(job(policy('Count', codes)), [failed('a')]).status.failed, 1)
  const other = { onExitCodes: { operator: 'NotIn', values: [42] } }
  assert.equal(round(job(policy('Ignore', other)), [failed('a')]).status.failed, 1)
  const perIndex = { ...policy('FailIndex', codes), completionMode: 'Indexed', backoffLimitPerIndex: 5 }
  assert.equal(round(job(perIndex), [failed('a', { index: 1, failures: 0 })]).status.failedIndexes, '1')
  const ignoring = job({ ...policy('Ignore', codes), completionMode: 'Indexed', backoffLimitPerIndex: 5 })
  const annotations = podForJob(ignoring, { index: 1, replaced: failed('a', { index: 1, failures: 2 }) }).metadata?.annotations
  assert.deepEqual([annotations?.[FAILURE_COUNT], annotations?.[IGNORED_FAILURE_COUNT]], ['2', '1'])
})

test('a success policy ends a job early, and its pods do not count as failed', () => {
  const rules = [{ succeededIndexes: '0,2', succeededCount: 2 }, { succeededCount: 3 }]
  const work = job({ completionMode: 'Indexed', completions: 5, parallelism: 5, successPolicy: { rules } })
  const ended = (...indexes: number[]) => indexes.map(index => pod({ index, phase: 'Succeeded' }))
  const running = pod({ index: 4 })
  assert.equal(round(work, [...ended(0, 1), running]).status.conditions, undefined)
  const met = round(work, [...ended(0, 2), running])
  assert.deepEqual(conditions(met.status), ['SuccessCriteriaMet=True SuccessPolicy: Matched rules at index 0'])
  assert.deepEqual([met.status.failed, met.status.terminating], [undefined, 1])
  assert.match(conditions(round(work, ended(0, 1, 3)).status).at(-1)!, /^Complete=True SuccessPolicy: Matched rules at index 1$/)
})

test('a suspended job has no pods, and its time begins when it is resumed', () => {
  const suspended = round(job({ suspend: true }, { startTime: undefined }), [])
  assert.deepEqual(conditions(suspended.status), ['Suspended=True JobSuspended: Job suspended'])
  assert.deepEqual([suspended.status.startTime, suspended.events], [undefined, ['Normal Suspended: Job suspended']])
  assert.deepEqual(round(job({ suspend: true }, suspended.status), []).events, [])
  const resumed = round(job({}, suspended.status), [], { seconds: 30 })
  assert.deepEqual(conditions(resumed.status), ['Suspended=False JobResumed: Job resumed'])
  assert.deepEqual([resumed.status.startTime, resumed.plan.create.length, resumed.events], [textAt(30), 1, ['Normal Resumed: Job resumed']])
  const again = round(job({ suspend: true, completions: 2 }, resumed.status), [pod({ name: 'a' })])
  assert.deepEqual([names(again.plan.remove), again.plan.removedCount, again.status.startTime], [['a'], false, undefined])
  const kept = round(job({ suspend: true, completions: 2 }, resumed.status), [pod({ name: 'a' })], { forgetsStart: false })
  assert.equal(kept.status.startTime, textAt(30), 'without MutableSchedulingDirectivesForSuspendedJobs')
})

test('pods are replaced when they are being deleted, or only when they have ended', () => {
  const leaving = pod({ name: 'a', leaving: true })
  const soon = round(job(), [leaving], { seconds: 11 })
  assert.deepEqual([soon.plan.create.length, soon.status.failed, soon.status.terminating], [1, 1, 1])
  const late = round(job({ podReplacementPolicy: 'Failed' }), [leaving], { seconds: 11 })
  assert.deepEqual([late.plan.create.length, late.status.failed, late.status.terminating], [0, undefined, 1])
})

test('a job that is being deleted lets go of its pods and makes no more', () => {
  const { plan, progress } = round(job({ completions: 2, parallelism: 2 }, {}, { deletionTimestamp: START }), [pod({ name: 'a' })])
  assert.deepEqual([plan.create.length, plan.remove.length, names(progress.release)], [0, 0, ['a']])
})

test('pods of indexed jobs know their index', () => {
  const spec = { ...template.spec, initContainers: [{ name: 'init', image: 'i', env: [{ name: 'JOB_COMPLETION_INDEX', value: 'x' }] }] }
  const work = job({ completionMode: 'Indexed', completions: 2, template: { metadata: { labels: { app: 'a' } }, spec } })
  const made = podForJob(work, { index: 1 })
  assert.deepEqual([made.metadata?.generateName, made.spec?.hostname], ['work-1-', 'work-1'])
  assert.equal(made.metadata?.labels?.[COMPLETION_INDEX], '1')
  assert.deepEqual(made.metadata?.finalizers, [TRACKING_FINALIZER])
  const env = [{ name: 'JOB_COMPLETION_INDEX', valueFrom: { fieldRef: { fieldPath: `metadata.labels['${COMPLETION_INDEX}']` } } }]
  assert.deepEqual([made.spec?.containers?.[0]?.env, made.spec?.initContainers?.[0]?.env?.[0]?.value], [env, 'x'])
  const long = podForJob(job({ completionMode: 'Indexed', completions: 2 }, {}, { name: 'w'.repeat(61) }), { index: 1 })
  assert.equal(long.metadata?.generateName, `${'w'.repeat(55)}-1-`)
})
