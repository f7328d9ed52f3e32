import assert from 'node:assert/strict'
import test from 'node:test'
import { DriverSpecError, planSlices, readDriverSpec, sliceContents } from './driver.ts'

const plain = { namesPartitions: false }

test('a driver is described by its name, a number and the attributes of its devices', () => {
  assert.deepEqual(readDriverSpec('gpu.example.com=8,model=A100,cores=64,fast=true,driver=1.2.3,capacity.memory=80Gi,shared'), {
    driver: 'gpu.example.com',
    count: 8,
    attributes: { model: { string: 'A100' }, cores: { int: 64 }, fast: { bool: true }, driver: { version: '1.2.3' } },
    capacity: { memory: '80Gi' },
    isShared: true,
    partitions: 0,
  })
  for (const [text, why] of [
    ['gpu', 'takes DRIVER=COUNT'],
    ['GPU=1', '"GPU" is not the name of a driver'],
    ['gpu=0', 'a node can have 256 devices'],
    ['gpu=100,partitions=4', 'a node can have 256 devices'],
    ['gpu=1,a-b=1', '"a-b" is not the name of an attribute'],
    ['gpu=1,capacity.memory=much', 'capacity.memory must be a quantity'],
    ['gpu=1,partitions=2,shared', 'either shared or divided'],
  ] as const)
    assert.throws(
      () => readDriverSpec(text),
      (error: Error) => error instanceof DriverSpecError && error.message.includes(why),
      text,
    )
})

test('devices are published in as many slices as they need, with what parts of them share', () => {
  const many = sliceContents(readDriverSpec('gpu.example.com=200'), plain)
  assert.deepEqual(
    many.map(({ devices }) => devices?.length),
    [128, 72],
  )
  assert.deepEqual(many[0]!.devices![1], { name: 'gpu-1', attributes: { index: { int: 1 } } })
  const [counters, devices] = sliceContents(readDriverSpec('gpu.example.com=1,partitions=2,capacity.memory=80Gi'), {
    namesPartitions: true,
  })
  assert.deepEqual(counters, { sharedCounters: [{ name: 'gpu-0', counters: { parts: { value: '2' } } }] })
  assert.deepEqual(
    devices!.devices!.map(({ name, capacity, consumesCounters }) => [
      name,
      capacity!['memory']!.value,
      consumesCounters![0]!.counters!['parts']!.value,
    ]),
    [
      ['gpu-0', '80Gi', '2'],
      ['gpu-0-part-0', '40Gi', '1'],
      ['gpu-0-part-1', '40Gi', '1'],
    ],
  )
  assert.equal(devices!.partitionTypeAttribute, 'gpu.example.com/type')
})

test('slices are written when something changes, as a new generation; taints that others have put there stay', () => {
  const spec = (text: string) => ({ driver: 'gpu.example.com', contents: sliceContents(readDriverSpec(text), plain) })
  const first = planSlices('n', spec('gpu.example.com=2'), [])
  assert.deepEqual(
    [first.put.length, first.put[0]!.name, first.put[0]!.spec.pool],
    [1, 'n-gpu.example.com-0', { name: 'n', generation: 1, resourceSliceCount: 1 }],
  )
  const stored = first.put.map(({ name, spec }) => ({ metadata: { name }, spec }))
  assert.deepEqual(planSlices('n', spec('gpu.example.com=2'), stored), { put: [], remove: [] })
  const tainted = [
    {
      ...stored[0]!,
      spec: {
        ...stored[0]!.spec,
        devices: stored[0]!.spec.devices!.map(device => ({ ...device, taints: [{ key: 'k', effect: 'NoSchedule' }] })),
      },
    },
  ]
  assert.deepEqual(planSlices('n', spec('gpu.example.com=2'), tainted).put, [])
  const more = planSlices('n', spec('gpu.example.com=3'), tainted)
  assert.equal(more.put[0]!.spec.pool.generation, 2)
  assert.deepEqual(
    more.put[0]!.spec.devices!.map(({ taints }) => taints?.length ?? 0),
    [1, 1, 0],
  )
  const extra = { metadata: { name: 'n-gpu.example.com-7' }, spec: stored[0]!.spec }
  assert.deepEqual(planSlices('n', spec('gpu.example.com=2'), [...stored, extra]).remove, [extra])
})
