import assert from 'node:assert/strict'
import test from 'node:test'
import { clusterOf, cycleOf, filterResults, nodeOf, podOf } from '../../../test/kits/scheduler.ts'
import { podInfoOf } from '../pod-info.ts'
import { nodePorts } from './node-ports.ts'

/** `TCP/127.0.0.1/8080`, as the ports of one container. */
const withPorts = (name: string, node: string | undefined, ...ports: string[]) =>
  podOf({
    name,
    ...(node && { node }),
    spec: {
      containers: [
        {
          name: 'main',
          ports: ports.map(text => {
            const [protocol, hostIP, hostPort] = text.split('/')
            return { protocol, hostIP, hostPort: Number(hostPort), containerPort: 1 }
          }),
        },
      ],
    },
  })

const NO = "node(s) didn't have free ports for the requested pod ports"

test('a port of a node is one pod’s only, by protocol and address', () => {
  const cases: [wanted: string[], taken: string[], expected: string][] = [
    [['UDP/127.0.0.1/8080'], ['UDP/127.0.0.1/9090'], 'ok'],
    [['UDP/127.0.0.1/8080'], ['UDP/127.0.0.1/8080'], NO],
    [['TCP/127.0.0.1/8080'], ['TCP/127.0.0.2/8080'], 'ok'],
    [['UDP/127.0.0.1/8080'], ['TCP/127.0.0.1/8080'], 'ok'],
    [['TCP/0.0.0.0/8001'], ['TCP/127.0.0.1/8001'], NO],
    [['TCP/127.0.0.1/8001'], ['TCP//8001'], NO],
    [['TCP/10.0.0.1/8001', 'UDP/127.0.0.1/8080'], ['TCP/10.0.0.1/8001'], NO],
    [['TCP//8001'], ['UDP//8001', 'TCP//18001'], 'ok'],
  ]
  for (const [wanted, taken, expected] of cases) {
    const cluster = clusterOf([nodeOf('n')], [withPorts('there', 'n', ...taken)])
    assert.deepEqual(filterResults(nodePorts, cycleOf(withPorts('new', undefined, ...wanted), cluster)), { n: expected }, wanted.join())
  }
  assert.equal(filterResults(nodePorts, cycleOf(podOf(), clusterOf([nodeOf('n')]))), 'nothing to say')
})

test('sidecars hold ports, other init containers do not', () => {
  const ports = [{ hostPort: 8080, containerPort: 80 }]
  const init = (more: object) =>
    podOf({ name: 'there', node: 'n', spec: { containers: [], initContainers: [{ name: 'i', ports, ...more }] } })
  const wanted = withPorts('new', undefined, 'TCP//8080')
  assert.deepEqual(filterResults(nodePorts, cycleOf(wanted, clusterOf([nodeOf('n')], [init({})]))), { n: 'ok' })
  assert.deepEqual(filterResults(nodePorts, cycleOf(wanted, clusterOf([nodeOf('n')], [init({ restartPolicy: 'Always' })]))), { n: NO })
})

test('the port is free again when its pod has gone', () => {
  const cluster = clusterOf([nodeOf('n')], [withPorts('a', 'n', 'TCP//80'), withPorts('b', 'n', 'TCP//81')])
  cluster.removePod('default/a')
  assert.deepEqual(filterResults(nodePorts, cycleOf(withPorts('new', undefined, 'TCP//80'), cluster)), { n: 'ok' })
  assert.deepEqual(filterResults(nodePorts, cycleOf(withPorts('new', undefined, 'TCP//81'), cluster)), { n: NO })
})

test('a pod waits for pods with the same port', () => {
  const retries = (gone: string) =>
    nodePorts.queueingHints!['pod deleted']!(
      withPorts('new', undefined, 'TCP//80'),
      { about: 'pod', name: 'pod deleted', before: podInfoOf(withPorts('there', 'n', gone)) },
      {} as never,
    )
  assert.equal(retries('TCP/127.0.0.1/80'), true)
  assert.equal(retries('UDP//80'), false)
})
