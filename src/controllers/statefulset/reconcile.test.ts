import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { StatefulSet } from '../../kinds/apps/statefulset.ts'
import type { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { LIMITS } from '../../lib/limits.ts'
import { claimsFor, hasStaleClaims, ownersOf } from './claims.ts'
import { newPod, ordinalOf, revisionOf, withIdentity } from './identity.ts'
import { nextStatus, planPods } from './reconcile.ts'

const NOW = new Date('2026-07-01T12:00:00Z')
const LABELS = { app: 'db' }
const TEMPLATE = {
  metadata: { labels: LABELS },
  spec: { containers: [{ name: 'c', image: 'i' }], volumes: [{ name: 'tmp', emptyDir: {} }] },
}
const DATA = { metadata: { name: 'data', labels: { of: 'template' } }, spec: { accessModes: ['ReadWriteOnce'] } }

const setOf = (replicas: number, spec: object = {}, status: object = {}) =>
  withDefaults(StatefulSet, {
    metadata: { name: 'db', namespace: 'default', uid: 's', generation: 1 },
    spec: { replicas, selector: { matchLabels: LABELS }, template: TEMPLATE, serviceName: 'svc', ...spec },
    status: { replicas: 0, availableReplicas: 0, ...status },
  } as never) as StatefulSet
const revision = (name: string, set: StatefulSet) => ({ name, template: set.spec.template })

type State = 'ready' | 'pending' | 'unready' | 'going' | 'failed'
const podOf = (set: StatefulSet, ordinal: number, state: State = 'ready', name = 'new'): Pod => {
  const made = newPod(set, { template: set.spec.template, revision: name }, ordinal)
  const phase = state === 'pending' ? 'Pending' : state === 'failed' ? 'Failed' : 'Running'
  const isReady = state === 'ready' || state === 'going'
  return {
    ...made,
    metadata: { ...made.metadata, uid: `p${ordinal}`, ...(state === 'going' && { deletionTimestamp: '2026-07-01T12:00:00Z' }) },
    status: { phase, conditions: isReady ? [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-07-01T11:00:00Z' }] : [] },
  } as Pod
}
const plan = (set: StatefulSet, pods: Pod[], claims: PersistentVolumeClaim[] = []) =>
  planPods(set, {
    pods,
    current: revision('old', set),
    update: revision('new', set),
    findClaim: name => claims.find(({ metadata }) => metadata.name === name),
    now: NOW,
  })
    .flat(2)
    .map(({ step, pod }) => `${step} ${ordinalOf(pod)}${step === 'create' ? ` ${revisionOf(pod)}` : ''}`)

// At 6256f0f1 a pod was made in memory for each of them, so that the server stood still and ran out of it.
test('a set that asks for billions of pods is planned in parts', () => {
  const most = 2_147_483_647
  assert.deepEqual(plan(setOf(most), [podOf(setOf(most), 0)]), ['create 1 new'])
  const set = setOf(most, {
    podManagementPolicy: 'Parallel',
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } },
  })
  const steps = plan(set, [podOf(set, 0), podOf(set, 2), podOf(set, 2_000_000_000, 'ready', 'old')])
  assert.deepEqual(steps.slice(0, 3), ['create 1 new', 'create 3 new', 'create 4 new'])
  assert.equal(steps.length, LIMITS.statefulPodsAtOnce)
  assert.deepEqual([...new Set(steps.map(step => step.split(' ')[0]))], ['create'], 'nothing is replaced while so many are missing')
})

test('in order, each pod waits for the one before', () => {
  const set = setOf(3)
  assert.deepEqual(plan(set, []), ['create 0 new'])
  assert.deepEqual(plan(set, [podOf(set, 0, 'pending')]), ['claim 0'])
  assert.deepEqual(plan(set, [podOf(set, 0, 'unready')]), [])
  assert.deepEqual(plan(set, [podOf(set, 0)]), ['create 1 new'])
  assert.deepEqual(plan(set, [podOf(set, 0), podOf(set, 2)]), ['create 1 new'])
  assert.deepEqual(plan(set, [podOf(set, 0), podOf(set, 1, 'going'), podOf(set, 2)]), [])
  assert.deepEqual(plan(set, [podOf(set, 0), podOf(set, 1, 'failed'), podOf(set, 2)]), ['delete 1'])
  assert.deepEqual(plan(setOf(2, { minReadySeconds: 7200 }), [podOf(set, 0)]), [])
})

test('in parallel, none waits', () => {
  const set = setOf(3, { podManagementPolicy: 'Parallel' })
  assert.deepEqual(plan(set, [podOf(set, 1, 'pending')]), ['create 0 new', 'claim 1', 'create 2 new'])
  assert.deepEqual(plan(setOf(0, { podManagementPolicy: 'Parallel' }), [podOf(set, 0), podOf(set, 1, 'unready')]), ['delete 1', 'delete 0'])
})

test('in order, pods go from the last on, one at a time, and none while another is missing', () => {
  const set = setOf(1)
  assert.deepEqual(plan(set, [podOf(set, 0), podOf(set, 1), podOf(set, 2)]), ['delete 2'])
  assert.deepEqual(plan(set, [podOf(set, 0), podOf(set, 1), podOf(set, 2, 'going')]), [])
  assert.deepEqual(plan(set, [podOf(set, 0), podOf(set, 1, 'unready'), podOf(set, 2)]), ['delete 2'])
  assert.deepEqual(plan(set, [podOf(set, 0), podOf(set, 1), podOf(set, 2, 'unready')]), ['delete 2'])
  assert.deepEqual(plan(set, [podOf(set, 0), podOf(set, 1, 'unready'), podOf(set, 2, 'unready')]), [])
  assert.deepEqual(plan(set, [podOf(set, 0, 'unready'), podOf(set, 1)]), [])
})

test('ordinals can begin anywhere', () => {
  const set = setOf(2, { ordinals: { start: 5 } })
  assert.deepEqual(plan(set, [podOf(set, 5), podOf(set, 6), podOf(set, 0)]), ['delete 0'])
  assert.deepEqual(plan(set, [podOf(set, 5)]), ['create 6 new'])
})

test('a rolling update goes from the last pod to the partition, with one unavailable at a time', () => {
  const old = (set: StatefulSet, ...states: State[]) => states.map((state, i) => podOf(set, i, state, 'old'))
  const set = setOf(3)
  assert.deepEqual(plan(set, old(set, 'ready', 'ready', 'ready')), ['delete 2'])
  assert.deepEqual(plan(set, [...old(set, 'ready', 'ready'), podOf(set, 2)]), ['delete 1'])
  assert.deepEqual(plan(set, [...old(set, 'ready', 'ready'), podOf(set, 2, 'unready')]), [])
  const parted = setOf(3, { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } })
  assert.deepEqual(plan(parted, [...old(parted, 'ready', 'ready'), podOf(parted, 2)]), [])
  // A pod below the partition comes back as it was.
  assert.deepEqual(plan(parted, [...old(parted, 'ready'), podOf(parted, 2)]), ['create 1 old'])
  const onDelete = setOf(2, { updateStrategy: { type: 'OnDelete' } })
  assert.deepEqual(plan(onDelete, old(onDelete, 'ready', 'ready')), [])
  assert.deepEqual(plan(onDelete, old(onDelete, 'ready')), ['create 1 new'])
})

test('with Recreate all pods of an old revision go, and new ones come when the last is gone', () => {
  const set = setOf(3, { updateStrategy: { type: 'Recreate' } })
  const old = (ordinal: number, state: State = 'ready') => podOf(set, ordinal, state, 'old')
  assert.deepEqual(plan(set, [old(0), old(1, 'going'), podOf(set, 2), old(3)]), ['delete 0', 'delete 3'])
  assert.deepEqual(plan(set, [old(1, 'going'), podOf(set, 2)]), [])
  assert.deepEqual(plan(set, [podOf(set, 2)]), ['create 0 new'])

  const names = { current: 'old', update: 'new', collisionCount: 0 }
  const progress = (pods: Pod[], before: StatefulSet = set) => nextStatus(before, pods, names, NOW)?.conditions
  const entry = { type: 'Progressing', lastTransitionTime: '2026-07-01T12:00:00Z' }
  const going = { ...entry, status: 'True', reason: 'RecreateInProgress', message: 'Deleting old revision pods' }
  assert.deepEqual(progress([old(1, 'going')]), [going])
  const earlier = { ...going, lastTransitionTime: '2026-07-01T11:00:00Z' }
  const waiting = progress([podOf(set, 0)], { ...set, status: { ...set.status, conditions: [earlier] } })
  assert.deepEqual(waiting, [{ ...earlier, message: 'Waiting for new-revision pods to be created' }])
  const done = progress([podOf(set, 0), podOf(set, 1), podOf(set, 2)], { ...set, status: { ...set.status, conditions: waiting! } })
  assert.deepEqual(done, [{ ...entry, status: 'False', reason: 'RecreateCompleted', message: 'All pods recreated successfully' }])
  assert.equal(nextStatus(set, [], { ...names, current: 'new' }, NOW)?.conditions, undefined, 'nothing is recreated')
})

test('several pods may be missing where that is allowed, and those that are missing anyway go first', () => {
  const rollingUpdate = { maxUnavailable: 2 }
  const ordered = setOf(4, { updateStrategy: { type: 'RollingUpdate', rollingUpdate } })
  const all = (set: StatefulSet, ...states: State[]) => states.map((state, i) => podOf(set, i, state, 'old'))
  assert.deepEqual(plan(ordered, all(ordered, 'ready', 'ready', 'ready', 'ready')), ['delete 3', 'delete 2'])
  const parallel = setOf(4, { podManagementPolicy: 'Parallel', updateStrategy: { type: 'RollingUpdate', rollingUpdate } })
  assert.deepEqual(plan(parallel, all(parallel, 'unready', 'ready', 'ready', 'ready')), ['delete 0', 'delete 3'])
  assert.deepEqual(plan(parallel, all(parallel, 'unready', 'unready', 'unready', 'ready')), ['delete 2', 'delete 1', 'delete 0'])
})

test('a pod has the name, labels, host name and volumes of its ordinal', () => {
  const set = setOf(1, { volumeClaimTemplates: [DATA] })
  const pod = podOf(set, 3)
  assert.deepEqual([pod.metadata.name, pod.metadata.generateName, pod.spec.hostname, pod.spec.subdomain], ['db-3', 'db-', 'db-3', 'svc'])
  assert.deepEqual(pod.metadata.labels, {
    app: 'db',
    'statefulset.kubernetes.io/pod-name': 'db-3',
    'apps.kubernetes.io/pod-index': '3',
    'controller-revision-hash': 'new',
  })
  assert.deepEqual(
    pod.spec.volumes!.map(({ name, persistentVolumeClaim }) => [name, persistentVolumeClaim?.claimName]),
    [
      ['data', 'data-db-3'],
      ['tmp', undefined],
    ],
  )
  assert.equal(withIdentity(set, pod), undefined)
  const { 'statefulset.kubernetes.io/pod-name': _, ...labels } = pod.metadata.labels!
  assert.deepEqual(withIdentity(set, { ...pod, metadata: { ...pod.metadata, labels } })!.metadata.labels, pod.metadata.labels)
  const [claim] = claimsFor(set, pod)
  assert.deepEqual([claim!.metadata!.name, claim!.metadata!.labels], ['data-db-3', { of: 'template', app: 'db' }])
})

test('the owner of a claim follows from its retention policy', () => {
  const owned = (whenDeleted: string, whenScaled: string, owners: string[], ordinal = 0) => {
    const set = setOf(1, { volumeClaimTemplates: [DATA], persistentVolumeClaimRetentionPolicy: { whenDeleted, whenScaled } })
    const reference: Record<string, object> = {
      set: { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 's', controller: true },
      pod: { apiVersion: 'v1', kind: 'Pod', name: `db-${ordinal}`, uid: `p${ordinal}`, controller: true },
      earlier: { apiVersion: 'v1', kind: 'Pod', name: `db-${ordinal}`, uid: 'before', controller: true },
      weak: { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 's' },
      other: { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' },
      boss: { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'y', controller: true },
    }
    const claim = {
      metadata: { name: `data-db-${ordinal}`, ownerReferences: owners.map(owner => reference[owner]) },
    } as PersistentVolumeClaim
    return ownersOf(claim, set, podOf(set, ordinal))?.map(({ uid }) => uid)
  }
  assert.equal(owned('Retain', 'Retain', ['other']), undefined)
  assert.deepEqual(owned('Retain', 'Retain', ['other', 'set']), ['x'])
  assert.deepEqual(owned('Delete', 'Retain', ['other']), ['x', 's'])
  assert.equal(owned('Delete', 'Retain', ['set']), undefined)
  assert.deepEqual(owned('Delete', 'Retain', ['weak']), ['s'])
  assert.deepEqual(owned('Delete', 'Delete', ['set'], 1), ['p1'])
  assert.deepEqual(owned('Retain', 'Delete', [], 1), ['p1'])
  assert.deepEqual(owned('Retain', 'Delete', ['pod'], 0), [])
  // Another controller's claim is left to it, and one that is about to go with its pod is left alone.
  assert.equal(owned('Delete', 'Delete', ['boss']), undefined)
  assert.deepEqual(owned('Delete', 'Delete', ['boss', 'set']), ['y'])
  assert.equal(owned('Delete', 'Delete', ['earlier']), undefined)
  const set = setOf(1, { volumeClaimTemplates: [DATA], persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete' } })
  const claim = { metadata: { name: 'data-db-0', ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'db-0', uid: 'before' }] } }
  assert.ok(hasStaleClaims(set, podOf(set, 0), () => claim as PersistentVolumeClaim))
  assert.deepEqual(plan(set, [], [claim as PersistentVolumeClaim]), [])
})

test('the status counts pods by revision, and an update is complete when all pods are of the new one and ready', () => {
  const set = setOf(2)
  const names = { current: 'old', update: 'new', collisionCount: 0 }
  const half = nextStatus(set, [podOf(set, 0, 'ready', 'old'), podOf(set, 1, 'unready')], names, NOW)!
  const common = { observedGeneration: 1, replicas: 2, updateRevision: 'new', collisionCount: 0 }
  const counts = { readyReplicas: 1, currentReplicas: 1, updatedReplicas: 1, availableReplicas: 1, currentRevision: 'old' }
  assert.deepEqual(half, { ...common, ...counts })
  const done = nextStatus(set, [podOf(set, 0), podOf(set, 1)], names, NOW)!
  assert.deepEqual([done.currentRevision, done.currentReplicas, done.updatedReplicas], ['new', 2, 2])
  assert.equal(nextStatus({ ...set, status: done }, [podOf(set, 0), podOf(set, 1)], { ...names, current: 'new' }, NOW), undefined)
})

test('property: with OrderedReady at most one pod is created at a time, and all exist in the end', () => {
  const events = fc.array(fc.record({ what: fc.constantFrom('ready', 'lose', 'plan'), which: fc.nat(9) }), { maxLength: 60 })
  fc.assert(
    fc.property(events, fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 5 }), (happenings, before, replicas) => {
      const set = setOf(replicas)
      let pods = Array.from({ length: before }, (_, i) => podOf(set, i))
      const act = () => {
        const steps = planPods(set, {
          pods,
          current: revision('new', set),
          update: revision('new', set),
          findClaim: () => undefined,
          now: NOW,
        }).flat(2)
        const [created, deleted] = ['create', 'delete'].map(step =>
          steps.filter(each => each.step === step).map(({ pod }) => ordinalOf(pod)),
        )
        assert.ok(created!.length + deleted!.length <= 1)
        for (const ordinal of created!) {
          const lower = pods.filter(pod => ordinalOf(pod) < ordinal)
          assert.ok(lower.length === ordinal && lower.every(pod => pod.status.conditions!.length > 0), 'those before are ready')
          pods.push(podOf(set, ordinal, 'pending'))
        }
        for (const ordinal of deleted!) {
          assert.ok(ordinal >= replicas && pods.every(pod => ordinalOf(pod) <= ordinal), 'the last goes first')
          pods = pods.filter(pod => ordinalOf(pod) !== ordinal)
        }
      }
      for (const { what, which } of happenings) {
        const pod = pods[which % (pods.length || 1)]
        if (what === 'plan') act()
        else if (what === 'lose') pods = pods.filter(each => each !== pod)
        else if (pod) pods = pods.map(each => (each === pod ? podOf(set, ordinalOf(pod)) : each))
      }
      for (let round = 0; round < 20; round++) {
        pods = pods.map(pod => podOf(set, ordinalOf(pod)))
        act()
      }
      assert.deepEqual(
        pods.map(ordinalOf).sort(),
        Array.from({ length: replicas }, (_, i) => i),
      )
    }),
    { numRuns: 200 },
  )
})
