import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedPod } from '../../../test/kits/simulated-pod.ts'
import { NO_INPUTS } from '../container/container-inputs.ts'
import { userProblem } from '../container/identity.ts'
import { inputsOf } from '../container/inputs-of-container.ts'
import { followRuns, understand } from './command.ts'

const run = (command: string[], args: string[] = [], image = 'busybox') => {
  const found = understand({ name: 'c', image, command, args } as never)
  return found && [found.runMs / 1000, found.exitCode, found.log]
}
const NO_SOURCES = { services: () => [], entries: () => undefined, bundles: () => [], allocatable: {} }
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

test('conditions, variables and the output of commands are followed', () => {
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
    const found = understand({ image, command, args }, { inputs })
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

test('loops over words, pipelines and programs that print a part of their input are followed', () => {
  assert.deepEqual(sh('for i in a "b c" $(echo d e); do echo "$i"; sleep 1; done; echo $i'), [4, 0, 'a\nb c\nd\ne\ne\n'])
  assert.deepEqual(sh('for i in 1 2\ndo\n  for j in x y; do echo $i$j; done\ndone'), [0, 0, '1x\n1y\n2x\n2y\n'])
  assert.deepEqual(sh('for i in 1 2; do exit $i; done'), [0, 1, ''])
  assert.deepEqual(sh(`for i in ${'x '.repeat(60)}; do for j in ${'y '.repeat(60)}; do true; done; done`), [0, 0, ''])
  assert.deepEqual(sh('grep Cpus_allowed /proc/self/status | cut -f2 && sleep 1d'), [86_400, 0, ''])
  assert.deepEqual(sh('for i in a:1 b:2 ab:3; do echo $i; done | grep -v b | cut -d : -f 2 | head -n 1'), [0, 0, '1\n'])
  assert.deepEqual(sh('for i in 1 2 3; do echo $i; done > /tmp/n; echo none | cat'), undefined)
  assert.deepEqual(sh('echo one >> /tmp/n; echo two >> /tmp/n; wc -l /tmp/n; tail -1 /tmp/n; cat /tmp/n | wc -l'), [
    0,
    0,
    '2 /tmp/n\ntwo\n2\n',
  ])
  assert.deepEqual(sh('echo a | grep -q b; echo $?'), [0, 0, '1\n'])
  assert.deepEqual(sh("echo ' one  two' | awk {'print $2'}; echo a | awk '{ print $9 }'"), [0, 0, 'two\n\n'])
  assert.deepEqual(sh('sleep 10 & exit 1'), [0, 1, ''])
  assert.deepEqual(sh('(sleep 10) & exit 1'), undefined)
  assert.deepEqual(sh('! false && echo "n: `echo x | wc -c`"'), [0, 0, 'n: 2\n'])
  assert.deepEqual(sh('sleep 3 | sleep 5; exit 7 | true'), [5, 0, ''])
  assert.deepEqual(sh('echo up; tail -f /dev/null'), [Infinity, 0, 'up\n'])
  assert.deepEqual(sh('tail -n 5 -f /var/log/app | grep x'), [Infinity, 0, ''])
  assert.deepEqual(sh('A=$(touch /tmp/x; echo done); echo $A; test -f /tmp/x && test ! -d /tmp/x'), [0, 0, 'done\n'])
})

test('commands know the names and the user of their container', () => {
  const given = (spec: object, status: object = {}) => {
    const container = { name: 'c', image: 'busybox', ...spec } as never
    const pod = { metadata: { name: 'web-0', namespace: 'shop' }, spec: { containers: [container], ...spec }, status } as never
    return (script: string) => understand({ command: ['sh', '-c', script] }, { inputs: inputsOf(container, pod, NO_SOURCES) })?.log
  }
  assert.equal(given({})('hostname; hostname -f; cat /etc/hostname'), 'web-0\nweb-0\nweb-0\n')
  assert.equal(given({ subdomain: 'web' })('hostname; hostname -f'), 'web-0\nweb-0.web.shop.svc.cluster.local\n')
  const named = { hostname: 'a', subdomain: 'web', setHostnameAsFQDN: true }
  assert.equal(given(named)('echo $(hostname) `hostname -s`'), 'a.web.shop.svc.cluster.local a\n')
  assert.equal(given({ hostnameOverride: 'other', subdomain: 'web' })("echo $(hostname)';'$(hostname -f)';'"), 'other;other;\n')
  const onNode = given({ hostNetwork: true, nodeName: 'n' }, { hostIPs: [{ ip: '172.18.0.2' }] })
  assert.equal(
    onNode('hostname; head -n 1 /etc/hosts; tail -n 1 /etc/hosts'),
    'n\n# Kubernetes-managed hosts file (host network).\n172.18.0.2\tn\n',
  )
  const hosts = given(
    { subdomain: 'web', hostAliases: [{ ip: '123.45.67.89', hostnames: ['foo', 'bar'] }] },
    { podIPs: [{ ip: '10.244.0.9' }] },
  )
  assert.equal(hosts('grep 10.244 /etc/hosts'), '')
  assert.equal(hosts('grep web-0 /etc/hosts'), '10.244.0.9\tweb-0.web.shop.svc.cluster.local\tweb-0\n')
  assert.equal(hosts('tail -n 2 /etc/hosts; hostname -i'), '# Entries added by HostAliases.\n123.45.67.89\tfoo\tbar\n10.244.0.9\n')
  assert.equal(given({})('id; id -u'), '')
  const user = given({
    securityContext: { runAsUser: 1001, fsGroup: 7, supplementalGroups: [8], sysctls: [{ name: 'kernel/x', value: '1' }] },
  })
  assert.equal(user('id; id -u; id -g; id -G'), 'uid=1001 gid=0(root) groups=0(root),7,8\n1001\n0\n0 7 8\n')
  assert.equal(user('sysctl kernel.x; sysctl kernel/x; sysctl kernel.y'), 'kernel.x = 1\nkernel.x = 1\n')
})

test('a container that must not run as root does not get the user root', () => {
  const problem = (pod: object, own: object) =>
    userProblem(
      { metadata: { name: 'p', namespace: 'ns', uid: 'u' }, spec: { securityContext: pod } } as never,
      { name: 'c', securityContext: own } as never,
    )
  const message = `container's runAsUser breaks non-root policy (pod: "p_ns(u)", container: c)`
  assert.equal(problem({ runAsNonRoot: true }, { runAsUser: 0 }), message)
  assert.equal(problem({ runAsUser: 0 }, { runAsNonRoot: true }), message)
  assert.equal(problem({ runAsNonRoot: true, runAsUser: 0 }, { runAsUser: 7 }), undefined)
  assert.equal(problem({ runAsNonRoot: true }, { runAsNonRoot: false, runAsUser: 0 }), undefined)
  assert.equal(problem({}, { runAsNonRoot: true }), undefined)
})

test('agnhost is understood in scripts, too', () => {
  assert.deepEqual(sh('agnhost logs-generator --log-lines-total 2 --run-duration 30s && /agnhost pause')?.slice(0, 2), [Infinity, 0])
  const lines = run([], ['logs-generator', '-t', '2', '-d', '5s'], 'agnhost:2')
  assert.deepEqual(lines, [5, 0, '0 GET /api/v1/namespaces/kube-system/pods/pod-0 200\n1 GET /api/v1/namespaces/default/pods/pod-1 200\n'])
  const hosts = { ...NO_INPUTS, file: () => ({ content: 'hosts', mode: 0o644, group: 0 }) }
  assert.equal(understand({ image: 'agnhost:2', args: ['etc-hosts'] }, { inputs: hosts })?.log, 'hosts\n')
})

test('a run finds what the ones before it have left in an empty directory of the container', async () => {
  const volumes = [
    { name: 'own', emptyDir: {} },
    { name: 'shared', emptyDir: {} },
  ]
  const mounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }))
  const runs = async (script: string) => {
    const container = { name: 'c', image: 'busybox', command: ['sh', '-c', script], volumeMounts: mounts } as never
    const other = { name: 'd', volumeMounts: [{ name: 'shared', mountPath: '/shared' }] }
    const pod = { metadata: { name: 'p' }, spec: { volumes, containers: [container, other] }, status: {} } as never
    const inputs = inputsOf(container, pod, NO_SOURCES)
    const results = [0, 1, 2, 1000].map(run => followRuns(run, async left => understand(container, { inputs, left })))
    return (await Promise.all(results)).map(result => result?.exitCode)
  }
  assert.deepEqual(await runs('if [ -f /own/x ]; then exit 0; else touch /own/x; exit 42; fi'), [42, 0, 0, 0])
  assert.deepEqual(
    await runs('if [ -f /own/2 ]; then exit 0; elif [ -f /own/1 ]; then touch /own/2; exit 2; else touch /own/1; exit 1; fi'),
    [1, 2, 0, 0],
  )
  const count = "f=/own/n; count=$(echo hello >> $f ; wc -l $f | awk {'print $1'})"
  assert.deepEqual(await runs(`${count}; if [ $count -eq 1 ]; then exit 4; fi; if [ $count -eq 2 ]; then exit 5; fi; exit 6`), [4, 5, 6, 6])
  assert.deepEqual(await runs('echo x >> /own/n; [ $(cat /own/n | wc -l) -ge 3 ]'), [1, 1, 0, 0])
  assert.deepEqual(await runs('test -f /tmp/x && exit 0; touch /tmp/x; exit 1'), [undefined, undefined, undefined, undefined])
  assert.deepEqual(await runs('test -f /shared/x && exit 0; touch /shared/x; exit 1'), [undefined, undefined, undefined, undefined])
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

test('a probe of a port where it is known that nobody answers fails', () => {
  const pod = (container: object, probe: object) =>
    new SimulatedPod({ spec: { containers: [{ name: 'c', image: 'busybox', ...container, readinessProbe: probe }] } })
      .run(60_000)
      .condition('Ready')?.status
  const http = (port: number | string) => ({ httpGet: { path: '/', port } })
  const web = { image: 'agnhost:2', args: ['test-webserver'] }
  assert.equal(pod(web, http(80)), 'True')
  assert.equal(pod(web, http(81)), 'False')
  assert.equal(pod({ ...web, args: ['test-webserver', '--port=8000'], ports: [{ name: 'web', containerPort: 8000 }] }, http('web')), 'True')
  assert.equal(pod({ image: 'agnhost:2', args: ['grpc-health-checking'] }, { grpc: { port: 5000 } }), 'True')
  assert.equal(pod({ image: 'agnhost:2', args: ['grpc-health-checking'] }, { grpc: { port: 2333 } }), 'False')
  assert.equal(pod({ image: 'agnhost:2', args: ['porter'] }, http(81)), 'True')
  assert.equal(pod({ command: ['sleep', '600'] }, { tcpSocket: { port: 80 } }), 'False')
  assert.equal(pod({ command: ['sleep', '600'] }, { tcpSocket: { port: 80, host: '1.2.3.4' } }), 'True')
  assert.equal(pod({ command: ['sh', '-c', 'while true; do nc -l -p 80; done'] }, { tcpSocket: { port: 80 } }), 'True')
  assert.equal(pod({ command: ['serve'] }, http(80)), 'True')
  const sent = new SimulatedPod({
    spec: {
      containers: [
        {
          name: 'c',
          image: 'agnhost:2',
          args: ['liveness'],
          livenessProbe: { httpGet: { path: '/redirect?loc=%2Fhealthz', port: 8080 }, failureThreshold: 1 },
        },
      ],
    },
  })
  assert.equal(sent.run(11_000).container().restartCount, 1)
})

test('a probe of a file passes from when the script has made it', () => {
  const cat = (file: string, more: object = {}) => ({ exec: { command: ['cat', file] }, ...more })
  const pod = (script: string, probes: object) =>
    new SimulatedPod({ spec: { containers: [{ name: 'c', image: 'busybox', command: ['sh', '-c', script], ...probes }] } })
  const ready = (simulated: SimulatedPod, ms: number) => simulated.run(ms).condition('Ready')?.status
  const slow = pod('sleep 10; echo ok > /tmp/ready; sleep 600', { readinessProbe: cat('/tmp/ready') })
  assert.deepEqual([ready(slow, 9000), ready(slow, 2000)], ['False', 'True'])
  assert.equal(ready(pod('sleep 600', { readinessProbe: { exec: { command: ['sh', '-c', 'test -f /tmp/ready'] } } }), 60_000), 'False')
  assert.equal(ready(pod('sleep 600', { readinessProbe: cat('/etc/ready') }), 0), 'True')
  assert.equal(ready(pod('while true; do touch /tmp/ready; done', { readinessProbe: cat('/tmp/ready') }), 0), 'True')
  const volumeMounts = [{ name: 'v', mountPath: '/tmp' }]
  assert.equal(ready(pod('sleep 600', { readinessProbe: cat('/tmp/ready'), volumeMounts }), 0), 'True')
  const late = pod('sleep 30; touch /tmp/up; sleep 600', { startupProbe: cat('/tmp/up', { periodSeconds: 5, failureThreshold: 3 }) })
  assert.equal(late.run(11_000).container().restartCount, 1)
})

test('probes that are timed wait for their delays and periods', () => {
  const pod = (probes: object, script = 'sleep 600') =>
    new SimulatedPod({
      spec: { containers: [{ name: 'c', image: 'busybox', command: ['sh', '-c', script], ...probes }] },
      annotations: { 'sim.keelson.dev/probes': 'timed' },
    })
  const ready = (simulated: SimulatedPod, ms: number) => simulated.run(ms).condition('Ready')?.status
  const exec = { exec: { command: ['true'] } }
  const late = pod({ readinessProbe: { ...exec, initialDelaySeconds: 30, periodSeconds: 5, successThreshold: 2 } })
  assert.deepEqual(
    [ready(late, 34_000), late.events.some(text => text.startsWith('Unhealthy')), ready(late, 1000)],
    ['False', false, 'True'],
  )
  const file = { exec: { command: ['cat', '/tmp/up'] }, initialDelaySeconds: 2, periodSeconds: 10 }
  const made = pod({ readinessProbe: file }, 'sleep 5; touch /tmp/up; sleep 600')
  assert.deepEqual(
    [ready(made, 11_000), made.events.some(text => text.startsWith('Unhealthy')), ready(made, 1000)],
    ['False', true, 'True'],
  )
  const started = pod({ startupProbe: { ...exec, initialDelaySeconds: 20 }, readinessProbe: exec })
  assert.deepEqual([ready(started, 19_000), ready(started, 1000)], ['False', 'True'])
})

test('whether a container is alive is asked once it has started up', () => {
  const fails = { exec: { command: ['false'] } }
  const pod = (startupProbe: object) => {
    const command = ['sh', '-c', 'sleep 10; echo ok > /tmp/up; sleep 600']
    return new SimulatedPod({
      spec: { containers: [{ name: 'c', image: 'busybox', command, startupProbe, livenessProbe: { ...fails, failureThreshold: 1 } }] },
    })
  }
  assert.equal(
    pod({ ...fails, failureThreshold: 60 })
      .run(240_000)
      .container().restartCount,
    0,
  )
  const enabled = pod({ exec: { command: ['cat', '/tmp/up'] }, failureThreshold: 60 })
  assert.equal(enabled.run(9000).container().restartCount, 0)
  assert.equal(enabled.run(2000).container().restartCount, 1)
})

test('nothing is written where all is to be read only', () => {
  const container = {
    name: 'c',
    image: 'busybox',
    securityContext: { readOnlyRootFilesystem: true },
    volumeMounts: [
      { name: 'data', mountPath: '/data' },
      { name: 'data', mountPath: '/seen', readOnly: true },
      { name: 'config', mountPath: '/config' },
    ],
  } as never
  const volumes = [
    { name: 'data', emptyDir: {} },
    { name: 'config', configMap: { name: 'x' } },
  ]
  const pod = { metadata: { name: 'p' }, spec: { volumes, containers: [container] }, status: {} } as never
  const of = (script: string) => {
    const found = understand(
      { command: ['/bin/sh', '-c', script], terminationMessagePath: '/tmp/last' },
      { inputs: inputsOf(container, pod, NO_SOURCES) },
    )
    return [found?.exitCode, found?.log, found?.lastWords]
  }
  assert.deepEqual(of('echo test > /file; sleep 240'), [0, "/bin/sh: can't create /file: Read-only file system\n", ''])
  assert.deepEqual(of('touch /checkfile'), [1, 'touch: /checkfile: Read-only file system\n', ''])
  assert.deepEqual(of('touch /config/x || touch /seen/x'), [
    1,
    'touch: /config/x: Read-only file system\ntouch: /seen/x: Read-only file system\n',
    '',
  ])
  assert.deepEqual(of('touch /data/x && echo x > /dev/null && echo done > /tmp/last'), [0, '', 'done\n'])
})

test('everything else is not', () => {
  assert.deepEqual(run(['[', ...Array<string>(100).fill('!'), 'x', ']']), [0, 0, ''])
  assert.equal(run(['[', ...Array<string>(40_000).fill('!'), 'x', ']']), undefined)
  for (const script of [
    'nginx',
    'sleep 1; ./serve',
    'exit $CODE',
    'if true; then exit 1',
    'for i in $UNKNOWN; do echo $i; done',
    'for i in 1 2; do curl $i; done',
    'case $x in a) ;; esac',
    'exit $((1+1))',
    '$(true',
    'sleep `curl localhost`',
    'exit `id -u`',
    'sleep $N',
    'curl localhost | wc -l',
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
