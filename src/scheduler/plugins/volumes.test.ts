// The plugins about volumes: which claims a pod can have, and on which nodes.
import assert from 'node:assert/strict'
import test from 'node:test'
import { clusterOf, cycleOf, filterResults, nodeOf, podOf, type World } from '../../../test/kits/scheduler.ts'
import { nodeVolumeLimits } from './node-volume-limits.ts'
import { volumeBinding } from './volume-binding.ts'
import { volumeRestrictions } from './volume-restrictions.ts'
import { volumeZone } from './volume-zone.ts'

const using = (...claims: string[]) =>
  podOf({ spec: { volumes: claims.map(claimName => ({ name: claimName, persistentVolumeClaim: { claimName } })) } })
const claim = (spec: object = {}, more: object = {}) => ({
  metadata: { name: 'c', namespace: 'default', annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
  spec: { volumeName: 'v', ...spec },
  status: { phase: 'Bound' },
  ...more,
})
const unbound = (storageClassName?: string) =>
  claim({ volumeName: undefined, storageClassName }, { metadata: { name: 'c' }, status: { phase: 'Pending' } })
const LATER = { metadata: { name: 'later' }, volumeBindingMode: 'WaitForFirstConsumer', provisioner: 'p' }
const NOW = { metadata: { name: 'now' }, volumeBindingMode: 'Immediate', provisioner: 'p' }

test('claims must be there, bound, and of use on the node', () => {
  const cluster = clusterOf([nodeOf('here', { labels: { disk: 'a' } }), nodeOf('there')])
  const local = {
    spec: { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'In', values: ['a'] }] }] } } },
  }
  const all = (reason: string) => ({ here: reason, there: reason })
  const cases: [what: string, world: World, expected: unknown][] = [
    ['no claim', {}, 'persistentvolumeclaim "c" not found'],
    ['bound', { claims: { c: claim() }, volumes: { v: { spec: {} } } }, all('ok')],
    [
      'bound to a volume of one node',
      { claims: { c: claim() }, volumes: { v: local } },
      { here: 'ok', there: "unresolvable: node(s) didn't match PersistentVolume's node affinity" },
    ],
    [
      'bound to a volume that is gone',
      { claims: { c: claim() } },
      all('unresolvable: node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)'),
    ],
    [
      'lost',
      { claims: { c: claim({}, { status: { phase: 'Lost' } }) } },
      'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
    ],
    [
      'being deleted',
      { claims: { c: claim({}, { metadata: { name: 'c', deletionTimestamp: 'x' } }) } },
      'persistentvolumeclaim "c" is being deleted',
    ],
    ['unbound without a class', { claims: { c: unbound() } }, 'pod has unbound immediate PersistentVolumeClaims'],
    [
      'unbound of a class that binds at once',
      { claims: { c: unbound('now') }, classes: { now: NOW } },
      'pod has unbound immediate PersistentVolumeClaims',
    ],
    ['not fully bound', { claims: { c: claim({}, { metadata: { name: 'c' } }) } }, 'pod has unbound immediate PersistentVolumeClaims'],
    ['made where the pod goes', { claims: { c: unbound('later') }, classes: { later: LATER } }, all('ok')],
  ]
  for (const [what, world, expected] of cases)
    assert.deepEqual(filterResults(volumeBinding, cycleOf(using('c'), cluster, world)), expected, what)
  assert.equal(filterResults(volumeBinding, cycleOf(podOf(), cluster)), 'nothing to say')
})

test('the claim of an ephemeral volume is made for its pod', () => {
  const cluster = clusterOf([nodeOf('n')])
  const pod = podOf({ spec: { volumes: [{ name: 'scratch', ephemeral: {} }] } })
  const result = (world: World) => filterResults(volumeBinding, cycleOf(pod, cluster, world))
  assert.equal(result({}), 'waiting for ephemeral volume controller to create the persistentvolumeclaim "pod-scratch"')
  assert.equal(
    result({ claims: { 'pod-scratch': claim() } }),
    'PVC default/pod-scratch was not created for pod default/pod (pod is not owner)',
  )
  const owned = {
    name: 'pod-scratch',
    annotations: { 'pv.kubernetes.io/bind-completed': 'yes' },
    ownerReferences: [{ uid: 'default/pod', controller: true }],
  }
  assert.deepEqual(result({ claims: { 'pod-scratch': claim({}, { metadata: owned }) }, volumes: { v: { spec: {} } } }), { n: 'ok' })
})

test('a claim for one pod is one pod’s', () => {
  const world = { claims: { c: claim({ accessModes: ['ReadWriteOncePod'] }) } }
  const conflict = 'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod'
  const user = podOf({ name: 'user', node: 'a', spec: using('c').spec })
  user.spec.nodeName = 'a'
  const nodes = [nodeOf('a'), nodeOf('b')]
  assert.equal(filterResults(volumeRestrictions, cycleOf(using('c'), clusterOf(nodes), world)), 'nothing to say')
  assert.deepEqual(filterResults(volumeRestrictions, cycleOf(using('c'), clusterOf(nodes, [user]), world)), { a: conflict, b: conflict })
  assert.equal(filterResults(volumeRestrictions, cycleOf(using('none'), clusterOf(nodes), world)), 'persistentvolumeclaim "none" not found')
})

test('disks that cannot be attached twice keep pods from the node', () => {
  const withVolume = (volume: object, node?: string) =>
    podOf({ name: node ? 'there' : 'new', ...(node && { node }), spec: { volumes: [{ name: 'v', ...volume }] } })
  const result = (wanted: object, there: object) =>
    Object.values(filterResults(volumeRestrictions, cycleOf(withVolume(wanted), clusterOf([nodeOf('n')], [withVolume(there, 'n')]))))[0]
  const taken = 'node(s) had no available disk'
  const gce = (pdName: string, readOnly = false) => ({ gcePersistentDisk: { pdName, readOnly } })
  assert.equal(result(gce('a'), gce('a')), taken)
  assert.equal(result(gce('a', true), gce('a', true)), 'ok')
  assert.equal(result(gce('a'), gce('b')), 'ok')
  assert.equal(result({ awsElasticBlockStore: { volumeID: 'a' } }, { awsElasticBlockStore: { volumeID: 'a' } }), taken)
  const iscsi = (iqn: string) => ({ iscsi: { iqn, targetPortal: 'x', lun: 0 } })
  assert.equal(result(iscsi('a'), iscsi('a')), taken)
  const rbd = (monitors: string[], image: string) => ({ rbd: { monitors, image, pool: 'p' } })
  assert.equal(result(rbd(['a', 'b'], 'i'), rbd(['b', 'c'], 'i')), taken)
  assert.equal(result(rbd(['a'], 'i'), rbd(['c'], 'i')), 'ok')
})

test('volumes of a zone are used there', () => {
  const zone = (value: string) => ({ 'topology.kubernetes.io/zone': value })
  const cluster = clusterOf([nodeOf('a', { labels: zone('z1') }), nodeOf('b', { labels: zone('z2') }), nodeOf('nowhere')])
  const result = (labels: object, spec: object = {}) =>
    filterResults(
      volumeZone,
      cycleOf(using('c'), cluster, { claims: { c: claim(spec) }, volumes: { v: { metadata: { labels }, spec: {} } } }),
    )
  const other = 'unresolvable: node(s) had no available volume zone'
  assert.deepEqual(result(zone('z1')), { a: 'ok', b: other, nowhere: 'ok' })
  assert.deepEqual(result(zone('z1__z2')), { a: 'ok', b: 'ok', nowhere: 'ok' })
  assert.deepEqual(result({ 'failure-domain.beta.kubernetes.io/zone': 'z2' }), { a: other, b: 'ok', nowhere: 'ok' })
  assert.equal(result({}), 'nothing to say')
  const unboundResult = (world: World) => filterResults(volumeZone, cycleOf(using('c'), cluster, world))
  assert.equal(unboundResult({ claims: { c: unbound() } }), 'PersistentVolumeClaim had no pv name and storageClass name')
  assert.equal(unboundResult({ claims: { c: unbound('now') }, classes: { now: NOW } }), 'PersistentVolume had no name')
  assert.equal(unboundResult({ claims: { c: unbound('later') }, classes: { later: LATER } }), 'nothing to say')
  assert.equal(unboundResult({ claims: { c: claim() } }), 'persistentvolume "v" not found')
})

test('a node has only so many volumes of a driver', () => {
  const volume = (volumeHandle: string) => ({ spec: { csi: { driver: 'd', volumeHandle } } })
  const world = (count: number, more: World = {}): World => ({
    claims: { c: claim(), c2: claim({ volumeName: 'v2' }) },
    volumes: { v: volume('1'), v2: volume('2') },
    csiNodes: { n: { spec: { drivers: [{ name: 'd', allocatable: { count } }] } } },
    ...more,
  })
  const there = podOf({ name: 'there', node: 'n', spec: { ...using('c2').spec, nodeName: 'n' } })
  const result = (count: number, pods = [there], more: World = {}) =>
    Object.values(filterResults(nodeVolumeLimits, cycleOf(using('c'), clusterOf([nodeOf('n')], pods), world(count, more))))[0]
  assert.equal(result(2), 'ok')
  assert.equal(result(1), 'node(s) exceed max volume count')
  const attachment = { spec: { nodeName: 'n', attacher: 'd', source: { persistentVolumeName: 'v2' } } }
  assert.equal(result(1, [], { attachments: [attachment] }), 'node(s) exceed max volume count')
  assert.equal(result(2, [there], { attachments: [attachment] }), 'ok')
  const strict = { csiDrivers: { d: { spec: { preventPodSchedulingIfMissing: true } } }, csiNodes: {} }
  assert.equal(result(1, [], strict), 'd CSI driver is not installed on the node')
})
