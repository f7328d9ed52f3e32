// explore: published bugs of operators are found by their kind of perturbation, and not once they are fixed.
import assert from 'node:assert/strict'
import test from 'node:test'
import { type ExploreOptions, explore } from '../../src/index.ts'
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

for (const { issue, kind, problem, workload, controller } of BUGS) {
  test(`${kind} finds ${issue}`, patient, async () => {
    const report = await explore(workload, { program: controller(false), server, perturbations: [kind], ...QUICK })
    const found = report.findings.find(({ problems }) => problems.some(each => problem.test(each)))
    assert.ok(found, JSON.stringify(report, undefined, 2))
    assert.equal(found.kind, kind)
    assert.ok(found.id.startsWith(`${kind}/`))
    assert.ok(
      found.trace.some(line => line.startsWith('* ')),
      'the trace shows the perturbation',
    )
    // The same perturbation alone finds it again.
    const again = await explore(workload, { program: controller(false), server, only: found.id, ...QUICK })
    assert.deepEqual(
      again.findings.map(({ id, problems }) => ({ id, problems })),
      [{ id: found.id, problems: found.problems }],
    )
  })

  test(`${kind} does not find it once it is fixed: ${issue.split(':')[0]}`, patient, async () => {
    const report = await explore(workload, { program: controller(true), server, perturbations: [kind], ...PATIENT })
    assert.deepEqual(report.findings, [])
    assert.ok(report.tried > report.unreached, 'some perturbation came to pass')
  })
}

test('a correct controller yields no finding, whatever goes wrong', patient, async () => {
  const report = await explore(CORRECT.workload, { program: CORRECT.program, server, ...PATIENT })
  assert.deepEqual(report.findings, [])
  assert.equal(report.tried, report.planned)
  assert.ok(report.tried > 10, `${report.tried} perturbations were tried`)
})
