import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openControllerBench } from '../../../test/kits/controllers.ts'
import { ClusterTrustBundle } from '../../kinds/certificates/clustertrustbundle.ts'
import { ConfigMap } from '../../kinds/core/configmap.ts'
import { Namespace } from '../../kinds/core/namespace.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { Secret } from '../../kinds/core/secret.ts'
import { Service } from '../../kinds/core/service/service.ts'
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import { LIMITS } from '../../lib/limits.ts'
import { CommandRuns } from './command-runs.ts'
import { type CommandRequest, collectRequests } from './commands.ts'

const LOADED = { timeout: 300_000 }

async function openRuns(t: TestContext) {
  const { client } = await openControllerBench(t, [Namespace, Pod, ConfigMap, Secret, Service, ClusterTrustBundle])
  const runs = new CommandRuns({ client, groupDomain: 'k8s.io', onError: assert.ifError })
  t.after(() => runs[Symbol.asyncDispose]())
  const createPod = async (namespace: string, name: string, scripts: readonly string[], more: object = {}) => {
    await client.of(Namespace).create({ metadata: { name: namespace } })
    const volumeMounts = [{ name: 'map', mountPath: '/map' }]
    const containers = scripts.map((script, i) => ({
      name: `c${i}`,
      image: 'busybox',
      command: ['sh', '-c', script],
      volumeMounts,
      ...more,
    }))
    const spec = { containers, volumes: [{ name: 'map', configMap: { name: 'map' } }] }
    const created = await client.of(Pod).create({ metadata: { namespace, name }, spec } as never)
    return created!.object as unknown as Pod
  }
  let called = 0
  /** The result of a run of a container; requested when it is pending. */
  const lookUp = (pod: Pod, container: Container, run = 0) => {
    const to = { pod, hostIPs: ['172.18.0.2'], podIPs: ['10.244.0.2'], allocatable: {} }
    const requests: CommandRequest[] = []
    const result = collectRequests(runs.of(to), requests).run(container, run)
    runs.request(to, requests, () => {
      called++
    })
    return result
  }
  /** The result of a run of a container, once it is known; and whether it had to be requested. */
  const firstRun = async (pod: Pod, index = 0, run = 0) => {
    const container = pod.spec.containers![index]!
    const known = lookUp(pod, container, run)
    if (known !== 'pending') return { wasKnown: true, log: known?.log, exitCode: known?.exitCode }
    while (runs.progress()) await runs.progress()
    const found = lookUp(pod, container, run)
    assert.notEqual(found, 'pending')
    return found === 'pending' ? undefined : { wasKnown: false, log: found?.log, exitCode: found?.exitCode }
  }
  return { client, runs, createPod, lookUp, firstRun, calls: () => called }
}

test('a command that looks at objects is run elsewhere, and its result holds until they change', LOADED, async t => {
  const { client, createPod, firstRun } = await openRuns(t)
  const maps = client.of(ConfigMap)
  await client.of(Namespace).create({ metadata: { name: 'ns' } })
  await maps.create({ metadata: { namespace: 'ns', name: 'map' }, data: { color: 'blue' } })
  const pod = await createPod('ns', 'p', ['cat /map/color; exit 3', 'echo small'])
  assert.deepEqual(await firstRun(pod), { wasKnown: false, log: 'blue', exitCode: 3 })
  assert.deepEqual(await firstRun(pod), { wasKnown: true, log: 'blue', exitCode: 3 })
  assert.deepEqual(await firstRun(pod, 0, 5), { wasKnown: true, log: 'blue', exitCode: 3 })
  assert.deepEqual(await firstRun(pod, 1), { wasKnown: true, log: 'small\n', exitCode: 0 })
  await maps.create({ metadata: { namespace: 'ns', name: 'other' }, data: { color: 'blue' } })
  assert.equal((await firstRun(pod))?.wasKnown, true)
  await maps.patch({ namespace: 'ns', name: 'map' }, { data: { color: 'red' } })
  assert.deepEqual(await firstRun(pod), { wasKnown: false, log: 'red', exitCode: 3 })
})

test('labels and services that a command has looked at are followed, too', LOADED, async t => {
  const { client, createPod, firstRun } = await openRuns(t)
  const env = [{ name: 'LABEL', valueFrom: { fieldRef: { fieldPath: "metadata.labels['a']" } } }]
  const pod = await createPod('ns', 'p', ['echo $LABEL $DB_SERVICE_HOST', 'cat /etc/hostname'], { env })
  assert.equal((await firstRun(pod))?.log, '')
  const labelled = (await client.of(Pod).patch({ namespace: 'ns', name: 'p' }, { metadata: { labels: { a: 'b' } } }))!.object as never
  assert.equal((await firstRun(labelled, 1))?.log, 'p\n')
  const spec = { clusterIP: '10.0.0.9', ports: [{ port: 1 }] }
  await client.of(Service).create({ metadata: { namespace: 'ns', name: 'db' }, spec } as never)
  assert.deepEqual(await firstRun(labelled), { wasKnown: false, log: 'b 10.0.0.9\n', exitCode: 0 })
  assert.deepEqual(await firstRun(labelled, 1), { wasKnown: true, log: 'p\n', exitCode: 0 })
  assert.equal((await firstRun(labelled))?.wasKnown, true)
})

test('a look-up alone runs nothing', LOADED, async t => {
  const { runs, createPod } = await openRuns(t)
  const pod = await createPod('ns', 'p', ['echo $HOSTNAME'])
  const commands = runs.of({ pod, hostIPs: [], podIPs: [], allocatable: {} })
  assert.equal(commands.run(pod.spec.containers![0]!, 0), 'pending')
  assert.equal(runs.progress(), undefined)
})

test('a pod is called once all its results are there, and those of others do not wait behind all of them', LOADED, async t => {
  const { runs, createPod, lookUp, calls } = await openRuns(t)
  const scripts = Array.from({ length: 20 }, (_, i) => `echo $HOSTNAME ${i}`)
  const [large, small] = [await createPod('a', 'large', scripts), await createPod('b', 'small', ['echo $HOSTNAME'])]
  const ask = (pod: Pod) => pod.spec.containers!.filter(each => lookUp(pod, each) === 'pending').length
  assert.deepEqual([ask(large), ask(small)], [20, 1])
  while (ask(small) > 0) await runs.progress()
  assert.ok(ask(large) >= 17, `${ask(large)} of 20 were left`)
  while (runs.progress()) await runs.progress()
  assert.deepEqual([ask(large), ask(small), calls()], [0, 0, 2])
})

test('commands of a namespace beyond those that may wait are run later', LOADED, async t => {
  const { runs, createPod, lookUp } = await openRuns(t)
  const count = LIMITS.commands.worker.waitingPerUser + 40
  const pod = await createPod(
    'ns',
    'p',
    Array.from({ length: count }, (_, i) => `echo $HOSTNAME ${i}`),
  )
  const open = () => pod.spec.containers!.filter(each => lookUp(pod, each) === 'pending').length
  assert.equal(open(), count)
  const to = { pod, hostIPs: [], podIPs: [], allocatable: {} }
  await assert.rejects(runs.resultOf(to, pod.spec.containers![0]!, 0), { code: 429, reason: 'TooManyRequests' })
  while (open() > 0) await runs.progress()
  assert.equal(runs.progress(), undefined)
})

test('nothing more is run for a pod that is gone', LOADED, async t => {
  const { runs, createPod, lookUp } = await openRuns(t)
  const pod = await createPod(
    'ns',
    'p',
    Array.from({ length: 50 }, (_, i) => `echo $HOSTNAME ${i}`),
  )
  for (const each of pod.spec.containers!) assert.equal(lookUp(pod, each), 'pending')
  runs.forget(pod.metadata.uid!)
  await runs.progress()
  assert.equal(runs.progress(), undefined)
  assert.equal(lookUp(pod, pod.spec.containers![0]!), 'pending')
})
