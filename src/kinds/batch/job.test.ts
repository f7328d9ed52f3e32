import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource, contextWith, created, type Draft, warnings, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { Job } from './job.ts'

const metadata = { name: 'work', uid: 'u1' }
const template = { metadata: {}, spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i', imagePullPolicy: 'Always' }] } }
const job = (spec: object = {}): Draft => ({ metadata, spec: { template, ...spec } })
const indexed = (spec: object = {}) => job({ completionMode: 'Indexed', completions: 5, ...spec })
/** The job as it is stored, with its selector made. */
const stored = (draft: Draft): Draft => created(Job, draft)

test('a job runs one pod to its end unless it says otherwise', () => {
  const { spec } = withDefaults(Job, job())
  const { parallelism, completions, backoffLimit, completionMode, suspend, podReplacementPolicy, manualSelector } = spec
  assert.deepEqual(
    [parallelism, completions, backoffLimit, completionMode, suspend, podReplacementPolicy, manualSelector],
    [1, 1, 6, 'NonIndexed', false, 'TerminatingOrFailed', false],
  )
  assert.equal(withDefaults(Job, job({ parallelism: 2 })).spec.completions, undefined)
  assert.equal(withDefaults(Job, indexed({ backoffLimitPerIndex: 1 })).spec.backoffLimit, 2 ** 31 - 1)
  assert.deepEqual(check(Job, job()), [])
})

test('a job without labels has those of its pods, also those that the server gives them', () => {
  const { metadata, spec } = created(Job, job())
  assert.deepEqual(metadata.labels, spec.template.metadata.labels)
  assert.ok('job-name' in metadata.labels)
  const labelled = created(Job, job({ template: { ...template, metadata: { labels: { app: 'x' } } } }))
  assert.deepEqual(labelled.metadata.labels, labelled.spec.template.metadata.labels)
  assert.deepEqual(Object.keys(labelled.metadata.labels), [
    'app',
    'job-name',
    'batch.kubernetes.io/job-name',
    'controller-uid',
    'batch.kubernetes.io/controller-uid',
  ])
  const own = created(Job, { ...job(), metadata: { ...job().metadata, labels: { app: 'y' } } })
  assert.deepEqual(own.metadata.labels, { app: 'y' })
})

test('the server makes its selector', () => {
  const { spec } = created(Job, job())
  assert.deepEqual(spec.selector.matchLabels, { 'batch.kubernetes.io/controller-uid': 'u1' })
  assert.deepEqual(spec.template.metadata.labels, {
    'job-name': 'work',
    'batch.kubernetes.io/job-name': 'work',
    'controller-uid': 'u1',
    'batch.kubernetes.io/controller-uid': 'u1',
  })
  assert.deepEqual(check(Job, job({ selector: { matchLabels: { a: 'b' } } })), [
    'spec.selector: Invalid value: {"matchLabels":{"a":"b","batch.kubernetes.io/controller-uid":"u1"}}: `selector` not auto-generated',
    'spec.template.metadata.labels: Invalid value: {"job-name":"work","batch.kubernetes.io/job-name":"work","controller-uid":"u1","batch.kubernetes.io/controller-uid":"u1"}: `selector` does not match template `labels`',
  ])
  assert.deepEqual(check(Job, job({ manualSelector: true })), [
    'spec.selector: Required value',
    'spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`',
  ])
})

test('its pods end at some time', () => {
  const always = { ...template, spec: { ...template.spec, restartPolicy: 'Always' } }
  assert.deepEqual(check(Job, job({ template: always })), [
    'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
  ])
})

test('counts begin at 0, and those of indexes need indexes', () => {
  assert.deepEqual(check(Job, job({ parallelism: -1, completions: 1, backoffLimit: -1 })), [
    'spec.parallelism: Invalid value: -1: must be greater than or equal to 0',
    'spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0',
  ])
  assert.deepEqual(check(Job, job({ backoffLimitPerIndex: 1 })), [
    'spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode',
  ])
  assert.deepEqual(check(Job, indexed({ maxFailedIndexes: 6, parallelism: 100_001 })), [
    'spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified',
    'spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed',
    'spec.maxFailedIndexes: Invalid value: 6: must be less than or equal to completions',
  ])
  assert.deepEqual(check(Job, indexed({ completions: 100_001, backoffLimitPerIndex: 1, parallelism: 10_001 })), [
    'spec.maxFailedIndexes: Required value: must be specified when completions is above 100000',
    'spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index',
  ])
  assert.deepEqual(check(Job, job({ completionMode: 'Indexed', parallelism: 1 })), [
    'spec.completions: Required value: when completion mode is Indexed',
  ])
})

test('an indexed job has a name short enough for the index suffix of its pods', () => {
  const name = 'x'.repeat(62)
  assert.deepEqual(check(Job, { ...indexed(), metadata: { ...metadata, name } }), [
    `metadata.name: Invalid value: "${name}": will not able to create pod with invalid DNS label: ${name}-4`,
  ])
})

test('another controller may run it', () => {
  assert.deepEqual(check(Job, job({ managedBy: 'example.com/queue' })), [])
  assert.deepEqual(check(Job, job({ managedBy: 'queue' })), [
    'spec.managedBy: Invalid value: "queue": must be a domain-prefixed path (such as "acme.io/foo")',
  ])
})

test('failed pods lead to what the policy says', () => {
  const policy = (...rules: object[]) => check(Job, job({ podFailurePolicy: { rules } }))
  const byCode = { operator: 'In', values: [1, 2] }
  assert.equal(withDefaults(Job, job({ podFailurePolicy: { rules: [] } })).spec.podReplacementPolicy, 'Failed')
  assert.deepEqual(
    policy({ action: 'FailJob', onExitCodes: byCode }, { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] }),
    [],
  )
  assert.deepEqual(policy({}, { action: 'FailIndex', onExitCodes: byCode, onPodConditions: [{ type: 'A' }] }), [
    'spec.podFailurePolicy.rules[0].action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]',
    'spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required',
    'spec.podFailurePolicy.rules[1].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set',
    'spec.podFailurePolicy.rules[1]: Invalid value: specifying both OnExitCodes and OnPodConditions is not supported',
  ])
  assert.deepEqual(policy({ action: 'Count', onExitCodes: { operator: 'In', containerName: 'x', values: [2, 0, 2] } }), [
    'spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: "x": must be one of the container or initContainer names in the pod template',
    'spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator',
    'spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value: 2',
    'spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,0,2]: must be ordered',
  ])
})

test('an indexed job may succeed before all is done', () => {
  const policy = (...rules: object[]) => check(Job, indexed({ successPolicy: { rules } }))
  assert.deepEqual(policy({ succeededIndexes: '0,2-4', succeededCount: 2 }), [])
  assert.deepEqual(policy({}), [
    'spec.successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be specified',
  ])
  assert.deepEqual(policy({ succeededIndexes: '0,5' }, { succeededCount: 6 }, { succeededIndexes: '1-2', succeededCount: 3 }), [
    'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "0,5": error parsing succeededIndexes: too large index: "5"',
    'spec.successPolicy.rules[1].succeededCount: Invalid value: 6: must be less than or equal to 5 (the number of specified completions)',
    'spec.successPolicy.rules[2].succeededCount: Invalid value: 3: must be less than or equal to 2 (the number of indexes in the specified succeededIndexes field)',
  ])
  assert.deepEqual(check(Job, job({ successPolicy: { rules: [{ succeededCount: 1 }] } })), [
    'spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires indexed completion mode',
  ])
})

test('little of a job can change', () => {
  const old = stored(job({ completions: 1 }))
  const spec = old['spec'] as Record<string, unknown>
  const change = (more: object) => check(Job, { metadata, spec: { ...spec, ...more } }, { old })
  assert.deepEqual(change({ parallelism: 3, suspend: true, ttlSecondsAfterFinished: 5 }), [])
  assert.deepEqual(change({ completions: 2 }), ['spec.completions: Invalid value: 2: field is immutable'])
  assert.match(
    change({ template: { ...(spec['template'] as object), spec: { ...template.spec, hostNetwork: true } } })[0]!,
    /^spec\.template: Invalid value: .*: field is immutable$/,
  )
  const wide = stored(indexed())
  const resized = (parallelism: number) =>
    check(Job, { metadata, spec: { ...(wide['spec'] as object), completions: 7, parallelism } }, { old: wide })
  assert.deepEqual(resized(7), [])
  assert.deepEqual(resized(6), ['spec.completions: Invalid value: 7: can only be modified in tandem with spec.parallelism'])
})

test('while it is suspended without active pods, scheduling directives and resources of the template may change', () => {
  const gates = ['MutablePodResourcesForSuspendedJobs', 'MutableSchedulingDirectivesForSuspendedJobs']
  const old = stored(job({ suspend: true }))
  const spec = old['spec'] as { template: { metadata: object; spec: { containers: object[] } } }
  const placed = { ...spec.template.spec, nodeSelector: { disk: 'ssd' } }
  const sized = { ...placed, containers: [{ ...spec.template.spec.containers[0], resources: { limits: { cpu: '1' } } }] }
  const change = (podSpec: object, ctx = contextWith({ gates })) =>
    check(Job, { metadata, spec: { ...spec, template: { ...spec.template, spec: podSpec } } }, { old, ctx })
  assert.deepEqual(change(placed), [])
  assert.deepEqual(change(sized), [])
  assert.equal(change(sized, contextWith()).length, 1)
  assert.equal(change({ ...placed, hostNetwork: true }).length, 1)
})

const since = '2026-07-01T10:00:00Z'
const until = '2026-07-01T11:00:00Z'
const conditions = (...types: string[]) => types.map(type => ({ type, status: 'True' }))

test('terminal conditions of a job are consistent', () => {
  const old = stored(job())
  const status = (s: object, before = old) => checkSubresource(Job, 'status', { ...before, status: s }, before)
  const complete = { conditions: conditions('SuccessCriteriaMet', 'Complete'), startTime: since, completionTime: until, succeeded: 1 }
  assert.deepEqual(status(complete), [])
  assert.deepEqual(status({ conditions: conditions('Complete', 'Failed'), active: 1 }), [
    'status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions',
    'status.completionTime: Required value: completionTime is required for Complete jobs',
    'status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition',
    'status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition',
    'status.active: Invalid value: 1: active>0 is invalid for finished job',
    'status.startTime: Required value: startTime is required for finished job',
  ])
  assert.deepEqual(status({ startTime: until, completionTime: since }), [
    `status.completionTime: Invalid value: "${since}": cannot set completionTime when there is no Complete=True condition`,
    `status.completionTime: Invalid value: "${since}": must be equal to or after \`startTime\``,
  ])
})

test('terminal conditions of a job are final, and counters do not decrease', () => {
  const done = {
    conditions: conditions('SuccessCriteriaMet', 'Complete'),
    startTime: since,
    completionTime: until,
    succeeded: 2,
    failed: 1,
  }
  const old = { ...stored(job()), status: done }
  assert.deepEqual(
    checkSubresource(Job, 'status', { ...old, status: { ...done, conditions: [], completionTime: null, succeeded: 1, failed: 0 } }, old),
    [
      'status.conditions: Invalid value: cannot disable the terminal Complete=True condition',
      'status.failed: Invalid value: 0: cannot decrease the failed counter',
      'status.succeeded: Invalid value: 1: cannot decrease the succeeded counter',
      'status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition',
    ],
  )
})

test('completed and failed indexes are disjoint', () => {
  const old = stored(indexed({ backoffLimitPerIndex: 1 }))
  const status = (s: object) => checkSubresource(Job, 'status', { ...old, status: s }, old)
  assert.deepEqual(status({ completedIndexes: '0,2-3', failedIndexes: '1' }), [])
  assert.deepEqual(status({ completedIndexes: '0-2', failedIndexes: '2,9' }), [
    'status.failedIndexes: Invalid value: "2,9": error parsing failedIndexes: too large index: "9"',
    'status.failedIndexes: Invalid value: "2,9": failedIndexes and completedIndexes overlap at index: 2',
  ])
  assert.deepEqual(status({ uncountedTerminatedPods: { succeeded: ['a', 'a'], failed: ['a'] }, ready: 1 }), [
    'status.uncountedTerminatedPods.succeeded[1]: Duplicate value: "a"',
    'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
    'status.ready: Invalid value: 1: cannot set more ready pods than active',
  ])
})

test('large jobs are warned about', () => {
  assert.match(warnings(Job, indexed({ completions: 100_001, parallelism: 10_001 }))[0]!, /^spec: In Indexed Jobs/)
})

test('its table shows how far it is', () => {
  const shown = (status: object, spec: object = {}) => {
    const { Status, Completions, Duration } = cells(Job, { ...job(spec), status })
    return [Status, Completions, Duration]
  }
  assert.deepEqual(shown({}), ['Running', '0/1', ''])
  assert.deepEqual(shown({ startTime: since, completionTime: until, succeeded: 1, conditions: conditions('Complete') }), [
    'Complete',
    '1/1',
    '60m',
  ])
  assert.deepEqual(shown({ startTime: since, conditions: conditions('Suspended') }, { parallelism: 3 }), ['Suspended', '0/1 of 3', '120m'])
})
