import assert from 'node:assert/strict'
import test from 'node:test'
import { listRecorder, openControllerBench } from '../../../test/kits/controllers.ts'
import { Node } from '../../kinds/core/node.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { VolumeAttributesClass } from '../../kinds/storage/volumeattributesclass.ts'
import { FAILURE_ANNOTATION, labelsOf } from '../node/simulated-node.ts'
import { DRIVER } from './driver.ts'
import { Resizer } from './resizer.ts'

const KINDS = [Node, PersistentVolume, PersistentVolumeClaim, Pod, VolumeAttributesClass]
const AT = { namespace: 'default', name: 'c' }

type Case = {
  readonly name: string
  readonly driver?: string
  readonly volumeMode?: 'Block' | 'Filesystem'
  /** The size of the claim and, if it asks for another, of its class. */
  readonly requested?: string
  readonly attributesClass?: string
  /** The pod of the claim; none if undefined. */
  readonly pod?: { readonly phase: string; readonly isNodeDead?: boolean }
  /** After all steps: the sizes of volume and claim, the state of the claim, its attributes class, and the reasons of events. */
  readonly expected: readonly [volume: string, claim: string, state: string | undefined, attributesClass: string | undefined, string[]]
}

const GROWING = ['c Resizing', 'c FileSystemResizeRequired']
const CASES: readonly Case[] = [
  { name: 'of the requested size', requested: '1Gi', expected: ['1Gi', '1Gi', undefined, undefined, []] },
  { name: 'larger, mounted by nobody', expected: ['2Gi', '1Gi', 'NodeResizePending', undefined, GROWING] },
  {
    name: 'larger, mounted on a node that works',
    pod: { phase: 'Running' },
    expected: ['2Gi', '2Gi', undefined, undefined, [...GROWING, 'p FileSystemResizeSuccessful']],
  },
  {
    name: 'larger, mounted on a dead node',
    pod: { phase: 'Running', isNodeDead: true },
    expected: ['2Gi', '1Gi', 'NodeResizePending', undefined, GROWING],
  },
  {
    name: 'larger, in a pod that has not started',
    pod: { phase: 'Pending' },
    expected: ['2Gi', '1Gi', 'NodeResizePending', undefined, GROWING],
  },
  {
    name: 'larger, without a file system',
    volumeMode: 'Block',
    expected: ['2Gi', '2Gi', undefined, undefined, ['c Resizing', 'c VolumeResizeSuccessful']],
  },
  { name: 'larger, of another driver', driver: 'csi.example.com', expected: ['1Gi', '1Gi', undefined, undefined, []] },
  {
    name: 'with other attributes',
    requested: '1Gi',
    attributesClass: 'fast',
    expected: ['1Gi', '1Gi', undefined, 'fast', ['c VolumeModify', 'c VolumeModifySuccessful']],
  },
  {
    name: 'with attributes that are not there',
    requested: '1Gi',
    attributesClass: 'none',
    expected: ['1Gi', '1Gi', undefined, undefined, ['c VolumeModifyFailed']],
  },
]

for (const { name, driver = DRIVER, volumeMode = 'Filesystem', requested = '2Gi', attributesClass, pod, expected } of CASES)
  test(`a volume ${name}`, async t => {
    const { client } = await openControllerBench(t, KINDS)
    const [claims, volumes, pods] = [client.of(PersistentVolumeClaim), client.of(PersistentVolume), client.of(Pod)]
    const accessModes = ['ReadWriteOnce']
    await client.of(VolumeAttributesClass).create({ metadata: { name: 'fast' }, driverName: DRIVER, parameters: { iops: '9' } })
    await volumes.create({
      metadata: { name: 'v' },
      spec: { accessModes, volumeMode, capacity: { storage: '1Gi' }, csi: { driver, volumeHandle: 'v' }, claimRef: AT },
    } as never)
    const { object } = (await claims.create({
      metadata: AT,
      spec: {
        ...{ accessModes, volumeMode, volumeName: 'v', resources: { requests: { storage: requested } } },
        ...(attributesClass && { volumeAttributesClassName: attributesClass }),
      },
    }))!
    await claims.updateStatus({ ...object, status: { phase: 'Bound', accessModes, capacity: { storage: '1Gi' } } } as never)
    if (pod) {
      const annotations = { [FAILURE_ANNOTATION]: String(pod.isNodeDead === true) }
      await client.of(Node).create({ metadata: { name: 'n', labels: labelsOf('n'), annotations } })
      const spec = {
        nodeName: 'n',
        containers: [{ name: 'c', image: 'web:1' }],
        volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'c' } }],
      }
      const created = (await pods.create({ metadata: { ...AT, name: 'p' }, spec } as never))!
      await pods.updateStatus({ ...created.object, status: { phase: pod.phase } } as never)
    }
    const recorder = listRecorder()
    const resizer = new Resizer({ client, recorder, kubeletRecorder: () => recorder })
    const claim = () => claims.get(AT)!
    const volume = () => volumes.get({ name: 'v' })!
    for (let i = 0; i < 4; i++) await resizer.resize(claim(), volume())
    const { capacity, allocatedResourceStatuses, currentVolumeAttributesClassName } = claim().status
    assert.deepEqual(
      [
        ...[volume().spec.capacity?.['storage'], capacity?.['storage'], allocatedResourceStatuses?.['storage']],
        ...[currentVolumeAttributesClassName, recorder.events.map(each => each.replace(/ \w+ (\w+):.*/, ' $1'))],
      ],
      expected,
    )
  })
