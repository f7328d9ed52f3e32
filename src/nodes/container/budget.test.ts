import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedPod } from '../../../test/kits/simulated-pod.ts'
import { LIMITS } from '../../lib/limits.ts'
import { understand } from '../script/command.ts'
import { Budget } from './budget.ts'
import { type ContainerInputs, NO_INPUTS, paidInputs } from './container-inputs.ts'

const words = (count: number) => Array.from({ length: count }, (_, i) => i).join(' ')
/** Runs something so many times a hundred times. */
const hundreds = (count: number, what: string) => `for i in ${words(count)}; do for j in ${words(100)}; do ${what}; done; done`

const withFile = (content: string): ContainerInputs => ({ ...NO_INPUTS, file: () => ({ content, mode: 0o644, group: 0 }) })
const LINES = withFile('\n'.repeat(220_000))

function run(script: string, inputs = NO_INPUTS) {
  const found = understand({ command: ['sh', '-c', script] }, { inputs })
  return found?.exceeded?.replace(/^command exceeds the limit of a simulated container \((.*)\): simplify it, .*$/, '$1') ?? found?.exitCode
}

test('a script may take so many steps', () => {
  assert.equal(run(hundreds(49, 'true')), 0)
  assert.equal(run(hundreds(50, 'true')), '10000 steps')
  assert.equal(run(`for i in ${words(90)}; do for j in ${words(120)}; do false && echo no; done; done`), '10000 steps')
})

// At 6256f0f1 only printed and expanded bytes counted: each of these read as much as two thousand steps could.
for (const reading of [
  'grep -q zz /f',
  'grep -c a /f',
  'head -n 1 /f',
  'tail -n 1 /f > /dev/null',
  'wc -l /f > /dev/null',
  'wc -w /f > /dev/null',
  'wc -c /f > /dev/null',
  'cut -d : -f 1 /f > /dev/null',
  "awk '{ print $1 }' /f > /dev/null",
  'cat /f > /dev/null',
  'cat /f | wc -l > /dev/null',
  'echo "$(cat /f)"',
  'A="$(cat /f)"',
  '[ -n "$(cat /f)" ]',
  'cat /f > /g; grep -q zz /g',
])
  test(`reading counts: ${reading}`, () => {
    assert.equal(run(reading, withFile('a line\n'.repeat(1000))), reading.includes('-q') ? 1 : 0)
    assert.equal(run(hundreds(1, reading), LINES), '4194304 bytes read and written')
  })

test('texts that grow count', () => {
  assert.equal(run(`A=x; for i in ${words(30)}; do A="$A$A"; done`), '4194304 bytes read and written')
  assert.equal(
    run(`echo ${'x'.repeat(1000)} > /f; for i in ${words(30)}; do cat /f >> /g; cat /g >> /f; done`),
    '4194304 bytes read and written',
  )
  assert.equal(run(`for i in ${words(300)}; do echo ${'x'.repeat(1000)}; done`), '262144 bytes of output')
  assert.equal(run(`for i in ${words(400)}; do touch /$i; done`), '256 files written')
  assert.equal(run(`A=x; for i in ${words(13)}; do A="$A$A"; done; touch "/$A"`), '256 files written')
  const environment = new Map(Array.from({ length: 1000 }, (_, i) => [`V${i}`, 'x'.repeat(900)]))
  assert.equal(run(hundreds(1, 'env > /dev/null'), { ...NO_INPUTS, variables: () => environment }), '4194304 bytes read and written')
})

test('texts that are made for patterns take no longer than others', () => {
  // At 6256f0f1 the first of these took minutes: every newline was tried as the first of those at the end.
  const lines = withFile(`${'\n'.repeat(250_000)}x`)
  assert.equal(run('A=$(cat /f); [ -n "$A" ]', lines), 0)
  assert.equal(run('[ $(cat /f) ]', withFile('! '.repeat(100_000))), 1)
  assert.equal(run('grep -q $(cat /f) /f', withFile('a'.repeat(200_000))), 0)
})

test('files are looked for as often as there is to look through', () => {
  const inputs = (budget: Budget) => paidInputs({ ...NO_INPUTS, isReadOnly: () => false }, budget, 100_000)
  const found = (script: string) => {
    const budget = new Budget()
    return understand({ command: ['sh', '-c', script] }, { inputs: inputs(budget), budget })?.exceeded
  }
  assert.equal(found(`for i in ${words(100)}; do echo x > /same; done`), undefined)
  assert.match(found(`for i in ${words(100)}; do echo x > /$i; done`) ?? '', /bytes read and written/)
})

test('a container whose command exceeds its budget fails and says why, unless it is scripted', () => {
  const containers = [{ name: 'c', image: 'busybox', command: ['sh', '-c', hundreds(60, 'true')] }]
  const failed = new SimulatedPod({ spec: { restartPolicy: 'Never', containers } }).run()
  const { terminated } = failed.container().state
  assert.deepEqual([failed.pod.status.phase, terminated?.reason, terminated?.exitCode], ['Failed', 'ContainerCannotRun', 128])
  assert.equal(
    terminated?.message,
    `command exceeds the limit of a simulated container (${LIMITS.commands.budget.steps} steps): simplify it, or script it with sim.keelson.dev/run-time and exit-code`,
  )
  const annotations = { 'sim.keelson.dev/run-time': '1s' }
  const scripted = new SimulatedPod({ spec: { restartPolicy: 'Never', containers }, annotations }).run(2000)
  assert.deepEqual([scripted.pod.status.phase, scripted.container().state.terminated?.exitCode], ['Succeeded', 0])
})

test('probes and hooks that exceed their budget fail and say why', () => {
  const exec = { exec: { command: ['sh', '-c', hundreds(60, 'true')] } }
  const pod = (more: object) => new SimulatedPod({ spec: { containers: [{ name: 'c', image: 'web', ...more }] } }).run()
  const unready = pod({ readinessProbe: exec })
  assert.equal(unready.condition('Ready')?.status, 'False')
  assert.ok(unready.events.some(event => /^Unhealthy Readiness probe failed: command exceeds the limit .*10000 steps/.test(event)))
  const restarted = pod({ livenessProbe: { ...exec, failureThreshold: 1 } })
  assert.ok(restarted.events.some(event => /^Unhealthy Liveness probe failed: command exceeds/.test(event)))
  const stopped = pod({ lifecycle: { preStop: exec } })
    .delete()
    .run()
  assert.ok(stopped.isGone)
  assert.ok(stopped.events.some(event => /^FailedPreStopHook PreStopHook failed: command exceeds/.test(event)))
})

test('a message takes no more of a status than a kubelet lets it', () => {
  const annotations = { 'sim.keelson.dev/termination-message': 'x'.repeat(200_000), 'sim.keelson.dev/run-time': '0s' }
  const containers = Array.from({ length: 6 }, (_, i) => ({ name: `c${i}`, image: 'web' }))
  const lengths = (spec: object) => new SimulatedPod({ spec: { restartPolicy: 'Never', ...spec }, annotations }).run()
  assert.equal(lengths({}).container().state.terminated?.message?.length, 4096)
  assert.equal(lengths({ containers }).container('c0').state.terminated?.message?.length, 2048)
})

test('a pod says so often what is wrong with its annotations, and no more', () => {
  const annotations = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`c${i}.sim.keelson.dev/x`, '']))
  const { events } = new SimulatedPod({ annotations }).run()
  assert.equal(events.filter(event => event.startsWith('InvalidScript')).length, 8)
})
