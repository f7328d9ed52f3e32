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
  for (const args of [[], ['pause']]) assert.deepEqual(run([], args, 'agnhost:2'), [Infinity, 0, 'Paused\n'])
  assert.deepEqual(run([], ['netexec', '--http-port=80'], 'agnhost:2'), [Infinity, 0, ''])
  assert.deepEqual(run(['/agnhost-2'], ['entrypoint-tester', 'a'], 'agnhost:2'), [0, 0, '[/agnhost-2 entrypoint-tester a]\n'])
  assert.equal(run([], ['dns-suffix'], 'agnhost:2'), undefined)
})

test('lists of such commands are understood as scripts', () => {
  assert.deepEqual(sh('exit 3'), [0, 3, ''])
  assert.deepEqual(sh('echo "it\'s on"; sleep 10'), [10, 0, "it's on\n"])
  assert.deepEqual(sh('sleep 1 && sleep 2\n\nexit 1 # done'), [3, 1, ''])
  assert.deepEqual(sh('false && echo no'), [0, 1, ''])
  assert.deepEqual(sh('false; echo yes'), [0, 0, 'yes\n'])
  assert.deepEqual(sh('touch /data/ready > /dev/null 2>&1; sleep 5'), [5, 0, ''])
  assert.deepEqual(sh('echo up; while true; do curl localhost | grep x; sleep 1; done'), [Infinity, 0, 'up\n'])
  assert.deepEqual(sh('echo $HOME > /x'), [0, 0, ''])
  assert.deepEqual(run(['sh', '-ec'], ['exit 2']), [0, 2, ''])
  assert.deepEqual(sh('true || false'), [0, 0, ''])
  assert.deepEqual(sh('false || exit 4'), [0, 4, ''])
})

test('conditions, variables and what commands print are followed', () => {
  assert.deepEqual(sh('if true; then exit 1; fi'), [0, 1, ''])
  assert.deepEqual(sh('\n if [ 1 -ne 1 ]; then\n exit 1\n elif false\nthen sleep 1; else\n exit 5; fi\n'), [0, 5, ''])
  assert.deepEqual(sh('if false; then exit 1; fi; echo on'), [0, 0, 'on\n'])
  assert.deepEqual(sh(`A="a b"; echo $A "$A" \${A} '$A' \${B:-c}`), [0, 0, 'a b a b a b $A c\n'])
  assert.deepEqual(sh('A=" x  y "; echo <"$A">; echo $A.'), undefined)
  assert.deepEqual(sh('A=" x  y "; echo "$A"; echo $A.'), [0, 0, ' x  y \nx y .\n'])
  assert.deepEqual(sh('exit $(expr 7 % 4)'), [0, 3, ''])
  assert.deepEqual(sh('echo "$(echo $(echo deep; sleep 2))"'), [2, 0, 'deep\n'])
  assert.deepEqual(sh('[[ "a" == "a" ]] && echo OK || echo no'), [0, 0, 'OK\n'])
  assert.deepEqual(sh('echo kept > /tmp/x; cat /tmp/x; test -f /tmp/x && echo there'), [0, 0, 'kept\nthere\n'])
  assert.deepEqual(sh('[ ! -z "" ]'), [0, 1, ''])
  assert.deepEqual(sh('echo a \\\n  b # not this\necho c'), [0, 0, 'a b\nc\n'])
})

test('what a script does may depend on what is given to the container', () => {
  const inputs = {
    variables: () =>
      new Map([
        ['INDEX', '3'],
        ['GREETING', 'hello'],
      ]),
    file: (path: string) =>
      path === '/etc/app/key'
        ? { content: 'value', mode: 0o600, group: 0 }
        : path === '/etc/app/no'
          ? ('missing' as const)
          : ('unknown' as const),
  }
  const withGiven = (command: string[], args: string[] = [], image = 'busybox') => {
    const found = understand({ image, command, args }, inputs)
    return found && [found.exitCode, found.log]
  }
  assert.deepEqual(withGiven(['sh', '-c', `if [ $(expr \${INDEX} % 2) -ne 0 ]; then exit 1; else exit 0; fi`]), [1, ''])
  assert.deepEqual(withGiven(['sh', '-c', 'echo $(GREETING); echo $$(GREETING)']), [0, 'hello\n'])
  assert.deepEqual(withGiven(['echo', '$(GREETING)', '$$(GREETING)', '$(NONE)', '$']), [0, 'hello $(GREETING) $(NONE) $\n'])
  assert.deepEqual(withGiven(['sh', '-c', 'env']), [0, 'INDEX=3\nGREETING=hello\n'])
  assert.deepEqual(withGiven(['cat', '/etc/app/key']), [0, 'value'])
  assert.deepEqual(withGiven(['cat', '/etc/app/no']), [1, "cat: can't open '/etc/app/no': No such file or directory\n"])
  assert.deepEqual(withGiven(['sh', '-c', 'echo "$(cat /image/file)"']), [0, ''])
  assert.equal(withGiven(['sh', '-c', '[ -r /data/seen ] && exit 1']), undefined)
  const told = withGiven([], ['mounttest', '--file_mode=/etc/app/key', '--file_content=/etc/app/key'], 'agnhost:2')
  assert.deepEqual(told, [0, 'mode of file "/etc/app/key": -rw-------\ncontent of file "/etc/app/key": value\n'])
  assert.equal(withGiven([], ['mounttest', '--file_content=/etc/app/no'], 'agnhost:2')?.[0], 1)
  assert.equal(withGiven([], ['mounttest', '--file_content=/image/file'], 'agnhost:2'), undefined)
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
  const ill = pod({
    command: ['sh', '-c', 'echo ok >/tmp/health; sleep 10; rm -rf /tmp/health; sleep 600'],
    livenessProbe: { ...exec('cat', '/tmp/health'), initialDelaySeconds: 5, failureThreshold: 2, periodSeconds: 5 },
  })
  assert.equal(ill.run(14_000).container().restartCount, 0)
  assert.equal(ill.run(2000).container().restartCount, 1)
  const served = pod({
    image: 'agnhost:2',
    args: ['liveness'],
    livenessProbe: { httpGet: { path: '/healthz', port: 8080 }, failureThreshold: 1 },
  })
  assert.equal(served.run(9000).container().restartCount, 0)
  assert.equal(served.run(2000).container().restartCount, 1)
  const starting = pod({ startupProbe: { ...exec('false'), periodSeconds: 1, failureThreshold: 2 } }).run(1500)
  assert.deepEqual([starting.container().restartCount, starting.container().started], [1, false])
  assert.ok(starting.events.includes('Killing Container c failed startup probe, will be restarted'))
})

test('everything else is not', () => {
  assert.deepEqual(run(['[', ...Array<string>(100).fill('!'), 'x', ']']), [0, 0, ''])
  assert.equal(run(['[', ...Array<string>(40_000).fill('!'), 'x', ']']), undefined)
  for (const script of [
    'nginx',
    'sleep 1; ./serve',
    'exit $CODE',
    'if true; then exit 1',
    'for i in 1 2; do echo $i; done',
    'exit $((1+1))',
    '$(true',
    'echo `id`',
    'sleep $N',
    'ls | wc',
    "echo 'open",
    'a &',
  ])
    assert.equal(sh(script), undefined, script)
  assert.equal(run(['nginx', '-g', 'daemon off;']), undefined)
  assert.equal(run([]), undefined)
  assert.equal(sh('$('.repeat(2000)), undefined)
  assert.equal(sh('if '.repeat(1000)), undefined)
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
