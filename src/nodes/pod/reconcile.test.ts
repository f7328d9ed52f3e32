import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SimulatedPod } from '../../../test/kits/simulated-pod.ts'
import { reconcilePod } from './reconcile.ts'

const c = (name: string, more: object = {}) => ({ name, image: `${name}:1`, ...more })
const SIM = 'sim.keelson.dev'

test('a pod runs and is ready at once, in one write', () => {
  const pod = new SimulatedPod().run()
  assert.equal(pod.statuses.length, 1)
  const { status } = pod.pod
  assert.deepEqual(
    [status.phase, status.podIP, status.hostIP, status.startTime],
    ['Running', '10.244.0.2', '172.18.0.2', '2026-07-01T12:00:00Z'],
  )
  const states = status.conditions?.map(({ type, status, observedGeneration }) => `${type}=${status}@${observedGeneration}`)
  assert.deepEqual(states, [
    'PodReadyToStartContainers=True@1',
    'Initialized=True@1',
    'Ready=True@1',
    'ContainersReady=True@1',
    'PodScheduled=True@1',
  ])
  assert.match(pod.container().containerID!, /^simulated:\/\/[0-9a-f]{64}$/)
  assert.deepEqual(pod.events, [
    'Pulled Container image "web:1" already present on machine and can be accessed by the pod',
    'Created Container created',
    'Started Container started',
  ])
})

test('an image that is there already is said to be accessible only where nodes see to that', () => {
  const pod = new SimulatedPod()
  pod.surroundings = { gate: name => name !== 'KubeletEnsureSecretPulledImages' }
  assert.equal(pod.run().events[0], 'Pulled Container image "web:1" already present on machine')
})

test('a pod in the network of its node has the address of the node', () => {
  const pod = new SimulatedPod({ spec: { hostNetwork: true } }).run()
  assert.equal(pod.pod.status.podIP, '172.18.0.2')
})

test('a pod that is not to be restarted completes by itself, after it was seen running', () => {
  for (const restartPolicy of ['Never', 'OnFailure']) {
    const pod = new SimulatedPod({ spec: { restartPolicy } }).run()
    assert.deepEqual(
      pod.statuses.map(({ phase }) => phase),
      ['Running', 'Succeeded'],
    )
    assert.equal(pod.container().state.terminated?.reason, 'Completed')
    assert.deepEqual([pod.condition('Ready')?.status, pod.condition('Ready')?.reason], ['False', 'PodCompleted'])
    assert.deepEqual([pod.condition('Initialized')?.status, pod.condition('Initialized')?.reason], ['True', 'PodCompleted'])
  }
})

test('run time and exit codes follow the script', () => {
  const pod = new SimulatedPod({
    spec: { restartPolicy: 'Never' },
    annotations: { [`${SIM}/run-time`]: '1500ms', [`${SIM}/exit-code`]: '3' },
  })
  pod.now += 900
  pod.run(1000)
  assert.equal(pod.pod.status.phase, 'Running')
  pod.run(600)
  assert.equal(pod.pod.status.phase, 'Failed')
  const { terminated } = pod.container().state
  assert.deepEqual([terminated?.exitCode, terminated?.reason, terminated?.finishedAt], [3, 'Error', '2026-07-01T12:00:02Z'])
  assert.equal(pod.condition('Ready')?.reason, 'PodFailed')
})

test('a container that fails is restarted at once, then after growing delays', () => {
  const pod = new SimulatedPod({ annotations: { [`${SIM}/crash-loop`]: 'true' } }).run()
  assert.equal(pod.container().restartCount, 1)
  assert.deepEqual(pod.container().state.waiting, {
    reason: 'CrashLoopBackOff',
    message: 'back-off 10s restarting failed container=c pod=p_ns(u)',
  })
  assert.equal(pod.pod.status.phase, 'Running')
  assert.equal(pod.container().lastState.terminated?.exitCode, 1)
  pod.run(11_000)
  assert.equal(pod.container().restartCount, 2)
  assert.match(pod.container().state.waiting?.message ?? '', /^back-off 20s /)
  pod.run(3_600_000)
  assert.match(pod.container().state.waiting?.message ?? '', /^back-off 5m0s /)
  assert.ok(pod.events.includes('BackOff Back-off restarting failed container c in pod p_ns(u)'))
})

test('with OnFailure the exit codes of a list are those of the runs', () => {
  const pod = new SimulatedPod({
    spec: { restartPolicy: 'OnFailure' },
    annotations: { [`${SIM}/exit-code`]: '1,1,0', [`${SIM}/restart-delay`]: '50ms' },
  })
  pod.run(60_000)
  assert.deepEqual([pod.pod.status.phase, pod.container().restartCount], ['Succeeded', 2])
})

test('init containers run one after the other, sidecars start in their order and stay', () => {
  const annotations = { [`a.${SIM}/run-time`]: '1s', [`s.${SIM}/startup-delay`]: '1s', [`b.${SIM}/run-time`]: '1s' }
  const sidecar = c('s', { restartPolicy: 'Always', startupProbe: { exec: { command: ['x'] } } })
  const pod = new SimulatedPod({ spec: { initContainers: [c('a'), sidecar, c('b')] }, annotations }).run()
  const states = () => ['a', 's', 'b', 'c'].map(name => Object.keys(pod.container(name).state)[0])
  assert.deepEqual(states(), ['running', 'waiting', 'waiting', 'waiting'])
  assert.deepEqual([pod.pod.status.phase, pod.container('c').state.waiting?.reason], ['Pending', 'PodInitializing'])
  assert.equal(pod.condition('Initialized')?.message, 'containers with incomplete status: [a s b]')
  pod.run(1000)
  assert.deepEqual(states(), ['terminated', 'running', 'waiting', 'waiting'])
  pod.run(1000)
  assert.deepEqual(states(), ['terminated', 'running', 'running', 'waiting'])
  pod.run(1000)
  assert.deepEqual(states(), ['terminated', 'running', 'terminated', 'running'])
  assert.deepEqual([pod.pod.status.phase, pod.condition('Ready')?.status], ['Running', 'True'])
})

test('an init container that fails is tried again, or fails the pod', () => {
  const annotations = { [`a.${SIM}/exit-code`]: '1,0' }
  const again = new SimulatedPod({ spec: { initContainers: [c('a')] }, annotations }).run()
  assert.deepEqual([again.pod.status.phase, again.container('a').restartCount], ['Running', 1])
  const never = new SimulatedPod({ spec: { initContainers: [c('a')], restartPolicy: 'Never' }, annotations }).run()
  assert.deepEqual([never.pod.status.phase, never.container('c').state.waiting?.reason], ['Failed', 'PodInitializing'])
})

test('sidecars end when the containers of a job have ended, and do not decide about it', () => {
  const pod = new SimulatedPod({ spec: { restartPolicy: 'Never', initContainers: [c('s', { restartPolicy: 'Always' })] } }).run()
  assert.equal(pod.pod.status.phase, 'Succeeded')
  assert.equal(pod.container('s').state.terminated?.exitCode, 143)
})

test('sidecars that take their time to end are not started again', () => {
  const initContainers = ['s', 't'].map(name => c(name, { restartPolicy: 'Always' }))
  const annotations = { [`s.${SIM}/stop-time`]: '5s', [`t.${SIM}/stop-time`]: '2s' }
  const pod = new SimulatedPod({ spec: { restartPolicy: 'Never', initContainers }, annotations }).run(3000)
  assert.deepEqual(
    [pod.pod.status.phase, Object.keys(pod.container('t').state), pod.container('t').restartCount],
    ['Running', ['terminated'], 0],
  )
  pod.run(10_000)
  assert.deepEqual([pod.pod.status.phase, pod.container('s').state.terminated?.exitCode], ['Succeeded', 143])
})

test('a pod becomes ready after its delay, or never', () => {
  const pod = new SimulatedPod({ annotations: { [`${SIM}/ready-delay`]: '2s' } }).run(1900)
  assert.equal(pod.condition('Ready')?.message, 'containers with unready status: [c]')
  pod.run(200)
  assert.equal(pod.condition('Ready')?.status, 'True')
  assert.equal(pod.condition('Ready')?.lastTransitionTime, '2026-07-01T12:00:02Z')
  const never = new SimulatedPod({ annotations: { [`${SIM}/ready-delay`]: 'never' } }).run(1e9)
  assert.equal(never.condition('Ready')?.status, 'False')
})

test('readiness gates keep a pod unready, and its own conditions stay', () => {
  const pod = new SimulatedPod({ spec: { readinessGates: [{ conditionType: 'a.b/c' }] } }).run()
  assert.deepEqual([pod.condition('ContainersReady')?.status, pod.condition('Ready')?.reason], ['True', 'ReadinessGatesNotReady'])
  assert.equal(pod.condition('Ready')?.message, 'corresponding condition of pod readiness gate "a.b/c" does not exist.')
  pod.pod.status.conditions!.push({ type: 'a.b/c', status: 'True' } as never)
  pod.run()
  assert.equal(pod.condition('Ready')?.status, 'True')
  assert.ok(pod.condition('a.b/c'))
})

test('a condition that another writer adds is not moved', () => {
  const pod = new SimulatedPod().run()
  const written = pod.statuses.length
  pod.pod.status.conditions!.push({ type: 'DisruptionTarget', status: 'True', lastProbeTime: null, lastTransitionTime: null } as never)
  pod.run(1000)
  assert.equal(pod.statuses.length, written)
})

test('an image that cannot be pulled keeps the container waiting', () => {
  const pod = new SimulatedPod({ annotations: { [`${SIM}/image-pull-error`]: 'no such image' } }).run()
  assert.deepEqual(pod.container().state.waiting, { reason: 'ErrImagePull', message: 'no such image' })
  pod.run(60_000)
  assert.deepEqual(pod.container().state.waiting, {
    reason: 'ImagePullBackOff',
    message: 'Back-off pulling image "web:1": ErrImagePull: no such image',
  })
  assert.equal(pod.pod.status.phase, 'Pending')
})

test('what is missing keeps the pod waiting, in the words of a kubelet', () => {
  const pod = new SimulatedPod()
  pod.surroundings = {
    missingForVolumes: [{ objects: [], message: 'MountVolume.SetUp failed for volume "v" : configmap "m" not found' }],
  }
  pod.run()
  assert.deepEqual(pod.events, ['FailedMount MountVolume.SetUp failed for volume "v" : configmap "m" not found'])
  assert.deepEqual([pod.condition('PodReadyToStartContainers')?.status, pod.pod.status.podIP], ['False', undefined])
  pod.surroundings = { missingForContainer: () => ({ objects: [], message: 'secret "s" not found' }) }
  pod.run()
  assert.deepEqual(pod.container().state.waiting, { reason: 'CreateContainerConfigError', message: 'secret "s" not found' })
  pod.surroundings = {}
  assert.equal(pod.run().pod.status.phase, 'Running')
  assert.equal(pod.container().restartCount, 0)
})

test('a pod for which the node has no room fails, and nothing of it runs', () => {
  const pod = new SimulatedPod()
  pod.surroundings = { rejection: () => ({ reason: 'OutOfcpu', message: 'too much' }) }
  pod.run()
  const { phase, reason, message, containerStatuses } = pod.pod.status
  assert.deepEqual(
    [phase, reason, message, containerStatuses?.[0]?.containerID],
    ['Failed', 'OutOfcpu', 'Pod was rejected: too much', undefined],
  )
  assert.equal(pod.delete(0).run().isGone, true)
})

test('deletion stops containers, at once or after their delay, and then removes the pod', () => {
  const pod = new SimulatedPod().run().delete().run()
  assert.deepEqual([pod.isGone, pod.pod.status.phase, pod.container().state.terminated?.exitCode], [true, 'Failed', 143])
  assert.equal(pod.events.at(-1), 'Killing Stopping container c')
  const slow = new SimulatedPod({ annotations: { [`${SIM}/stop-time`]: '5s' } }).run().delete().run(4000)
  assert.deepEqual([slow.isGone, slow.container().ready], [false, true])
  assert.deepEqual([slow.run(1500).isGone, slow.container().state.terminated?.exitCode], [true, 143])
  const stubborn = new SimulatedPod({ annotations: { [`${SIM}/stop-time`]: 'never' } }).run().delete(10).run(9000)
  assert.equal(stubborn.isGone, false)
  assert.deepEqual([stubborn.run(1500).isGone, stubborn.container().state.terminated?.exitCode], [true, 137])
})

test('a container runs on until its preStop hook is over, or the time is', () => {
  const pod = (...command: string[]) =>
    new SimulatedPod({ spec: { containers: [{ name: 'c', image: 'web:1', lifecycle: { preStop: { exec: { command } } } }] } })
      .run()
      .delete(10)
  const slow = pod('sleep', '5').run(4000)
  assert.deepEqual([slow.pod.status.phase, slow.isGone, slow.run(2000).isGone], ['Running', false, true])
  const stubborn = pod('sh', '-c', 'while true; do echo preStop; sleep 1; done').run(9000)
  assert.deepEqual([stubborn.isGone, stubborn.run(2000).isGone], [false, true])
  assert.equal(pod('/bin/drain').run().isGone, true)
})

test('a container that is over when its pod is deleted has ended by itself', () => {
  const spec = { restartPolicy: 'Never', containers: [c('fail', { command: ['/bin/false'] })] }
  const pod = new SimulatedPod({ spec })
  pod.step()
  assert.equal(pod.pod.status.phase, 'Running')
  pod.delete(1).run()
  assert.equal(pod.container('fail').state.terminated?.exitCode, 1)
})

test('a pod that is deleted before it starts has failed', () => {
  const pod = new SimulatedPod({ annotations: { [`${SIM}/image-pull-error`]: 'x' } }).run().delete().run()
  assert.deepEqual([pod.isGone, pod.pod.status.phase, pod.container().state.terminated?.reason], [true, 'Failed', 'ContainerStatusUnknown'])
})

test('a job that succeeded stays a success when its pod is deleted', () => {
  const pod = new SimulatedPod({ spec: { restartPolicy: 'Never' } }).run().delete().run()
  assert.deepEqual([pod.isGone, pod.pod.status.phase], [true, 'Succeeded'])
})

test('a pod past its deadline fails and is stopped', () => {
  const pod = new SimulatedPod({ spec: { activeDeadlineSeconds: 5 } }).run(4000)
  assert.equal(pod.pod.status.phase, 'Running')
  pod.run(2000)
  const { phase, reason, message } = pod.pod.status
  assert.deepEqual(
    [phase, reason, message],
    ['Failed', 'DeadlineExceeded', 'Pod was active on the node longer than the specified deadline'],
  )
  assert.equal(pod.container().state.terminated?.exitCode, 143)
})

test('container restart rules decide over the policy of the pod', () => {
  const rules = (action: string) => [{ action, exitCodes: { operator: 'In', values: [42] } }]
  const annotations = { [`c.${SIM}/exit-code`]: '42,0' }
  const restart = c('c', { restartPolicy: 'Never', restartPolicyRules: rules('Restart') })
  const one = new SimulatedPod({ spec: { restartPolicy: 'Never', containers: [restart] }, annotations }).run(60_000)
  assert.deepEqual([one.pod.status.phase, one.container().restartCount], ['Succeeded', 1])
  const all = c('c', { restartPolicy: 'Never', restartPolicyRules: rules('RestartAllContainers') })
  const pod = new SimulatedPod({ spec: { restartPolicy: 'Never', initContainers: [c('i')], containers: [all, c('d')] }, annotations })
  pod.run(60_000)
  assert.equal(pod.pod.status.phase, 'Succeeded')
  assert.deepEqual(
    ['i', 'c', 'd'].map(name => pod.container(name).restartCount),
    [1, 1, 1],
  )
  assert.equal(pod.condition('AllContainersRestarting')?.reason, 'PodCompleted')
})

test('a new image and a resize that needs it restart a container; another resize does not', () => {
  const pod = new SimulatedPod({ spec: { containers: [c('c', { resources: { requests: { cpu: '1' } } })] } }).run()
  const first = pod.container().containerID
  pod.change({ containers: [{ ...pod.pod.spec.containers![0], resources: { requests: { cpu: '2' } } }] }).run()
  assert.deepEqual([pod.container().allocatedResources, pod.container().containerID], [{ cpu: '2' }, first])
  assert.ok(pod.events.some(event => event.startsWith('ResizeCompleted Pod resize completed: {"containers":[{"name":"c"')))
  const resizePolicy = [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }]
  pod.change({ containers: [{ ...pod.pod.spec.containers![0], resizePolicy, resources: { requests: { cpu: '3' } } }] }).run()
  assert.deepEqual([pod.container().allocatedResources, pod.container().restartCount], [{ cpu: '3' }, 1])
  pod.change({ containers: [{ ...pod.pod.spec.containers![0], image: 'web:2' }] }).run()
  assert.deepEqual([pod.container().image, pod.container().restartCount, pod.container().ready], ['web:2', 2, true])
  // In one write: whoever looks in between does not find it unready.
  assert.ok(pod.statuses.every(({ conditions }) => conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')))
  pod.change({ containers: [{ ...pod.pod.spec.containers![0], image: 'web:missing' }] }).run()
  assert.deepEqual([pod.container().state.waiting?.reason, pod.container().ready], ['ErrImagePull', false])
})

test('a resize for which the node has no room is pending, with its reason', () => {
  const pod = new SimulatedPod({ spec: { containers: [c('c', { resources: { requests: { cpu: '1' } } })] } }).run()
  pod.surroundings = { resizeProblem: () => ({ reason: 'Deferred', message: 'no room' }) }
  pod.change({ containers: [{ ...pod.pod.spec.containers![0], resources: { requests: { cpu: '2' } } }] }).run()
  assert.deepEqual([pod.condition('PodResizePending')?.reason, pod.container().allocatedResources], ['Deferred', { cpu: '1' }])
  pod.surroundings = {}
  pod.run()
  assert.deepEqual([pod.condition('PodResizePending'), pod.container().allocatedResources], [undefined, { cpu: '2' }])
})

test('ephemeral containers are started and never restarted', () => {
  const pod = new SimulatedPod().run()
  pod.change({ ephemeralContainers: [c('debug', { resources: {} })] }).run()
  assert.ok(pod.container('debug').state.running)
  assert.equal(pod.condition('Ready')?.status, 'True')
})

test('a failing liveness probe restarts the container', () => {
  const livenessProbe = { exec: { command: ['x'] } }
  const pod = new SimulatedPod({
    spec: { containers: [c('c', { livenessProbe })] },
    annotations: { [`${SIM}/liveness-failure`]: '3s' },
  }).run(3500)
  assert.equal(pod.container().restartCount, 1)
  assert.ok(pod.events.includes('Killing Container c failed liveness probe, will be restarted'))
})

test('an invalid script is reported and ignored', () => {
  const pod = new SimulatedPod({ annotations: { [`${SIM}/run-time`]: 'soon', [`x.${SIM}/log`]: 'l', [`${SIM}/speed`]: '1' } }).run()
  assert.equal(pod.pod.status.phase, 'Running')
  assert.deepEqual(pod.events.filter(event => event.startsWith('InvalidScript')).length, 3)
})

test('a script that becomes invalid while the pod runs is reported once', () => {
  const pod = new SimulatedPod().run()
  const reports = () => pod.events.filter(event => event.startsWith('InvalidScript'))
  assert.deepEqual(reports(), [])
  pod.annotate({ [`${SIM}/run-time`]: 'soon' }).run(60_000)
  pod.annotate({ [`${SIM}/run-time`]: 'soon', other: 'x' }).run()
  assert.deepEqual(reports(), [`InvalidScript ${SIM}/run-time: "soon" makes no sense and is ignored`])
})

test('a pod that waits for the result of a command has no events and says that it waits', () => {
  const pod = new SimulatedPod().run()
  pod.annotate({ [`${SIM}/run-time`]: 'soon' })
  pod.surroundings = {
    commands: { run: () => 'pending', knownRun: () => undefined, command: () => 'pending', mountProblem: () => undefined },
  }
  const { events, isPending, requests } = pod.step()
  assert.deepEqual([events, isPending, requests.map(({ type }) => type)], [[], true, ['run']])
})

const duration = fc.constantFrom('0s', '10ms', '1s', '7s')
const scripts = fc.dictionary(
  fc.constantFrom('a', 'b', 's', 'c', 'd', '').map(name => (name ? `${name}.${SIM}` : SIM)),
  fc.oneof(
    fc.tuple(fc.constant('exit-code'), fc.constantFrom('0', '1', '1,0', '42', '42,0')),
    fc.tuple(fc.constantFrom('run-time', 'ready-delay', 'startup-delay', 'stop-time'), fc.oneof(duration, fc.constant('never'))),
    fc.tuple(fc.constant('image-pull-error'), fc.constant('x')),
    fc.tuple(fc.constantFrom('restart-delay', 'liveness-failure'), duration),
  ),
)

test('whatever happens, phases do not go back, restarts only grow, and ready means that all containers are', () => {
  const rule = {
    restartPolicy: 'Never',
    restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }],
  }
  const probe = { exec: { command: ['x'] } }
  const moves = fc.array(fc.oneof(fc.integer({ min: 0, max: 40_000 }), fc.constantFrom('delete', 'restart')), { maxLength: 8 })
  fc.assert(
    fc.property(fc.constantFrom('Always', 'OnFailure', 'Never'), scripts, moves, fc.boolean(), (restartPolicy, script, moves, hasRule) => {
      const annotations = Object.fromEntries(Object.entries(script).map(([domain, [name, value]]) => [`${domain}/${name}`, value]))
      const initContainers = [c('a'), c('s', { restartPolicy: 'Always', startupProbe: probe, livenessProbe: probe }), c('b')]
      const containers = [c('c', { livenessProbe: probe }), c('d', hasRule ? rule : {})]
      const pod = new SimulatedPod({ spec: { restartPolicy, initContainers, containers, activeDeadlineSeconds: 100 }, annotations })
      for (const move of moves) {
        if (typeof move === 'number') pod.run(move)
        else if (move === 'delete' && !pod.pod.metadata.deletionTimestamp) pod.delete(20)
        if (pod.isGone) break
      }
      let before: (typeof pod.statuses)[number] | undefined
      for (const status of pod.statuses) {
        const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]
        const old = [...(before?.initContainerStatuses ?? []), ...(before?.containerStatuses ?? [])]
        if (before?.phase === 'Succeeded' || before?.phase === 'Failed') assert.equal(status.phase, before.phase)
        for (const each of all) assert.ok(each.restartCount >= (old.find(({ name }) => name === each.name)?.restartCount ?? 0))
        for (const { state } of all) assert.equal(Object.keys(state).length, 1)
        const isReady = status.conditions?.find(({ type }) => type === 'Ready')?.status === 'True'
        if (isReady) for (const each of status.containerStatuses ?? []) assert.ok(each.ready && each.state.running)
        if (isReady) assert.equal(status.phase, 'Running')
        if (status.containerStatuses?.some(({ state }) => state.running)) assert.ok(status.podIP)
        before = status
      }
    }),
    { numRuns: 300 },
  )
})

test('the next step is a pure function of the pod and its surroundings', () => {
  const freeze = <T>(value: T): T => {
    if (typeof value === 'object' && value !== null && !Object.isFrozen(value))
      for (const part of Object.values(Object.freeze(value))) freeze(part)
    return value
  }
  const pods = [
    new SimulatedPod(),
    new SimulatedPod({ spec: { restartPolicy: 'Never', initContainers: [c('i')] }, annotations: { [`${SIM}/exit-code`]: '1' } }),
    new SimulatedPod({ annotations: { [`${SIM}/crash-loop`]: 'true' } }).run(30_000),
    new SimulatedPod({ annotations: { [`${SIM}/stop-time`]: '5s' } }).run().delete(),
  ]
  for (const pod of pods) {
    freeze(pod.pod)
    const surroundings = freeze(pod.around())
    assert.deepEqual(reconcilePod(pod.pod, surroundings), reconcilePod(pod.pod, surroundings))
  }
})

test('a step says what the pod takes and needs, and the caller carries it out', () => {
  const first = new SimulatedPod().step()
  assert.deepEqual([first.isAdmitted, first.takesAddresses, first.isDeferred, first.requests], [true, true, false, []])
  const full = new SimulatedPod()
  full.surroundings = { freePodIPs: [] }
  const step = full.step()
  assert.deepEqual([step.isAdmitted, step.takesAddresses, step.isDeferred], [true, false, true])
  const running = new SimulatedPod().run().step()
  assert.deepEqual([running.isAdmitted, running.takesAddresses], [false, false])
  const inHostNetwork = new SimulatedPod({ spec: { hostNetwork: true } }).step()
  assert.equal(inHostNetwork.takesAddresses, false)
})
