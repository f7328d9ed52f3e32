import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedPod } from '../../../test/kits/simulated-pod.ts'
import { understand } from './command.ts'

const run = (command: string[], args: string[] = [], image = 'busybox') => {
  const found = understand({ name: 'c', image, command, args } as never)
  return found && [found.runMs / 1000, found.exitCode, found.log]
}
const sh = (script: string) => run(['/bin/sh', '-c', script])

test('a handful of commands are understood', () => {
  assert.deepEqual(run(['/bin/true']), [0, 0, ''])
  assert.deepEqual(run(['/bin/false']), [0, 1, ''])
  assert.deepEqual(run(['sleep', '1.5']), [1.5, 0, ''])
  assert.deepEqual(run(['sleep'], ['2m']), [120, 0, ''])
  assert.deepEqual(run(['sleep', 'infinity']), [Infinity, 0, ''])
  assert.deepEqual(run(['echo', 'hello', 'world']), [0, 0, 'hello world\n'])
  assert.deepEqual(run([], [], 'registry.k8s.io/pause:3.10'), [Infinity, 0, ''])
  for (const args of [[], ['pause'], ['netexec', '--http-port=80']]) assert.deepEqual(run([], args, 'agnhost:2'), [Infinity, 0, ''])
  assert.equal(run([], ['mounttest'], 'agnhost:2'), undefined)
})

test('so are scripts that are lists of them', () => {
  assert.deepEqual(sh('exit 3'), [0, 3, ''])
  assert.deepEqual(sh('echo "it\'s on"; sleep 10'), [10, 0, "it's on\n"])
  assert.deepEqual(sh('sleep 1 && sleep 2\n\nexit 1 # done'), [3, 1, ''])
  assert.deepEqual(sh('false && echo no'), [0, 1, ''])
  assert.deepEqual(sh('false; echo yes'), [0, 0, 'yes\n'])
  assert.deepEqual(sh('touch /data/ready > /dev/null 2>&1; sleep 5'), [5, 0, ''])
  assert.deepEqual(sh('echo up; while true; do curl localhost | grep x; sleep 1; done'), [Infinity, 0, 'up\n'])
  assert.deepEqual(sh('echo $HOME > /x'), [0, 0, ''])
  assert.deepEqual(run(['sh', '-ec'], ['exit 2']), [0, 2, ''])
})

test('what is written to the file for last words, and printed in a loop, is known', () => {
  const found = understand({
    command: ['sh', '-c', '/bin/echo -n DONE > /dev/termination-log'],
    terminationMessagePath: '/dev/termination-log',
  })
  assert.deepEqual([found?.lastWords, found?.log], ['DONE', ''])
  assert.deepEqual(sh('while true; do echo polo; sleep 2; done'), [Infinity, 0, 'polo\n'])
  assert.deepEqual(sh('echo -n DONE; /bin/false'), [0, 1, 'DONE'])
})

test('probes whose commands fail, or take too long, fail', () => {
  const pod = (probes: object) => new SimulatedPod({ spec: { containers: [{ name: 'c', image: 'web', ...probes }] } })
  const exec = (...command: string[]) => ({ exec: { command } })
  assert.equal(
    pod({ readinessProbe: exec('/bin/false') })
      .run(60_000)
      .condition('Ready')?.status,
    'False',
  )
  assert.equal(
    pod({ readinessProbe: exec('cat', '/tmp/ready') })
      .run()
      .condition('Ready')?.status,
    'True',
  )
  const slow = pod({ livenessProbe: { ...exec('sleep', '5'), initialDelaySeconds: 5, failureThreshold: 1 } })
  assert.equal(slow.run(4000).container().restartCount, 0)
  assert.equal(slow.run(2000).container().restartCount, 1)
  const starting = pod({ startupProbe: { ...exec('false'), periodSeconds: 1, failureThreshold: 2 } }).run(1500)
  assert.deepEqual([starting.container().restartCount, starting.container().started], [1, false])
  assert.ok(starting.events.includes('Killing Container c failed startup probe, will be restarted'))
})

test('everything else is not', () => {
  for (const script of [
    'nginx',
    'sleep 1; ./serve',
    'exit $CODE',
    'if true; then exit 1; fi',
    'true || false',
    'sleep $N',
    'ls | wc',
    "echo 'open",
    'a &',
  ])
    assert.equal(sh(script), undefined, script)
  assert.equal(run(['nginx', '-g', 'daemon off;']), undefined)
  assert.equal(run([]), undefined)
  assert.equal(run(['sh', 'script.sh']), undefined)
  assert.equal(sh(`echo ${'x'.repeat(10_000)}`), undefined)
})

test('commands decide how simulated pods run, and annotations take precedence', () => {
  const spec = (script: string) => ({
    restartPolicy: 'Never',
    containers: [{ name: 'c', image: 'busybox', command: ['sh', '-c', script] }],
  })
  const failed = new SimulatedPod({ spec: spec('sleep 3; exit 7') }).run(2000)
  assert.equal(failed.pod.status.phase, 'Running')
  assert.deepEqual([failed.run(2000).pod.status.phase, failed.container().state.terminated?.exitCode], ['Failed', 7])
  const scripted = new SimulatedPod({ spec: spec('sleep 1000000'), annotations: { 'sim.keelson.dev/run-time': '0s' } }).run()
  assert.equal(scripted.pod.status.phase, 'Succeeded')
  const initContainers = [{ name: 'i', image: 'busybox', command: ['/bin/false'] }]
  const held = new SimulatedPod({ spec: { initContainers } }).run(60_000)
  assert.deepEqual([held.pod.status.phase, held.container('i').state.waiting?.reason], ['Pending', 'CrashLoopBackOff'])
})
