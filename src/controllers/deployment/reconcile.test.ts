import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { Deployment } from '../../kinds/apps/deployment.ts'
import type { ReplicaSet } from '../../kinds/apps/replicaset.ts'
import { maxSurge, maxUnavailable } from './limits.ts'
import { type Plan, planDeployment } from './reconcile.ts'
import { annotatedFor, newSetFor, sizeAnnotations } from './replica-sets.ts'

const NOW = new Date('2026-07-01T12:00:00Z')
const LABELS = { app: 'web' }
const template = (image: string) => ({ metadata: { labels: LABELS }, spec: { containers: [{ name: 'c', image }] } })

type Shape = { image?: string; annotations?: Record<string, string>; status?: object; spec?: object; deletionTimestamp?: string }
const deployment = (replicas: number, { image = 'new', annotations, status = {}, spec = {}, ...metadata }: Shape = {}) =>
  withDefaults(Deployment, {
    metadata: { name: 'web', namespace: 'default', uid: 'd', generation: 1, ...(annotations && { annotations }), ...metadata },
    spec: { replicas, selector: { matchLabels: LABELS }, template: template(image), ...spec },
    status,
  } as never) as Deployment

type SetShape = { available?: number; pods?: number; revision?: number; sized?: Deployment; status?: object; annotations?: object }
/** The ReplicaSet of an image as it would have been made, with so many pods. */
function setOf(image: string, replicas: number, { available = replicas, pods = replicas, revision = 1, ...more }: SetShape = {}) {
  const owner = more.sized ?? deployment(replicas, { image })
  const set = newSetFor({ ...owner, spec: { ...owner.spec, template: deployment(0, { image }).spec.template } })
  const annotations = {
    'deployment.kubernetes.io/revision': String(revision),
    ...(more.sized && sizeAnnotations(owner)),
    ...more.annotations,
  }
  return {
    ...set,
    metadata: { ...set.metadata, uid: image, generation: 1, annotations, creationTimestamp: `2026-07-01T10:00:0${revision}Z` },
    spec: { ...set.spec, replicas },
    status: { replicas: pods, readyReplicas: available, availableReplicas: available, observedGeneration: 1, ...more.status },
  } as ReplicaSet
}
const plan = (d: Deployment, sets: ReplicaSet[], isRunning = () => false, now = NOW) => planDeployment(d, { sets, isRunning, now })
const scalings = ({ scaled }: Plan) => scaled.map(({ name, from, to }) => `${name.replace(/^web-/, '')} ${from}-${to}`)
const hash = (image: string) => setOf(image, 0).metadata.labels!['pod-template-hash']
const reasonOf = ({ status }: Plan, type = 'Progressing') => {
  const condition = status?.status.conditions?.find(each => each.type === type)
  return condition && `${condition.status} ${condition.reason}`
}

test('the first ReplicaSet has all pods, and a name made of the template', () => {
  const d = deployment(3, { annotations: { note: 'n', 'kubectl.kubernetes.io/last-applied-configuration': '{}' } })
  const { create, update, scaled, status } = plan(d, [])
  assert.equal(create!.metadata.name, `web-${hash('new')}`)
  assert.deepEqual(create!.metadata.annotations, {
    note: 'n',
    'deployment.kubernetes.io/revision': '1',
    'deployment.kubernetes.io/desired-replicas': '3',
    'deployment.kubernetes.io/max-replicas': '4',
  })
  assert.deepEqual(create!.spec.selector.matchLabels, { app: 'web', 'pod-template-hash': hash('new') })
  assert.deepEqual([create!.spec.replicas, update, scaled.length], [3, [], 1])
  assert.equal(status!.metadata.annotations!['deployment.kubernetes.io/revision'], '1')
  assert.equal(reasonOf({ status } as Plan), 'True NewReplicaSetCreated')
})

test('a hash takes in the number of collisions, and long names are cut', () => {
  const named = (status: object, name = 'web') => {
    const d = deployment(1, { status })
    return newSetFor({ ...d, metadata: { ...d.metadata, name } }).metadata.name!
  }
  assert.notEqual(named({}), named({ collisionCount: 1 }))
  assert.notEqual(named({ collisionCount: 2 }), named({ collisionCount: 1 }))
  assert.equal(named({}, 'w'.repeat(253)).length, 253)
})

test('a rolling update respects surge and availability', () => {
  const d = deployment(4)
  const first = plan(d, [setOf('old', 4)])
  assert.deepEqual([first.create!.spec.replicas, scalings(first)], [1, [`${hash('new')} 0-1`, `${hash('old')} 4-3`]])
  // Nothing goes on while the new pod is not available, nor while an old one has not gone.
  const waiting = plan(d, [setOf('old', 3), setOf('new', 2, { available: 0, revision: 2 })])
  assert.deepEqual(scalings(waiting), [])
  const notGone = plan(d, [setOf('old', 3, { pods: 4, available: 4 }), setOf('new', 1, { available: 0, revision: 2 })])
  assert.deepEqual(scalings(notGone), [])
  const gone = plan(d, [setOf('old', 3), setOf('new', 1, { available: 0, revision: 2 })])
  assert.deepEqual(scalings(gone), [`${hash('new')} 1-2`])
  const ready = plan(d, [setOf('old', 3), setOf('new', 2, { revision: 2 })])
  assert.deepEqual(scalings(ready), [`${hash('old')} 3-1`])
})

test('old pods that are not available go first, of the oldest ReplicaSet first', () => {
  const d = deployment(10, { spec: { strategy: { rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } } } })
  const sets = [setOf('older', 5, { available: 5, revision: 1 }), setOf('old', 8, { available: 3, revision: 2 })]
  const over = plan(d, [...sets, setOf('new', 0, { revision: 3 })])
  assert.deepEqual(scalings(over), [`${hash('old')} 8-3`])
})

test('Recreate ends all old pods before there is a new one', () => {
  const d = deployment(2, { spec: { strategy: { type: 'Recreate' } } })
  assert.deepEqual(scalings(plan(d, [setOf('old', 2)])), [`${hash('old')} 2-0`])
  assert.equal(plan(d, [setOf('old', 0, { pods: 1 })]).create, undefined)
  assert.equal(plan(d, [setOf('old', 0)], () => true).create, undefined)
  assert.equal(plan(d, [setOf('old', 0)]).create!.spec.replicas, 2)
})

test('scaling in the middle of a rollout is shared out', () => {
  const before = deployment(10, { spec: { strategy: { rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } } } })
  const sets = [setOf('old', 8, { sized: before }), setOf('new', 5, { sized: before, available: 0, revision: 2 })]
  const grown = plan(deployment(15, { spec: { strategy: before.spec.strategy } }), sets)
  assert.deepEqual(scalings(grown), [`${hash('old')} 8-11`, `${hash('new')} 5-7`])
  assert.ok(grown.update.every(({ metadata }) => metadata.annotations!['deployment.kubernetes.io/max-replicas'] === '18'))
  const none = plan(deployment(0, { spec: { strategy: before.spec.strategy } }), sets)
  assert.deepEqual(scalings(none), [`${hash('old')} 8-0`, `${hash('new')} 5-0`])
  assert.deepEqual(scalings(plan(deployment(3), [setOf('new', 2)])), [`${hash('new')} 2-3`])
})

test('parts are rounded so that the sum is right; what is over or missing is the largest one’s', () => {
  // Sizes from the oldest to the newest, the new ReplicaSet last; without one, its size is undefined.
  type Case = [from: number, to: number, sizes: (number | undefined)[], expected: (number | undefined)[], surges?: [number, number]]
  const cases: Case[] = [
    [5, 10, [3, 2], [6, 4]],
    [5, 3, [3, 2], [2, 1]],
    [9, 4, [1, 8], [0, 4]],
    [7, 10, [2, 3, 2], [3, 4, 3]],
    [13, 8, [3, 8, 2], [2, 5, 1]],
    [3, 4, [1, 1, 1], [1, 1, 2]],
    [3, 2, [1, 1, 1], [0, 1, 1]],
    [4, 5, [2, 2, undefined], [2, 3, undefined]],
    [6, 0, [1, 2, 3], [0, 0, 0]],
    [6, 6, [0, 0, 0], [0, 0, 6]],
    [10, 20, [6, 6], [11, 11], [2, 2]],
    [10, 50, [8, 5], [34, 22], [3, 6]],
    [10, 14, [3, 7, undefined], [4, 10, undefined]],
  ]
  for (const [from, to, sizes, expected, [before, after] = [0, 0]] of cases) {
    const strategy = (maxSurge: number) => ({ strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable: 1 } } })
    const sized = deployment(from, { spec: strategy(before) })
    const sets = sizes.flatMap((size, i) => {
      const image = i === sizes.length - 1 ? 'new' : `old${i}`
      return size === undefined ? [] : [setOf(image, size, { sized, revision: i + 1 })]
    })
    const { update } = plan(deployment(to, { spec: { paused: true, ...strategy(after) } }), sets)
    const changed = new Map(update.map(set => [set.metadata.uid, set.spec.replicas]))
    const actual = sets.map(({ metadata, spec }) => changed.get(metadata.uid) ?? spec.replicas)
    assert.deepEqual(
      actual,
      expected.filter(size => size !== undefined),
      `${from} to ${to}: ${sizes}`,
    )
  }
})

test('while it is paused, only the size follows', () => {
  const d = deployment(3, { spec: { paused: true } })
  const paused = plan(d, [setOf('old', 2)])
  assert.deepEqual([paused.create, scalings(paused), reasonOf(paused)], [undefined, [`${hash('old')} 2-3`], 'Unknown DeploymentPaused'])
  const resumed = plan(deployment(2, { status: { conditions: paused.status!.status.conditions } }), [
    setOf('new', 2, { pods: 0, available: 0 }),
  ])
  assert.equal(reasonOf(resumed), 'Unknown DeploymentResumed')
})

test('a rollback gives the earlier ReplicaSet the next revision, and records the one it had', () => {
  const back = plan(deployment(2), [setOf('new', 0, { revision: 1 }), setOf('old', 2, { revision: 2 })])
  const annotations = back.update.find(({ metadata }) => metadata.uid === 'new')!.metadata.annotations!
  assert.equal(annotations['deployment.kubernetes.io/revision'], '3')
  assert.equal(annotations['deployment.kubernetes.io/revision-history'], '1')
  assert.equal(back.status!.metadata.annotations!['deployment.kubernetes.io/revision'], '3')
})

test('a ReplicaSet that is adopted may have any revision of 64 bits', () => {
  const adopted = setOf('old', 1, { annotations: { 'deployment.kubernetes.io/revision': '3546343826724305832' } })
  const { status } = plan(deployment(1), [adopted])
  assert.equal(status!.metadata.annotations!['deployment.kubernetes.io/revision'], '3546343826724305833')
})

test('the revision history is limited, and a revision that is not a number is ignored', () => {
  const history = Array.from({ length: 600 }, (_, i) => i).join(',')
  const set = setOf('new', 1, { revision: 700, annotations: { 'deployment.kubernetes.io/revision-history': history } })
  const kept = annotatedFor(deployment(1), set, 701n)!['deployment.kubernetes.io/revision-history']!
  assert.ok(kept.length <= 2000 && kept.endsWith(',599,700'))
  const strange = setOf('new', 1, { annotations: { 'deployment.kubernetes.io/revision': 'x' } })
  assert.equal(annotatedFor(deployment(1, { annotations: { note: 'n' } }), strange, 2n), undefined)
})

test('a rollout that makes no progress misses its deadline, and one that is complete does not', () => {
  const d = (status: object) => deployment(2, { annotations: { 'deployment.kubernetes.io/revision': '1' }, status })
  const sets = [setOf('new', 2, { available: 0 })]
  const begun = plan(d({}), sets)
  assert.equal(reasonOf(begun), 'True ReplicaSetUpdated')
  const again = plan(d(begun.status!.status), sets)
  assert.deepEqual([again.status, again.after], [undefined, 600_001])
  const late = plan(d(begun.status!.status), sets, undefined, new Date(NOW.getTime() + 600_001))
  assert.equal(reasonOf(late), 'False ProgressDeadlineExceeded')
  const after = plan(d(late.status!.status), sets)
  assert.deepEqual([after.status, after.after], [undefined, undefined])
  const made = plan(d(late.status!.status), [setOf('new', 2)])
  assert.equal(reasonOf(made), 'True NewReplicaSetAvailable')
  assert.equal(reasonOf(made, 'Available'), 'True MinimumReplicasAvailable')
  assert.equal(plan(d(made.status!.status), [setOf('new', 2)]).after, undefined)
})

test('a rollout that is over has no deadline, also when pods are lost long after it', () => {
  const d = (status: object) => deployment(2, { annotations: { 'deployment.kubernetes.io/revision': '1' }, status })
  const made = plan(d({}), [setOf('new', 2)])
  assert.equal(reasonOf(made), 'True NewReplicaSetAvailable')
  const [sets, later] = [[setOf('new', 2, { available: 1 })], new Date(NOW.getTime() + 3_600_000)]
  const lost = plan(d(made.status!.status), sets, undefined, later)
  assert.equal(reasonOf(lost), 'True NewReplicaSetAvailable')
  const again = plan(d(lost.status!.status), sets, undefined, later)
  assert.deepEqual([again.status, again.after], [undefined, undefined])
})

test('failures of ReplicaSets are failures of the Deployment, until there are none', () => {
  const condition = {
    type: 'ReplicaFailure',
    status: 'True',
    reason: 'FailedCreate',
    message: 'm',
    lastTransitionTime: '2026-07-01T11:00:00Z',
  }
  const failed = plan(deployment(2), [setOf('new', 2, { pods: 0, available: 0, status: { conditions: [condition] } })])
  assert.equal(reasonOf(failed, 'ReplicaFailure'), 'True FailedCreate')
  const well = plan(deployment(2, { status: failed.status!.status }), [setOf('new', 2)])
  assert.equal(reasonOf(well, 'ReplicaFailure'), undefined)
})

test('of the old ReplicaSets the latest are kept once the rollout is complete', () => {
  const status = { observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1 }
  const d = deployment(1, { status, spec: { revisionHistoryLimit: 1 } })
  const old = ['a', 'b', 'c'].map((image, i) => setOf(image, 0, { revision: i + 1 }))
  const removed = ({ remove }: Plan) => remove.map(({ metadata }) => metadata.uid)
  assert.deepEqual(removed(plan(d, [...old, setOf('new', 1, { revision: 4 })])), ['a', 'b'])
  assert.deepEqual(removed(plan({ ...d, status: {} }, [...old, setOf('new', 1, { revision: 4 })])), [])
  const busy = setOf('a', 0, { pods: 1, available: 1, revision: 1 })
  assert.deepEqual(removed(plan(d, [busy, ...old.slice(1), setOf('new', 1, { revision: 4 })])), ['b'])
})

test('the annotation of older clients brings back a revision', () => {
  const asked = (revision: string) => deployment(1, { annotations: { 'deprecated.deployment.rollback.to': revision, note: 'new' } })
  const sets = [setOf('old', 0, { revision: 1, annotations: { note: 'old' } }), setOf('new', 1, { revision: 2 })]
  const back = plan(asked('1'), sets).rollback!
  assert.equal(back.deployment.spec.template.spec.containers![0]!.image, 'old')
  assert.deepEqual(back.deployment.spec.template.metadata.labels, LABELS)
  assert.deepEqual(back.deployment.metadata.annotations, { note: 'old' })
  assert.equal(back.notice.message, 'Rolled back deployment "web" to revision 1')
  assert.equal(plan(asked('0'), sets).rollback!.notice.reason, 'DeploymentRollback')
  assert.equal(plan(asked('7'), sets).rollback!.notice.reason, 'DeploymentRollbackRevisionNotFound')
  assert.equal(plan(asked('2'), sets).rollback!.notice.reason, 'DeploymentRollbackTemplateUnchanged')
  assert.equal(plan(asked('0'), sets.slice(1)).rollback!.notice.message, 'Unable to find last revision.')
  assert.deepEqual(plan(asked('7'), sets).rollback!.deployment.metadata.annotations, { note: 'new' })
})

test('a Deployment that is being deleted only counts', () => {
  const { create, update, status } = plan(deployment(5, { deletionTimestamp: '2026-07-01T12:00:00Z' }), [setOf('old', 2)])
  assert.deepEqual([create, update, status!.status.replicas], [undefined, [], 2])
})

test('however pods become available and go, limits hold at every step and the rollout ends', () => {
  const amount = fc.oneof(
    fc.integer({ min: 0, max: 4 }),
    fc.integer({ min: 0, max: 100 }).map(n => `${n}%`),
  )
  const limits = fc.record({ maxSurge: amount, maxUnavailable: amount })
  const usable = limits.filter(({ maxSurge: a, maxUnavailable: b }) => Number.parseInt(`${a}`, 10) + Number.parseInt(`${b}`, 10) > 0)
  fc.assert(
    fc.property(
      usable,
      fc.integer({ min: 1, max: 12 }),
      fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 40 }),
      (rollingUpdate, replicas, steps) => {
        let d = deployment(replicas, { spec: { strategy: { type: 'RollingUpdate', rollingUpdate } } })
        let sets = [setOf('old', replicas, { sized: d })]
        const pods = () => sets.reduce((sum, { status }) => sum + status.replicas, 0)
        const available = () => sets.reduce((sum, { status }) => sum + (status.availableReplicas ?? 0), 0)
        // The next step: the ReplicaSets follow their sizes, a pod becomes available, or the Deployment is looked at.
        const happens = (step: number) => {
          if (step === 0) sets = sets.map(({ status, ...set }) => follow({ ...set, status }))
          else if (step === 1) sets = sets.map(set => moreAvailable(set))
          else {
            const next = plan(d, sets)
            const changed = new Map(next.update.map(set => [set.metadata.name, set]))
            sets = [
              ...sets.map(set => changed.get(set.metadata.name) ?? set),
              ...(next.create ? [{ ...next.create, metadata: { ...next.create.metadata, uid: 'new' } }] : []),
            ]
            if (next.status) d = next.status
          }
          assert.ok(pods() <= replicas + maxSurge(d), 'surge')
          assert.ok(available() >= replicas - maxUnavailable(d), 'availability')
        }
        for (const step of steps) happens(step)
        for (let round = 0; round < 20 * replicas; round++) for (const step of [0, 1, 2]) happens(step)
        assert.equal(sets.find(({ metadata }) => metadata.uid === 'new')!.status.availableReplicas, replicas)
        assert.equal(pods(), replicas)
        assert.ok(d.status.conditions!.some(({ reason }) => reason === 'NewReplicaSetAvailable'))
      },
    ),
    { numRuns: 60 },
  )
})

/** Pods that are not available go first. */
const follow = (set: ReplicaSet): ReplicaSet => {
  const { replicas } = set.spec
  const available = Math.min(set.status.availableReplicas ?? 0, replicas)
  return { ...set, status: { ...set.status, replicas, readyReplicas: available, availableReplicas: available } }
}
const moreAvailable = (set: ReplicaSet): ReplicaSet => {
  const available = Math.min((set.status.availableReplicas ?? 0) + 1, set.status.replicas)
  return { ...set, status: { ...set.status, readyReplicas: available, availableReplicas: available } }
}
