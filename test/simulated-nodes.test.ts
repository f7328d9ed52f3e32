// Simulated nodes in a real server: nodes and their pods from a client's view.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { encodeStored, parseObject } from '../src/codec/stored-bytes.ts'
import { openEmbeddedStore } from '../src/storage/embedded/embedded.ts'
import { ask, eventually, freshServer, patient, type Sent, serveHere, startInProcess, startProcess, type Target, Watching } from './kit.ts'

const PODS = '/api/v1/namespaces/default/pods'
const NODE = 'simulated-1'
const SIM = 'sim.keelson.dev'

type Spec = { readonly name: string; readonly annotations?: Record<string, string>; readonly spec?: object }

/** Creates a pod that is bound already, so that no scheduler is needed. */
async function createPod(server: Target, { name, annotations = {}, spec = {} }: Spec): Promise<void> {
  const body = { metadata: { name, annotations }, spec: { nodeName: NODE, containers: [{ name: 'c', image: 'web:1' }], ...spec } }
  const answer = await ask(server, PODS, { method: 'POST', body })
  assert.equal(answer.status, 201, answer.text)
}

const read = async (server: Target, path: string, sent: Sent = {}) => (await ask(server, path, sent)).json

const podIn = (server: Target, name: string, fits: (pod: any) => boolean): Promise<any> =>
  eventually(`the state of pod ${name}`, async () => {
    const pod = await read(server, `${PODS}/${name}`)
    return pod.kind === 'Pod' && fits(pod) ? pod : undefined
  })
const phase = (wanted: string) => (pod: any) => pod.status.phase === wanted
const isGone = (server: Target, path: string) =>
  eventually(`the end of ${path}`, async () => ((await ask(server, path)).status === 404 ? true : undefined))
const nodeReady = (server: Target, name = NODE) =>
  eventually(`node ${name}`, async () => {
    const node = await read(server, `/api/v1/nodes/${name}`)
    return node.kind === 'Node' && !node.spec.taints && node.status.conditions?.at(-1)?.status === 'True' ? node : undefined
  })
const patch = (body: object): Sent => ({ method: 'PATCH', body, headers: { 'content-type': 'application/merge-patch+json' } })

test('there are as many nodes as were asked for, labelled, with addresses of their own and a lease', async t => {
  const server = await startInProcess(t, { nodes: 3, nodeCapacity: { cpu: '4', 'example.com/gpu': '2' } })
  const nodes = await Promise.all([1, 2, 3].map(number => nodeReady(server, `simulated-${number}`)))
  for (const [i, { metadata, status, spec }] of nodes.entries()) {
    assert.equal(metadata.labels['keelson.dev/simulated'], 'true')
    assert.equal(metadata.labels['kubernetes.io/hostname'], `simulated-${i + 1}`)
    assert.match(status.nodeInfo.containerRuntimeVersion, /^simulated:\/\//)
    assert.deepEqual([status.capacity.cpu, status.allocatable['example.com/gpu'], status.capacity.pods], ['4', '2', '110'])
    assert.match(spec.podCIDR, /^10\.244\.\d\.0\/24$/)
  }
  for (const of of [(n: any) => n.spec.podCIDR, (n: any) => n.status.addresses[0].address]) assert.equal(new Set(nodes.map(of)).size, 3)
  const lease = await eventually('a lease', async () => {
    const found = await read(server, `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${NODE}`)
    return found.spec?.renewTime ? found : undefined
  })
  assert.deepEqual([lease.spec.holderIdentity, lease.metadata.ownerReferences[0].name], [NODE, NODE])
})

test('with none of the controllers there are no nodes', async t => {
  const server = await startInProcess(t, { nodes: 2, controllers: ['none'] })
  await server.settled()
  assert.deepEqual((await read(server, '/api/v1/nodes')).items, [])
})

test('pods become ready with addresses of their own, under every authorization mode and with NodeRestriction', async t => {
  for (const authorizationMode of [['RBAC'], ['Node', 'RBAC'], ['AlwaysAllow']]) {
    const server = await startInProcess(t, { nodes: 1, authorizationMode, enableAdmissionPlugins: ['NodeRestriction'] })
    await nodeReady(server)
    await Promise.all(['a', 'b', 'c'].map(name => createPod(server, { name })))
    const pods = await Promise.all(['a', 'b', 'c'].map(name => podIn(server, name, phase('Running'))))
    assert.equal(new Set(pods.map(pod => pod.status.podIP)).size, 3)
    for (const { status, metadata } of pods) {
      assert.match(status.podIP, /^10\.244\.0\.\d+$/)
      assert.ok(status.conditions.every((each: any) => each.status === 'True'))
      assert.ok(metadata.managedFields.some((each: any) => each.manager === 'kubelet' && each.subresource === 'status'))
    }
    const events = await eventually('events', async () => {
      const { items } = await read(server, '/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=a')
      return items.length >= 3 ? items : undefined
    })
    assert.deepEqual(
      events.map((each: any) => each.reason),
      ['Pulled', 'Created', 'Started'],
    )
    assert.deepEqual(events[0].source, { component: 'kubelet', host: NODE })
    assert.equal(events[0].involvedObject.fieldPath, 'spec.containers{c}')
    await server.close()
  }
})

test('a pod that is deleted ends and is gone; a finalizer keeps it with its last status', async t => {
  const server = await freshServer(t, { nodes: 1 })
  await nodeReady(server)
  await createPod(server, { name: 'p' })
  await podIn(server, 'p', phase('Running'))
  const watch = await Watching.open(t, server, `${PODS}?watch=1`)
  await ask(server, `${PODS}/p`, { method: 'DELETE' })
  const seen = await watch.until(({ type }) => type === 'DELETED')
  assert.equal(seen.at(-1)?.object.status.containerStatuses[0].state.terminated.exitCode, 143)
  await createPod(server, { name: 'q' })
  await podIn(server, 'q', phase('Running'))
  await ask(server, `${PODS}/q`, patch({ metadata: { finalizers: ['example.com/keep'] } }))
  await ask(server, `${PODS}/q`, { method: 'DELETE' })
  await podIn(server, 'q', pod => pod.metadata.deletionGracePeriodSeconds === 0)
  await ask(server, `${PODS}/q`, patch({ metadata: { finalizers: [] } }))
  await isGone(server, `${PODS}/q`)
})

test('a pod waits for what it refers to, and goes on when that comes', async t => {
  const server = await freshServer(t, { nodes: 1 })
  await nodeReady(server)
  const volumes = [{ name: 'v', configMap: { name: 'files' } }]
  const env = [{ name: 'X', valueFrom: { secretKeyRef: { name: 'secret', key: 'k' } } }]
  await createPod(server, { name: 'p', spec: { volumes, containers: [{ name: 'c', image: 'web', env }] } })
  await podIn(server, 'p', pod => pod.status.containerStatuses?.[0].state.waiting?.reason === 'ContainerCreating')
  const event = await eventually('an event', async () => {
    const { items } = await read(server, '/api/v1/namespaces/default/events')
    return items.find((each: any) => each.reason === 'FailedMount')
  })
  assert.equal(event.message, 'MountVolume.SetUp failed for volume "v" : configmap "files" not found')
  await ask(server, '/api/v1/namespaces/default/configmaps', { method: 'POST', body: { metadata: { name: 'files' } } })
  const waiting = (pod: any) => pod.status.containerStatuses[0].state.waiting
  const held = await podIn(server, 'p', pod => waiting(pod)?.reason === 'CreateContainerConfigError')
  assert.equal(waiting(held).message, 'secret "secret" not found')
  const secrets = '/api/v1/namespaces/default/secrets'
  await ask(server, secrets, { method: 'POST', body: { metadata: { name: 'secret' }, stringData: { j: '1' } } })
  await podIn(server, 'p', pod => waiting(pod)?.message === "couldn't find key k in Secret default/secret")
  await ask(server, `${secrets}/secret`, patch({ stringData: { k: '1' } }))
  await podIn(server, 'p', phase('Running'))
})

test('an invalid script of a running pod is reported once, and again when it is invalid again', async t => {
  const server = await startInProcess(t, { nodes: 1 })
  await nodeReady(server)
  // The command reads a variable, so a worker runs it and its result is pending now and then.
  const containers = [{ name: 'c', image: 'web:1', command: ['sh', '-c', 'echo $HOSTNAME; sleep 1000'] }]
  await createPod(server, { name: 'p', spec: { containers } })
  await podIn(server, 'p', phase('Running'))
  const annotate = async (annotations: Record<string, string | null>) => {
    assert.equal((await ask(server, `${PODS}/p`, patch({ metadata: { annotations } }))).status, 200)
    await server.settled()
  }
  const reports = async () => {
    const { items } = await read(server, '/api/v1/namespaces/default/events?fieldSelector=reason=InvalidScript')
    return items.map(({ message, count }: any) => [message, count])
  }
  const message = `${SIM}/ready-delay: "soon" makes no sense and is ignored`
  assert.deepEqual(await reports(), [])
  await annotate({ [`${SIM}/ready-delay`]: 'soon' })
  assert.deepEqual(await reports(), [[message, 1]])
  await annotate({ unrelated: 'x' })
  await annotate({ unrelated: 'y', [`${SIM}/log`]: 'l' })
  assert.deepEqual(await reports(), [[message, 1]])
  await annotate({ [`${SIM}/ready-delay`]: null })
  await annotate({ [`${SIM}/ready-delay`]: 'soon' })
  assert.deepEqual(await reports(), [[message, 2]])
})

test('the log of a container is the text of its script, as much of it as is asked for', async t => {
  const server = await freshServer(t, { nodes: 1 })
  await nodeReady(server)
  const annotations = { [`${SIM}/log`]: 'one\ntwo\nthree', [`init.${SIM}/log`]: 'set up' }
  await createPod(server, { name: 'p', annotations, spec: { initContainers: [{ name: 'init', image: 'i' }] } })
  await podIn(server, 'p', phase('Running'))
  const log = async (query: string, headers = {}) => {
    const { status, text, headers: answered, json } = await ask(server, `${PODS}/p/log?${query}`, { headers })
    if (status !== 200) return `${status} ${json.message}`
    assert.equal(answered['content-type'], 'text/plain')
    return text
  }
  assert.equal(await log('', { accept: 'text/plain' }), 'one\ntwo\nthree\n')
  assert.equal(await log('container=init'), 'set up\n')
  assert.equal(await log('tailLines=1'), 'three\n')
  assert.equal(await log('limitBytes=5'), 'one\nt')
  assert.match(await log('timestamps=true&tailLines=1'), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z three\n$/)
  assert.equal(await log('sinceTime=2999-01-01T00:00:00Z'), '')
  assert.equal(await log('previous=true'), '400 previous terminated container "c" in pod "p" not found')
  assert.equal(await log('container=x'), '400 container x is not valid for pod p')
  assert.match(
    await log('tailLines=-1'),
    /^422 PodLogOptions "p" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0$/,
  )
  assert.match(await log('sinceSeconds=x'), /^400 /)
  assert.match((await ask(server, `${PODS}/none/log`)).json.message, /not found/)
})

test('commands see the environment and the files of their container', async t => {
  const server = await freshServer(t, { nodes: 1 })
  await nodeReady(server)
  const map = { metadata: { name: 'settings' }, data: { color: 'blue' } }
  assert.equal((await ask(server, '/api/v1/namespaces/default/configmaps', { method: 'POST', body: map })).status, 201)
  const containerOf = (more: object) => ({
    name: 'c',
    image: 'busybox',
    env: [
      { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'settings', key: 'color' } } },
    ],
    volumeMounts: [{ name: 'settings', mountPath: '/etc/app' }],
    ...more,
  })
  const specOf = (more: object) => ({
    restartPolicy: 'Never',
    containers: [containerOf(more)],
    volumes: [{ name: 'settings', configMap: { name: 'settings', items: [{ key: 'color', path: 'paint' }] } }],
  })
  const script = 'echo "$POD is $(cat /etc/app/paint)"; if [ "$COLOR" = blue ]; then exit 3; fi'
  // The kubelet expands names in brackets, unless it is written with two dollars.
  await createPod(server, { name: 'told', spec: specOf({ command: ['sh', '-c'], args: [script.replace('$(cat', '$$(cat')] }) })
  const { status } = await podIn(server, 'told', phase('Failed'))
  assert.equal(status.containerStatuses[0].state.terminated.exitCode, 3)
  assert.equal((await ask(server, `${PODS}/told/log`)).text, 'told is blue\n')
  await createPod(server, { name: 'all', spec: specOf({ command: ['env'] }) })
  await podIn(server, 'all', phase('Succeeded'))
  const { text } = await ask(server, `${PODS}/all/log`)
  for (const line of ['POD=all', 'COLOR=blue', 'HOSTNAME=all', 'KUBERNETES_SERVICE_PORT=443'])
    assert.ok(text.split('\n').includes(line), line)
  const mount = { name: 'settings', mountPath: '/x', subPathExpr: '$(ROOT)' }
  await createPod(server, { name: 'astray', spec: specOf({ volumeMounts: [mount], env: [{ name: 'ROOT', value: '/tmp' }] }) })
  const astray = await podIn(
    server,
    'astray',
    pod => pod.status.containerStatuses?.[0].state.waiting?.reason === 'CreateContainerConfigError',
  )
  assert.equal(astray.status.containerStatuses[0].state.waiting.message, 'error SubPath `/tmp` must not be an absolute path')
  await createPod(server, { name: 'lost', spec: { containers: [{ name: 'c', image: 'web:non-existent' }] } })
  await podIn(server, 'lost', pod => pod.status.containerStatuses?.[0].state.waiting?.reason === 'ErrImagePull')
})

test('time that is put forward waits for commands that are run elsewhere', async t => {
  const server = await startInProcess(t, { nodes: 1 })
  await nodeReady(server)
  const command = ['sh', '-c', 'echo $HOSTNAME; sleep 60; exit 4']
  await createPod(server, { name: 'p', spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'busybox', command }] } })
  await server.settled()
  assert.equal((await read(server, `${PODS}/p`)).status.phase, 'Running')
  await server.clock.advance('61s')
  const { status } = await read(server, `${PODS}/p`)
  assert.deepEqual([status.phase, status.containerStatuses[0].state.terminated.exitCode], ['Failed', 4])
})

// At 6256f0f1 each end of a container was a write of all of them.
test('a pod of many containers that end at different times is written a few times', patient, async t => {
  const server = await startInProcess(t, { nodes: 1 })
  await nodeReady(server)
  const containers = Array.from({ length: 150 }, (_, i) => ({ name: `c${i}`, image: 'busybox', command: ['sleep', `${1 + i / 100}`] }))
  await createPod(server, { name: 'p', spec: { restartPolicy: 'Never', containers } })
  await server.settled()
  const changes = () => server.changes().filter(({ kind }) => kind === 'Pod').length
  const before = changes()
  await server.clock.advance('20s')
  const { status } = await read(server, `${PODS}/p`)
  assert.equal(status.phase, 'Succeeded')
  const [first, last] = [0, 149].map(i => status.containerStatuses[i].state.terminated)
  assert.equal(Date.parse(last.finishedAt) - Date.parse(first.finishedAt) <= 2000, true)
  assert.ok(changes() - before < 10, `${changes() - before} writes`)
})

test('a log that is followed ends with the run', async t => {
  const server = await startInProcess(t, { nodes: 1 })
  await nodeReady(server)
  const annotations = { [`${SIM}/log`]: 'working', [`${SIM}/run-time`]: '1s' }
  await createPod(server, { name: 'p', annotations, spec: { restartPolicy: 'Never' } })
  await podIn(server, 'p', phase('Running'))
  const { status, text } = await ask(server, `${PODS}/p/log?follow=true`)
  assert.deepEqual([status, text], [200, 'working\n'])
  await podIn(server, 'p', phase('Succeeded'))
  await createPod(server, { name: 'q', annotations: { [`${SIM}/log`]: 'on' } })
  await podIn(server, 'q', phase('Running'))
  // Not server.fetch, whose own connections end with the server.
  const following = ask(server, `${PODS}/q/log?follow=true`)
  await eventually('the request for the log', () => (server.requests().some(({ path }) => path.includes('/q/log')) ? true : undefined))
  await server.close()
  assert.equal((await following).text, 'on\n')
})

test('requests that need a process or a kubelet are refused with a reason', async t => {
  const server = await startInProcess(t, { nodes: 1 })
  await nodeReady(server)
  await createPod(server, { name: 'p' })
  for (const path of ['proxy', 'proxy/healthz']) {
    const { status, json } = await ask(server, `${PODS}/p/${path}`)
    assert.deepEqual(
      [status, json.message],
      [503, 'error trying to reach service: pod "p" is simulated by node "simulated-1": it has no process that listens'],
    )
  }
  for (const [path, method] of [
    ['run/default/p/c', 'POST'],
    ['pods', 'POST'],
    ['logs/', 'GET'],
  ] as const) {
    const { status, json } = await ask(server, `/api/v1/nodes/${NODE}/proxy/${path}`, { method })
    assert.deepEqual([status, json.message], [501, `node "simulated-1" is simulated: there is no kubelet that could answer /${path}`])
  }
})

test('a node tells what a kubelet tells of itself and its pods', async t => {
  const server = await startInProcess(t, { nodes: 2, nodeCapacity: { cpu: '4' } })
  await nodeReady(server)
  const spec = { containers: [{ name: 'c', image: 'web:1', resources: { requests: { cpu: '1' } } }], hostname: 'h' }
  await createPod(server, { name: 'p', spec, annotations: { [`${SIM}/log`]: 'one\ntwo' } })
  await podIn(server, 'p', phase('Running'))
  const get = (path: string, node = NODE) => ask(server, `/api/v1/nodes/${node}/proxy${path}`)
  assert.deepEqual([(await get('/healthz')).text, (await get('/healthz/syncloop')).text], ['ok', 'ok'])
  for (const path of ['/pods', '/pods/']) {
    const { json } = await get(path)
    assert.equal(json.kind, 'PodList')
    assert.deepEqual(
      json.items.map((pod: any) => [pod.metadata.name, pod.spec.hostname, pod.status.phase]),
      [['p', 'h', 'Running']],
    )
  }
  assert.deepEqual((await get('/pods', 'simulated-2')).json.items, [])
  assert.deepEqual((await get('/runningpods/')).json.items[0].spec.containers, [{ name: 'c', image: 'web:1', resources: {} }])
  assert.equal((await get('/configz')).json.kubeletconfig.maxPods, 110)
  const { node, pods } = (await get('/stats/summary?only_cpu_and_memory=true')).json
  assert.deepEqual([node.nodeName, node.cpu.usageNanoCores, pods[0].podRef.name], [NODE, 350_000_000, 'p'])
  assert.deepEqual([pods[0].containers[0].cpu.usageNanoCores, pods[0].memory.workingSetBytes], [300_000_000, 32 * 1024 ** 2])
  const resource = (await get('/metrics/resource')).text
  assert.match(resource, /^container_memory_working_set_bytes\{container="c",namespace="default",pod="p"\} 33554432$/m)
  assert.match(resource, /^node_cpu_usage_seconds_total [\d.]+$/m)
  assert.match((await get('/metrics')).text, /^kubelet_running_pods 1$/m)
  assert.match((await get('/metrics/cadvisor')).text, /^machine_cpu_cores 4$/m)
  assert.equal((await get('/containerLogs/default/p/c?tailLines=1')).text, 'two\n')
  assert.equal((await get('/containerLogs/default/p/c', 'simulated-2')).status, 404)
  assert.equal((await nodeReady(server)).status.daemonEndpoints.kubeletEndpoint.Port, 10250)
  await ask(server, `/api/v1/nodes/${NODE}`, patch({ metadata: { annotations: { [`${SIM}/failure`]: 'true' } } }))
  assert.equal(await eventually('a node that has failed', async () => ((await get('/healthz')).status === 503 ? true : undefined)), true)
})

test('a Node that is created with the label is simulated; one of a real kubelet is left alone', async t => {
  const server = await freshServer(t, { nodes: 1 })
  await nodeReady(server)
  const given = { metadata: { name: 'big', labels: { 'keelson.dev/simulated': 'true', zone: 'a' } }, status: { capacity: { cpu: '128' } } }
  await ask(server, '/api/v1/nodes', { method: 'POST', body: given })
  const big = await nodeReady(server, 'big')
  assert.deepEqual([big.status.capacity.cpu, big.status.capacity.memory, big.metadata.labels.zone], ['128', '64Gi', 'a'])
  const nodeInfo = { containerRuntimeVersion: 'containerd://2.0' }
  const real = { metadata: { name: 'real', labels: { 'keelson.dev/simulated': 'true' } }, status: { nodeInfo } }
  const { json } = await ask(server, '/api/v1/nodes', { method: 'POST', body: real })
  await createPod(server, { name: 'theirs', spec: { nodeName: 'real' } })
  await createPod(server, { name: 'ours', spec: { nodeName: 'big' } })
  await podIn(server, 'ours', phase('Running'))
  assert.equal((await read(server, `${PODS}/theirs`)).status.phase, 'Pending')
  const { spec, status } = await read(server, '/api/v1/nodes/real')
  assert.deepEqual([spec.podCIDR, status], [undefined, json.status])
  assert.match((await ask(server, `${PODS}/theirs/log`)).json.message, /no preferred addresses found/)
})

test('a node that fails does nothing until it is back, and one that is deleted stays away', async t => {
  const server = await freshServer(t, { nodes: 2 })
  await nodeReady(server)
  await nodeReady(server, 'simulated-2')
  await ask(server, `/api/v1/nodes/${NODE}`, patch({ metadata: { annotations: { [`${SIM}/failure`]: 'true' } } }))
  await createPod(server, { name: 'p' })
  await createPod(server, { name: 'other', spec: { nodeName: 'simulated-2' } })
  await podIn(server, 'other', phase('Running'))
  assert.equal((await read(server, `${PODS}/p`)).status.startTime, undefined)
  await ask(server, `/api/v1/nodes/${NODE}`, patch({ metadata: { annotations: { [`${SIM}/failure`]: null } } }))
  await podIn(server, 'p', phase('Running'))
  await ask(
    server,
    `/api/v1/nodes/${NODE}`,
    patch({ metadata: { annotations: { [`${SIM}/conditions`]: 'Ready=False,DiskPressure=True' } } }),
  )
  await eventually('the conditions', async () => {
    const { status } = await read(server, `/api/v1/nodes/${NODE}`)
    const states = status.conditions.map(({ type, status }: any) => `${type}=${status}`)
    return states.includes('Ready=False') && states.includes('DiskPressure=True') ? true : undefined
  })
  await ask(server, '/api/v1/nodes/simulated-2', { method: 'DELETE' })
  await server.settled()
  assert.equal((await ask(server, '/api/v1/nodes/simulated-2')).status, 404)
})

test('services and ingresses get an address, each as its class says', async t => {
  const server = await startInProcess(t, { nodes: 1, serviceClusterIpRange: ['10.0.0.0/24', 'fd00::/112'] })
  const services = '/api/v1/namespaces/default/services'
  const create = (name: string, more: object) =>
    ask(server, services, { method: 'POST', body: { metadata: { name }, spec: { type: 'LoadBalancer', ports: [{ port: 80 }], ...more } } })
  await create('theirs', { loadBalancerClass: 'example.com/theirs' })
  await Promise.all([create('a', {}), create('b', {}), create('fixed', { loadBalancerIP: '192.0.2.7' })])
  await create('both', { ipFamilyPolicy: 'RequireDualStack' })
  const addressOf = (path: string) =>
    eventually(`an address of ${path}`, async () => {
      const { ingress } = (await read(server, path)).status.loadBalancer
      return ingress?.map((each: any) => each.ip)
    })
  const found = await Promise.all(['a', 'b', 'fixed', 'both'].map(name => addressOf(`${services}/${name}`)))
  assert.equal(new Set(found.flat()).size, 5)
  assert.deepEqual(found[2], ['192.0.2.7'])
  assert.match(found[0][0], /^198\.18\./)
  assert.match(found[3][1], /^fd00:198:18::/)
  assert.deepEqual((await read(server, `${services}/theirs`)).status.loadBalancer, {})

  const ingresses = '/apis/networking.k8s.io/v1/namespaces/default/ingresses'
  const defaultBackend = { service: { name: 'a', port: { number: 80 } } }
  for (const ingressClassName of ['simulated', 'nginx'])
    await ask(server, ingresses, {
      method: 'POST',
      body: { metadata: { name: ingressClassName }, spec: { ingressClassName, defaultBackend } },
    })
  assert.equal((await addressOf(`${ingresses}/simulated`)).length, 1)
  assert.deepEqual((await read(server, `${ingresses}/nginx`)).status.loadBalancer, {})
})

test('after kill -9 pods are where they were, and go on from there', patient, async t => {
  const flags = ['--nodes', '1']
  const first = await startProcess(t, { flags })
  await nodeReady(first)
  await createPod(first, { name: 'p' })
  await createPod(first, { name: 'crash', annotations: { [`${SIM}/crash-loop`]: 'true' } })
  await createPod(first, { name: 'job', annotations: { [`${SIM}/run-time`]: '2s' }, spec: { restartPolicy: 'Never' } })
  const before = await podIn(first, 'p', phase('Running'))
  const crashed = await podIn(first, 'crash', pod => pod.status.containerStatuses?.[0].state.waiting?.reason === 'CrashLoopBackOff')
  await podIn(first, 'job', phase('Running'))
  await first.stop('SIGKILL')
  const second = await serveHere(t, { flags, dataDir: first.dataDir })
  await podIn(second, 'job', phase('Succeeded'))
  assert.deepEqual((await read(second, `${PODS}/p`)).status, before.status)
  assert.equal(
    (await read(second, `${PODS}/crash`)).status.containerStatuses[0].restartCount,
    crashed.status.containerStatuses[0].restartCount,
  )
  await createPod(second, { name: 'q' })
  const after = await podIn(second, 'q', phase('Running'))
  assert.ok(![before, crashed].some(pod => pod.status.podIP === after.status.podIP))
})

test('a pod that a server has marked, but could not remove any more, is removed by its node', patient, async t => {
  const flags = ['--nodes', '1']
  const first = await startProcess(t, { flags })
  await nodeReady(first)
  await createPod(first, { name: 'p', annotations: { [`${SIM}/run-time`]: '100ms' }, spec: { restartPolicy: 'Never' } })
  await podIn(first, 'p', phase('Succeeded'))
  await first.stop('SIGKILL')
  const store = await openEmbeddedStore({ dir: join(first.dataDir, 'store') })
  const key = '/core/pods/default/p'
  const { entry } = await store.get(key)
  const pod = parseObject(entry!.value)
  pod.metadata.deletionTimestamp = '2026-01-01T00:00:00Z'
  pod.metadata.deletionGracePeriodSeconds = 0
  assert.ok((await store.swap(key, { expect: entry!.modified, value: encodeStored(pod) })).ok, 'the pod is marked')
  await store.close()
  const second = await serveHere(t, { flags, dataDir: first.dataDir })
  await isGone(second, `${PODS}/p`)
})

test('a resize that waits for room is made once another pod needs less, or leaves because it is less important', async t => {
  const featureGates = 'InPlacePodVerticalScalingSchedulerPreemption=true'
  const server = await startInProcess(t, { nodes: 1, nodeCapacity: { cpu: '10' }, featureGates })
  await nodeReady(server)
  const spec = (cpu: string) => ({ containers: [{ name: 'c', image: 'web:1', resources: { requests: { cpu }, limits: { cpu } } }] })
  const resize = async (name: string, cpu: string) => {
    const headers = { 'content-type': 'application/strategic-merge-patch+json' }
    const answer = await ask(server, `${PODS}/${name}/resize`, { method: 'PATCH', body: { spec: spec(cpu) }, headers })
    assert.equal(answer.status, 200, answer.text)
  }
  const inForce = (cpu: string) => (pod: any) => pod.status.containerStatuses?.[0].resources?.requests.cpu === cpu
  await createPod(server, { name: 'a', spec: spec('5') })
  await createPod(server, { name: 'b', spec: spec('3') })
  await podIn(server, 'a', inForce('5'))
  await podIn(server, 'b', inForce('3'))
  await resize('b', '6')
  await podIn(server, 'b', pod => pod.status.conditions.some((each: any) => each.type === 'PodResizePending' && each.reason === 'Deferred'))
  await resize('a', '2')
  const resized = await podIn(server, 'b', inForce('6'))
  assert.ok(!resized.status.conditions.some((each: any) => each.type === 'PodResizePending'))
  // Neither is more important than the other: a waits until b is gone.
  await resize('a', '5')
  await podIn(server, 'a', pod => pod.status.conditions.some((each: any) => each.type === 'PodResizePending' && each.reason === 'Deferred'))
  await ask(server, `${PODS}/b?gracePeriodSeconds=0`, { method: 'DELETE' })
  await podIn(server, 'a', inForce('5'))
  const important = { metadata: { name: 'important' }, value: 1000 }
  await ask(server, '/apis/scheduling.k8s.io/v1/priorityclasses', { method: 'POST', body: important })
  await createPod(server, { name: 'c', spec: { ...spec('3'), priorityClassName: 'important' } })
  await podIn(server, 'c', inForce('3'))
  await resize('c', '6')
  const preferred = await podIn(server, 'c', inForce('6'))
  assert.equal(preferred.status.conditions.find((each: any) => each.type === 'PodScheduled').status, 'True')
  assert.equal(preferred.status.nominatedNodeName, undefined)
  await isGone(server, `${PODS}/a`)
})
