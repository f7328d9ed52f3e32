import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bestVolume, type Claim, mismatchOf, type Volume, volumeBoundTo } from '../../kinds/rules/persistent-volume/binding.ts'
import { removalOf, settledClaim, settledVolume } from './in-tree.ts'
import {
  type ClaimStep,
  type ClaimSurroundings,
  claimBoundTo,
  claimStatus,
  claimToBeMadeBy,
  nextClaimStep,
  nextVolumeStep,
  reclaimOf,
  unboundVolume,
} from './reconcile.ts'
import { nextRecycleStep } from './recycle.ts'

type Draft = { metadata?: object; spec?: object; status?: object; annotations?: Record<string, string> }

const claim = ({ metadata, spec, status, annotations }: Draft = {}): Claim =>
  ({
    metadata: { name: 'c', namespace: 'n', uid: 'cu', ...(annotations && { annotations }), ...metadata },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '5Gi' } }, storageClassName: 'fast', ...spec },
    status: { phase: 'Pending', ...status },
  }) as never
const volume = (name: string, { metadata, spec, status, annotations }: Draft = {}): Volume =>
  ({
    metadata: { name, uid: `${name}u`, ...(annotations && { annotations }), ...metadata },
    spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '5Gi' }, storageClassName: 'fast', ...spec },
    status: { phase: 'Available', ...status },
  }) as never
const forUs = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'n', name: 'c', uid: 'cu' }
const DONE = { 'pv.kubernetes.io/bind-completed': 'yes' }
const OURS = { 'pv.kubernetes.io/bound-by-controller': 'yes' }

type World = Partial<{ volumes: Volume[]; classes: Record<string, object>; defaultClass: string; pods: string[] }>
const around = ({ volumes = [], classes = {}, defaultClass, pods = [] }: World): ClaimSurroundings => ({
  volumes: () => volumes,
  volume: name => volumes.find(({ metadata }) => metadata.name === name),
  storageClass: name => classes[name] as never,
  defaultClass: () => defaultClass,
  waitingPods: () => pods,
})
const said = (step: ClaimStep): string =>
  [
    step.step,
    ...('volume' in step ? [step.volume] : []),
    ...('name' in step ? [step.name] : []),
    ...('notice' in step && step.notice ? [step.notice.type, step.notice.reason, step.notice.message] : []),
  ].join(' ')

const NOW = { fast: { provisioner: 'example.com/p', volumeBindingMode: 'Immediate' } }
const LATER = { fast: { provisioner: 'example.com/p', volumeBindingMode: 'WaitForFirstConsumer' } }

test('the smallest suitable volume is taken, unless one was meant for the claim', () => {
  const next = (volumes: Volume[], draft: Draft = {}) => said(nextClaimStep(claim(draft), around({ volumes })))
  const sized = (name: string, storage: string, more: object = {}) => volume(name, { spec: { capacity: { storage }, ...more } })
  assert.equal(next([sized('big', '10Gi'), sized('right', '5Gi'), sized('small', '4Gi')]), 'bind right')
  assert.equal(next([sized('b', '5Gi'), sized('a', '5120Mi')]), 'bind a')
  assert.equal(next([sized('many', '5Gi', { accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] }), sized('big', '20Gi')]), 'bind big')
  assert.equal(next([sized('right', '5Gi'), sized('meant', '50Gi', { claimRef: { namespace: 'n', name: 'c' } })]), 'bind meant')
  assert.equal(next([sized('theirs', '5Gi', { claimRef: { namespace: 'n', name: 'c', uid: 'other' } }), sized('big', '9Gi')]), 'bind big')
})

test('a volume must be free, of the class, the modes, the attributes and the labels that are asked for', () => {
  const suits = (v: Draft, c: Draft = {}) => bestVolume(claim(c), [volume('v', v)]) !== undefined
  assert.equal(suits({}), true)
  assert.equal(suits({ status: { phase: 'Released' } }), false)
  assert.equal(suits({ spec: { storageClassName: 'slow' } }), false)
  assert.equal(suits({ spec: { accessModes: ['ReadOnlyMany'] } }), false)
  assert.equal(suits({ spec: { volumeMode: 'Block' } }), false)
  assert.equal(suits({ spec: { volumeAttributesClassName: 'gold' } }), false)
  assert.equal(suits({ spec: { volumeAttributesClassName: 'gold' } }, { spec: { volumeAttributesClassName: 'gold' } }), true)
  assert.equal(suits({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }), false)
  const selector = { matchLabels: { disk: 'a' } }
  assert.equal(suits({ metadata: { labels: { disk: 'a' } } }, { spec: { selector } }), true)
  assert.equal(suits({ metadata: { labels: { disk: 'b' } } }, { spec: { selector } }), false)
})

test('a claim without a volume says what it waits for', () => {
  const next = (world: World, draft: Draft = {}) => said(nextClaimStep(claim(draft), around(world)))
  assert.equal(
    next({}, { spec: { storageClassName: undefined } }),
    'pending Normal FailedBinding no persistent volumes available for this claim and no storage class is set',
  )
  assert.equal(next({ defaultClass: 'std' }, { spec: { storageClassName: undefined } }), 'class std')
  assert.match(next({ defaultClass: 'std' }, { spec: { storageClassName: '' } }), /^pending Normal FailedBinding/)
  assert.equal(next({}), 'report Warning ProvisioningFailed storageclass.storage.k8s.io "fast" not found')
  assert.match(
    next({ classes: NOW }),
    /^provision Normal ExternalProvisioning Waiting .* external provisioner 'example.com\/p' or manually/,
  )
  assert.equal(next({ classes: LATER }), 'pending Normal WaitForFirstConsumer waiting for first consumer to be created before binding')
  assert.equal(next({ classes: LATER, pods: ['a'] }), 'pending Normal WaitForPodScheduled waiting for pod a to be scheduled')
  assert.equal(next({ classes: LATER, pods: ['a', 'b'] }), 'pending Normal WaitForPodScheduled waiting for pods a,b to be scheduled')
  assert.match(next({ classes: LATER }, { annotations: { 'volume.kubernetes.io/selected-node': 'n1' } }), /^provision /)
  assert.match(next({ classes: LATER, volumes: [volume('v')] }), /^pending /, 'the scheduler chooses')
  const meant = volume('v', { spec: { claimRef: { namespace: 'n', name: 'c' } } })
  assert.equal(next({ classes: LATER, volumes: [meant] }), 'bind v', 'somebody has chosen')
  const inTree = (provisioner: string) => said(nextClaimStep(claim(), around({ classes: { fast: { ...NOW.fast, provisioner } } })))
  assert.equal(
    inTree('kubernetes.io/no-provisioner'),
    'report Warning ProvisioningFailed no volume plugin matched name: kubernetes.io/no-provisioner',
  )
  assert.match(inTree('kubernetes.io/aws-ebs'), /external provisioner 'ebs.csi.aws.com'/)
})

test('a claim that names its volume gets it, or waits and says why', () => {
  const named = { spec: { volumeName: 'v' } }
  const next = (volumes: Volume[], draft: Draft = named) => said(nextClaimStep(claim(draft), around({ volumes })))
  assert.equal(next([]), 'pending')
  assert.equal(next([volume('v')]), 'bind v')
  assert.equal(next([volume('v', { spec: { claimRef: forUs } })]), 'bind v')
  const theirs = volume('v', { spec: { claimRef: { ...forUs, name: 'd' } } })
  assert.equal(next([theirs]), 'pending Warning FailedBinding volume "v" already bound to a different claim.')
  assert.equal(
    next([theirs], { ...named, annotations: OURS }),
    'report Warning FailedBinding volume "v" already bound to a different claim.',
  )
  assert.equal(
    next([volume('v', { spec: { capacity: { storage: '1Gi' } } })]),
    'pending Warning VolumeMismatch Cannot bind to requested volume "v": requested PV is too small',
  )
  const why = (v: Draft) => mismatchOf(claim(), volume('v', v))
  assert.equal(why({ spec: { storageClassName: 'slow' } }), 'storageClassName does not match')
  assert.equal(why({ spec: { volumeAttributesClassName: 'gold' } }), 'volumeAttributesClassName does not match')
  assert.equal(why({ spec: { volumeMode: 'Block' } }), 'incompatible volumeMode')
  assert.equal(why({ spec: { accessModes: ['ReadOnlyMany'] } }), 'incompatible accessMode')
  assert.equal(why({ metadata: { deletionTimestamp: 'x' } }), 'the volume is marked for deletion "v"')
})

test('a claim that was bound keeps its volume or is lost', () => {
  const next = (volumes: Volume[], volumeName?: string) =>
    said(nextClaimStep(claim({ annotations: DONE, spec: { volumeName } }), around({ volumes })))
  assert.match(next([]), /^lose Warning ClaimLost Bound claim has lost reference to PersistentVolume\. Data on the volume is lost!$/)
  assert.match(next([], 'v'), /^lose Warning ClaimLost Bound claim has lost its PersistentVolume\. Data on the volume is lost!$/)
  assert.equal(next([volume('v')], 'v'), 'bind v')
  assert.equal(next([volume('v', { spec: { claimRef: forUs } })], 'v'), 'bind v')
  assert.match(next([volume('v', { spec: { claimRef: { ...forUs, uid: 'x' } } })], 'v'), /^lose Warning ClaimMisbound Two claims/)
})

test('a binding is written on both sides once, and marked where it was not written by hand', () => {
  const bound = volumeBoundTo(volume('v'), claim())!
  assert.deepEqual(bound.metadata.annotations, OURS)
  assert.deepEqual({ ...bound.spec.claimRef, resourceVersion: undefined }, { ...forUs, resourceVersion: undefined })
  assert.equal(volumeBoundTo(bound, claim()), undefined)
  const reserved = volumeBoundTo(volume('v', { spec: { claimRef: { namespace: 'n', name: 'c' } } }), claim())!
  assert.equal(reserved.metadata.annotations, undefined)
  assert.equal(reserved.spec.claimRef?.uid, 'cu')
  const ours = claimBoundTo(claim(), 'v')!
  assert.deepEqual([ours.metadata.annotations, ours.spec.volumeName], [{ ...DONE, ...OURS }, 'v'])
  assert.equal(claimBoundTo(ours, 'v'), undefined)
  assert.deepEqual(claimBoundTo(claim({ spec: { volumeName: 'v' } }), 'v')!.metadata.annotations, DONE)
})

test('the status of a claim follows its volume when it is bound, and not afterwards', () => {
  const v = volume('v', { spec: { volumeAttributesClassName: 'gold' } })
  const bound = { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '5Gi' }, currentVolumeAttributesClassName: 'gold' }
  assert.deepEqual(claimStatus(claim(), 'Bound', v), bound)
  assert.equal(claimStatus(claim({ status: bound }), 'Bound', volume('v', { spec: { capacity: { storage: '9Gi' } } })), undefined)
  assert.deepEqual(claimStatus(claim({ status: bound }), 'Lost'), { phase: 'Lost' })
  assert.equal(claimStatus(claim(), 'Pending'), undefined)
  const grown = volume('v', {
    spec: { capacity: { storage: '9Gi' } },
    annotations: { 'volume.alpha.kubernetes.io/pre-resize-capacity': '5Gi' },
  })
  assert.deepEqual(claimStatus(claim(), 'Bound', grown)?.capacity, { storage: '5Gi' })
})

test('a volume is free, bound, let go or reclaimed, as its claim is', () => {
  const next = (v: Draft, c?: Claim) => {
    const step = nextVolumeStep(volume('v', v), c)
    return 'phase' in step ? step.phase : step.step
  }
  assert.equal(next({}), 'Available')
  assert.equal(next({ spec: { claimRef: { namespace: 'n', name: 'c' } } }), 'Available')
  assert.equal(next({ spec: { claimRef: forUs } }), 'reclaim')
  assert.equal(next({ spec: { claimRef: forUs } }, claim({ metadata: { uid: 'new' } })), 'reclaim')
  assert.equal(next({ spec: { claimRef: forUs } }, claim({ spec: { volumeName: 'v' } })), 'Bound')
  assert.equal(next({ spec: { claimRef: forUs } }, claim()), 'claim')
  assert.equal(next({ spec: { claimRef: forUs, volumeMode: 'Block' } }, claim()), 'mismatch')
  assert.equal(next({ spec: { claimRef: forUs } }, claim({ spec: { volumeName: 'w' } })), 'unbind')
  const made = {
    annotations: { 'pv.kubernetes.io/provisioned-by': 'p' },
    spec: { claimRef: forUs, persistentVolumeReclaimPolicy: 'Delete' },
  }
  assert.equal(next(made, claim({ spec: { volumeName: 'w' } })), 'reclaim')
})

test('a released volume is free for all claims, or for the one that it was made for', () => {
  const free = unboundVolume(volume('v', { spec: { claimRef: forUs }, annotations: OURS }))
  assert.deepEqual([free.spec.claimRef, free.metadata.annotations], [undefined, undefined])
  const reserved = unboundVolume(volume('v', { spec: { claimRef: forUs }, annotations: { a: 'b' } }))
  assert.deepEqual([reserved.spec.claimRef?.uid, reserved.spec.claimRef?.name, reserved.metadata.annotations], [undefined, 'c', { a: 'b' }])
})

test('what becomes of a released volume is decided by its policy and by what it is', () => {
  const of = (policy: string, source: object, annotations?: Record<string, string>) => {
    const found = reclaimOf(
      volume('v', { spec: { persistentVolumeReclaimPolicy: policy, ...source }, ...(annotations && { annotations }) }),
    )
    return found.type === 'fail' ? `${found.notice.reason}: ${found.notice.message}` : found.type
  }
  const host = (path: string) => ({ hostPath: { path } })
  assert.equal(of('Retain', host('/tmp/x')), 'keep')
  assert.equal(of('Delete', host('/tmp/x')), 'delete')
  assert.equal(of('Delete', host('/data')), 'VolumeFailedDelete: host_path deleter only supports /tmp/.+ but received provided /data')
  assert.equal(of('Delete', { csi: { driver: 'd' } }), 'keep')
  assert.equal(of('Delete', {}, { 'pv.kubernetes.io/provisioned-by': 'example.com/p' }), 'keep')
  assert.equal(of('Delete', host('/tmp/x'), { 'pv.kubernetes.io/migrated-to': 'd' }), 'keep')
  assert.equal(
    of('Delete', { nfs: { server: 's', path: '/' } }),
    'VolumeFailedDelete: error getting deleter volume plugin for volume "v": no deletable volume plugin matched',
  )
  assert.equal(
    of('Delete', { local: { path: '/x' } }),
    'VolumeFailedDelete: error getting deleter volume plugin for volume "v": no volume plugin matched',
  )
  assert.deepEqual(removalOf(volume('v', { annotations: { 'pv.kubernetes.io/provisioned-by': 'kubernetes.io/x' } })), {
    type: 'fail',
    why: 'no volume plugin matched name: kubernetes.io/x',
  })
  assert.equal(of('Recycle', host('/x')), 'recycle')
  assert.equal(of('Recycle', { local: { path: '/x' } }), 'VolumeFailedRecycle: No recycler plugin found for the volume!')
  assert.equal(of('Wipe', {}), 'VolumeUnknownReclaimPolicy: Volume has unrecognized PersistentVolumeReclaimPolicy')
})

test('a volume is emptied by a pod, and only by one that was started for it', () => {
  const v = volume('v', { spec: { hostPath: { path: '/x' }, capacity: { storage: '10Gi' } } })
  const started = nextRecycleStep(v, undefined, false)
  assert.ok(started.step === 'start')
  assert.deepEqual([started.pod.metadata?.name, started.pod.spec?.activeDeadlineSeconds], ['recycler-for-v', 300])
  const pod = (phase: string, message?: string) => ({ metadata: { name: 'recycler-for-v' }, status: { phase, message } }) as never
  assert.equal(nextRecycleStep(v, pod('Succeeded'), false).step, 'clear')
  assert.equal(nextRecycleStep(v, pod('Running'), true).step, 'wait')
  assert.equal(nextRecycleStep(v, pod('Succeeded'), true).step, 'done')
  const failed = nextRecycleStep(v, pod('Failed', 'no room'), true)
  assert.equal(failed.step === 'failed' && failed.why, 'Recycle failed: failed to recycle volume: no room')
})

test('claims and volumes of migrated plugins are annotated with their CSI driver', () => {
  const asked = claimToBeMadeBy(claim(), 'kubernetes.io/aws-ebs')!
  assert.equal(claimToBeMadeBy(asked, 'kubernetes.io/aws-ebs'), undefined)
  assert.equal(settledClaim(asked)!.metadata.annotations!['pv.kubernetes.io/migrated-to'], 'ebs.csi.aws.com')
  assert.equal(settledClaim(claimToBeMadeBy(claim(), 'example.com/p')!), undefined)
  const made = (by: string, policy: string, finalizers: string[], more: object = {}) =>
    settledVolume(
      volume('v', {
        annotations: { 'pv.kubernetes.io/provisioned-by': by, ...more },
        metadata: { finalizers },
        spec: { persistentVolumeReclaimPolicy: policy },
      }),
    )?.metadata
  assert.deepEqual(made('kubernetes.io/x', 'Delete', [])?.finalizers, ['kubernetes.io/pv-controller'])
  assert.equal(made('kubernetes.io/x', 'Delete', ['kubernetes.io/pv-controller']), undefined)
  assert.deepEqual(made('kubernetes.io/x', 'Retain', ['a', 'kubernetes.io/pv-controller'])?.finalizers, ['a'])
  assert.equal(made('example.com/p', 'Delete', ['a']), undefined)
  assert.deepEqual(made('kubernetes.io/gce-pd', 'Delete', ['kubernetes.io/pv-controller'])?.finalizers, [])
  assert.equal(
    made('example.com/p', 'Delete', [], { 'pv.kubernetes.io/migrated-to': 'x' })?.annotations?.['pv.kubernetes.io/migrated-to'],
    undefined,
  )
})

const MODES = ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany']
const arbitraryModes = fc.subarray(MODES, { minLength: 1 })
const arbitraryVolume = fc.record({
  size: fc.integer({ min: 1, max: 8 }),
  modes: arbitraryModes,
  phase: fc.constantFrom('Available', 'Bound'),
})

test('what is found suits, and nothing with as few modes that suits is smaller', () => {
  fc.assert(
    fc.property(
      fc.array(arbitraryVolume, { maxLength: 12 }),
      fc.integer({ min: 1, max: 8 }),
      arbitraryModes,
      (drafts, size, accessModes) => {
        const volumes = drafts.map(({ size, modes, phase }, i) =>
          volume(`v${i}`, { spec: { capacity: { storage: `${size}Gi` }, accessModes: modes }, status: { phase } }),
        )
        const wanted = claim({ spec: { accessModes, resources: { requests: { storage: `${size}Gi` } } } })
        const found = bestVolume(wanted, volumes)
        const sizeOf = (v: Volume) => Number.parseInt(v.spec.capacity!['storage']!, 10)
        const suiting = volumes.filter(
          v => v.status.phase === 'Available' && sizeOf(v) >= size && accessModes.every(mode => v.spec.accessModes!.includes(mode)),
        )
        if (!found) return assert.equal(suiting.length, 0)
        assert.ok(suiting.includes(found))
        for (const other of suiting) {
          assert.ok(other.spec.accessModes!.length >= found.spec.accessModes!.length)
          if (other.spec.accessModes!.join() === found.spec.accessModes!.join()) assert.ok(sizeOf(other) >= sizeOf(found))
        }
      },
    ),
  )
})
