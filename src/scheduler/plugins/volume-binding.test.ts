// Claims that get their volume when their pod gets its node: what they are given there, held meanwhile, and written before the binding.
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { clusterOf, cycleOf, filterResults, nodeOf, podOf, scoreResults, type World } from '../../../test/kits/scheduler.ts'
import { volumeBinding, volumeBindingWith } from './volume-binding.ts'

const using = (...claims: string[]) =>
  podOf({ spec: { volumes: claims.map(claimName => ({ name: claimName, persistentVolumeClaim: { claimName } })) } })
const claim = (name: string, storage = '5Gi', more: { annotations?: object; spec?: object } = {}) => ({
  metadata: {
    name,
    namespace: 'default',
    uid: `${name}-uid`,
    resourceVersion: '1',
    ...(more.annotations && { annotations: more.annotations }),
  },
  spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'later', resources: { requests: { storage } }, ...more.spec },
  status: { phase: 'Pending' },
})
const on = (...names: string[]) => ({
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: names }] }] },
})
const volume = (name: string, storage: string, more: object = {}) => ({
  metadata: { name, resourceVersion: '1' },
  spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'later', capacity: { storage }, ...more },
  status: { phase: 'Available' },
})
const later = (more: object = {}) => ({
  later: { metadata: { name: 'later' }, volumeBindingMode: 'WaitForFirstConsumer', provisioner: 'example.com/p', ...more },
})
const NOBODY = later({ provisioner: 'kubernetes.io/no-provisioner' })
const NO_VOLUME = "unresolvable: node(s) didn't find available persistent volumes to bind"
const NO_SPACE = 'unresolvable: node(s) did not have enough free storage'
const cluster = () => clusterOf([nodeOf('a', { labels: { zone: 'z1' } }), nodeOf('b')])

const cases: readonly [what: string, world: World, pod: string[], expected: unknown][] = [
  [
    'a volume of one node',
    { volumes: { v: volume('v', '5Gi', { nodeAffinity: on('a') }) }, classes: NOBODY },
    ['c'],
    { a: 'ok', b: NO_VOLUME },
  ],
  ['too small', { volumes: { v: volume('v', '4Gi') }, classes: NOBODY }, ['c'], { a: NO_VOLUME, b: NO_VOLUME }],
  [
    'one for two claims',
    {
      volumes: { v: volume('v', '9Gi', { nodeAffinity: on('a') }), w: volume('w', '5Gi', { nodeAffinity: on('a', 'b') }) },
      classes: NOBODY,
    },
    ['c', 'd'],
    { a: 'ok', b: NO_VOLUME },
  ],
  [
    'reserved for the claim, elsewhere',
    {
      volumes: { v: volume('v', '5Gi', { nodeAffinity: on('b'), claimRef: { namespace: 'default', name: 'c' } }), w: volume('w', '5Gi') },
      classes: NOBODY,
    },
    ['c'],
    { a: NO_VOLUME, b: 'ok' },
  ],
  [
    'in the wrong access mode',
    { volumes: { v: volume('v', '5Gi', { accessModes: ['ReadOnlyMany'] }) }, classes: NOBODY },
    ['c'],
    { a: NO_VOLUME, b: NO_VOLUME },
  ],
  [
    'made where the class allows',
    { classes: later({ allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: ['z1'] }] }] }) },
    ['c'],
    { a: 'ok', b: NO_VOLUME },
  ],
  [
    'made where there is room',
    {
      classes: later(),
      csiDrivers: { 'example.com/p': { spec: { storageCapacity: true } } },
      capacities: [
        { storageClassName: 'later', capacity: '5Gi', nodeTopology: { matchLabels: { zone: 'z1' } } },
        { storageClassName: 'later', capacity: '1Ti' },
        { storageClassName: 'other', capacity: '1Ti', nodeTopology: {} },
        { storageClassName: 'later', capacity: '1Ti', maximumVolumeSize: '1Gi', nodeTopology: {} },
      ],
    },
    ['c'],
    { a: 'ok', b: NO_SPACE },
  ],
]

for (const [what, world, pod, expected] of cases)
  test(`a claim that waits for its node: ${what}`, () => {
    const claims = { c: claim('c'), d: claim('d', '6Gi') }
    assert.deepEqual(filterResults(volumeBinding, cycleOf(using(...pod), cluster(), { claims, ...world })), expected)
  })

test('a volume that is being made for one node keeps the pod to it', () => {
  const claims = { c: claim('c', '5Gi', { annotations: { 'volume.kubernetes.io/selected-node': 'b' } }) }
  assert.deepEqual(filterResults(volumeBinding, cycleOf(using('c'), cluster(), { claims, classes: later() })), { a: NO_VOLUME, b: 'ok' })
})

test('nodes whose volumes fit less tightly are better', () => {
  const volumes = { v: volume('v', '10Gi', { nodeAffinity: on('a') }), w: volume('w', '20Gi', { nodeAffinity: on('b') }) }
  const cycle = cycleOf(using('c'), cluster(), { claims: { c: claim('c') }, volumes, classes: NOBODY })
  filterResults(volumeBinding, cycle)
  assert.deepEqual(scoreResults(volumeBinding, cycle), { a: 50, b: 75 })
  const shape = [
    { utilization: 0, score: 0 },
    { utilization: 50, score: 10 },
  ]
  assert.deepEqual(scoreResults(volumeBindingWith({ bindTimeoutMs: 1000, shape }), cycle), { a: 100, b: 50 })
  assert.equal(scoreResults(volumeBindingWith({ bindTimeoutMs: 1000, shape: undefined }), cycle), undefined)
})

test('a volume that was assumed for a pod is not available to others until it is released', async () => {
  const world = { claims: { c: claim('c'), d: claim('d') }, volumes: { v: volume('v', '5Gi'), w: volume('w', '9Gi') }, classes: NOBODY }
  const first = cycleOf(using('c'), cluster(), world)
  filterResults(volumeBinding, first)
  const held = volumeBinding.reserve!(first, 'a')!
  const second = { ...cycleOf(using('d'), cluster(), world), lookups: first.lookups }
  filterResults(volumeBinding, second)
  const other = volumeBinding.reserve!(second, 'a')!
  assert.equal(first.lookups.volume('v')!.spec.claimRef?.uid, 'c-uid')
  assert.equal(first.lookups.volume('w')!.spec.claimRef?.uid, 'd-uid')
  const third = { ...cycleOf(using('c'), cluster(), world), lookups: first.lookups }
  assert.deepEqual(filterResults(volumeBinding, third), { a: 'ok', b: 'ok' }, 'its own is its own')
  await held.release()
  await other.release()
  assert.equal(first.lookups.volume('v')!.spec.claimRef, undefined)
})

test('before a pod is bound its volumes are written, and it waits until they are bound', async () => {
  const world = { claims: { c: claim('c'), d: claim('d', '50Gi') }, volumes: { v: volume('v', '5Gi') }, classes: later() }
  const cycle = cycleOf(using('c', 'd'), cluster(), world)
  filterResults(volumeBinding, cycle)
  const held = volumeBinding.reserve!(cycle, 'b')!
  assert.equal(typeof (await held.prepare()), 'number')
  const { claims, volumes } = world as any
  assert.deepEqual(volumes.v.spec.claimRef.uid, 'c-uid')
  assert.deepEqual(volumes.v.metadata.annotations, { 'pv.kubernetes.io/bound-by-controller': 'yes' })
  assert.equal(claims.d.metadata.annotations['volume.kubernetes.io/selected-node'], 'b')
  assert.equal(claims.c.metadata.annotations, undefined)
  const done = { 'pv.kubernetes.io/bind-completed': 'yes' }
  claims.c = claim('c', '5Gi', { annotations: done, spec: { volumeName: 'v' } })
  assert.equal(typeof (await held.prepare()), 'number')
  volumes.made = volume('made', '50Gi')
  claims.d = claim('d', '50Gi', { annotations: { ...claims.d.metadata.annotations, ...done }, spec: { volumeName: 'made' } })
  assert.equal(await held.prepare(), undefined)
})

test('a volume that cannot be provisioned, or not for the node, is reported', async () => {
  const fails = async (change: (world: any) => void) => {
    const world = { claims: { c: claim('c') }, volumes: {}, classes: later() }
    const cycle = cycleOf(using('c'), cluster(), world)
    filterResults(volumeBinding, cycle)
    const held = volumeBinding.reserve!(cycle, 'b')!
    await held.prepare()
    change(world)
    return held.prepare().catch(error => (error as Error).message)
  }
  assert.equal(
    await fails(({ claims }) => (claims.c.metadata.annotations = { x: 'y' })),
    'binding volumes: provisioning failed for PVC "c"',
  )
  assert.equal(
    await fails(world => {
      world.volumes.far = volume('far', '5Gi', { nodeAffinity: on('a') })
      world.claims.c.spec.volumeName = 'far'
    }),
    'binding volumes: pv "far" node affinity doesn\'t match node "b": no matching NodeSelectorTerms',
  )
})

test('whatever claims and volumes there are, no volume is given to two claims, and each is large enough and within reach', () => {
  const size = fc.integer({ min: 1, max: 5 })
  const arbitraryVolume = fc.record({ size, nodes: fc.subarray(['a', 'b'], { minLength: 1 }) })
  fc.assert(
    fc.property(fc.array(size, { minLength: 1, maxLength: 4 }), fc.array(arbitraryVolume, { maxLength: 8 }), (requests, drafts) => {
      const claims = Object.fromEntries(requests.map((n, i) => [`c${i}`, claim(`c${i}`, `${n}Gi`)]))
      const volumes = Object.fromEntries(
        drafts.map(({ size, nodes }, i) => [`v${i}`, volume(`v${i}`, `${size}Gi`, { nodeAffinity: on(...nodes) })]),
      )
      const cycle = cycleOf(using(...Object.keys(claims)), cluster(), { claims, volumes, classes: NOBODY })
      const results = filterResults(volumeBinding, cycle) as Record<string, string>
      for (const node of ['a', 'b']) {
        if (results[node] !== 'ok') continue
        const held = volumeBinding.reserve!(cycle, node)!
        const taken = Object.keys(volumes).flatMap(name => cycle.lookups.volume(name)!.spec.claimRef?.name ?? [])
        assert.deepEqual([...taken].sort(), Object.keys(claims).sort())
        for (const [i, draft] of drafts.entries()) {
          const given = cycle.lookups.volume(`v${i}`)!.spec.claimRef?.name
          if (given === undefined) continue
          assert.ok(draft.nodes.includes(node))
          assert.ok(draft.size >= requests[Number(given.slice(1))]!)
        }
        void held.release()
      }
    }),
  )
})
