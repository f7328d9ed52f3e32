// explore: published bugs of operators are found by their kind of perturbation, and not once they are fixed.
import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type ExploreOptions,
  type ExploreReport,
  explore,
  type RunningServer,
  type StoredObject,
  type UserAccess,
} from '../../src/index.ts'
import { patient } from '../kit.ts'
import { BUGS, CORRECT } from './sieve-bugs.ts'

const server: ExploreOptions['server'] = {
  controllers: ['none'],
  nodes: 0,
  disableAdmissionPlugins: ['StorageObjectInUseProtection', 'ServiceAccount'],
  logLevel: 'silent',
}
/** A state that is as expected ends the wait, so that patience costs nothing where there is no finding. */
const [QUICK, PATIENT] = [
  { quietMs: 30, patienceMs: 300 },
  { quietMs: 30, patienceMs: 1500 },
] as const
/** Enough for a busy machine. */
const SLOW = { quietMs: 300, patienceMs: 10_000 } as const

/** Explores in little time, and once more in much where the report is not as expected: then it is judged by the second. */
async function exploring(
  workload: Parameters<typeof explore>[0],
  options: ExploreOptions,
  isExpected: (report: ExploreReport) => boolean,
): Promise<ExploreReport> {
  const report = await explore(workload, options)
  return isExpected(report) ? report : explore(workload, { ...options, ...SLOW })
}

for (const { issue, kind, problem, workload, controller } of BUGS) {
  test(`${kind} finds ${issue}`, patient, async () => {
    const isIt = ({ problems }: ExploreReport['findings'][number]) => problems.some(each => problem.test(each))
    const options = { program: controller(false), server, ...QUICK }
    const report = await exploring(workload, { ...options, perturbations: [kind] }, ({ findings }) => findings.some(isIt))
    const found = report.findings.find(isIt)
    assert.ok(found, JSON.stringify(report, undefined, 2))
    assert.equal(found.kind, kind)
    assert.ok(found.id.startsWith(`${kind}/`))
    assert.ok(
      found.trace.some(line => line.startsWith('* ')),
      'the trace shows the perturbation',
    )
    // The same perturbation alone finds it again.
    const again = await exploring(workload, { ...options, only: found.id }, ({ findings }) => findings.length > 0)
    assert.deepEqual(
      again.findings.map(({ id, problems }) => ({ id, problems })),
      [{ id: found.id, problems: found.problems }],
    )
  })

  test(`${kind} does not find it once it is fixed: ${issue.split(':')[0]}`, patient, async () => {
    const options = { program: controller(true), server, perturbations: [kind], ...PATIENT }
    const report = await exploring(workload, options, ({ findings }) => findings.length === 0)
    assert.deepEqual(report.findings, [])
    assert.ok(report.tried > report.unreached, 'some perturbation came to pass')
  })
}

test('a correct controller yields no finding, whatever goes wrong', patient, async () => {
  const options = { program: CORRECT.program, server, ...PATIENT }
  const report = await exploring(CORRECT.workload, options, ({ findings }) => findings.length === 0)
  assert.deepEqual(report.findings, [])
  assert.equal(report.tried, report.planned)
  assert.ok(report.tried > 10, `${report.tried} perturbations were tried`)
})

/** Waits for a claim, then writes; `write` is one attempt. */
const claimed =
  (write: (access: UserAccess, claim: StoredObject) => Promise<unknown>): NonNullable<ExploreOptions['program']> =>
  async (access, signal) => {
    for (; !signal.aborted; await sleep(10)) {
      const claim = await access.get('configmap/claim').catch(() => undefined)
      if (claim) return void (await write(access, claim))
    }
  }
const claim = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'claim', namespace: 'default' } }
const ofClaim: Parameters<typeof explore>[0] = server => server.create(claim)

test('conflict finds a write that is given up, restart never leaves the program alone, and the fixed one is correct', patient, async () => {
  const done = (access: UserAccess, found: StoredObject) => access.update({ ...found, data: { done: 'yes' } })
  const options = { server, perturbations: ['conflict', 'intermediate'], restart: 'never', ...QUICK } as const
  const report = await explore(ofClaim, { ...options, program: claimed((access, found) => done(access, found).catch(() => {})) })
  assert.deepEqual(
    report.findings.map(({ id, problems }) => ({ id, problems: problems.map(each => each.replace(/:.*/, '')) })),
    [{ id: 'conflict/update/configmaps/default/claim/1', problems: ['ConfigMap default/claim'] }],
  )
  assert.equal(report.planned, 1)
  assert.deepEqual(report.notes, ['stale, intermediate: the program is not restarted'])
  const again = async (access: UserAccess) => done(access, await access.get('configmap/claim'))
  const fixed = claimed((access, found) => done(access, found).catch(() => again(access)))
  assert.deepEqual((await explore(ofClaim, { ...options, program: fixed, perturbations: ['conflict'] })).findings, [])
})

test('timeout finds a create that is repeated with another name; a small budget ends after one perturbation', patient, async () => {
  const made = { ...claim, metadata: { namespace: 'default', generateName: 'made-' } }
  const program = claimed(access => access.create(made).catch(() => access.create(made)))
  const report = await explore(ofClaim, { program, server, perturbations: ['timeout'], ...QUICK })
  assert.deepEqual(
    report.findings.map(({ kind, problems }) => ({ kind, problems })),
    [{ kind: 'timeout', problems: ['there are 2 of ConfigMap default/made-*, not 1'] }],
  )
  assert.deepEqual([report.tried, report.planned], [2, 2])
  const runs = await explore(ofClaim, { program, server, perturbations: ['timeout'], budget: 1, ...QUICK })
  assert.deepEqual([runs.tried, runs.planned], [1, 2])
  assert.match(runs.notes.join(), /the budget is used up: 1 of 2 perturbations were not tried/)
})

test('without a program, the user agent says whose requests are perturbed', patient, async () => {
  const post = async (fetch: RunningServer['fetch'], name: string, agent: string) => {
    const body = JSON.stringify({ metadata: { name } })
    const headers = { 'content-type': 'application/json', 'user-agent': agent }
    await fetch('/api/v1/namespaces/default/configmaps', { method: 'POST', headers, body })
  }
  const workload = async ({ fetch }: RunningServer) => {
    await post(fetch, 'mine', 'operator/1.0')
    await post(fetch, 'other', 'kubectl/1.37')
  }
  const report = await explore(workload, { userAgent: 'operator/', server, perturbations: ['timeout'], ...QUICK })
  assert.deepEqual([report.tried, report.planned], [2, 2])
  assert.deepEqual(
    report.findings.map(({ id, problems }) => [id.split('/').slice(0, -1).join('/'), problems]),
    [['timeout-unmade/create/configmaps/default/mine', ['ConfigMap default/mine is missing']]],
  )
})
