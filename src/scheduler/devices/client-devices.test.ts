import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { becomes, openControllerBench } from '../../../test/kits/controllers.ts'
import { deviceId } from '../../devices/device.ts'
import { consumerOf } from '../../devices/pod-claims.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import type { AllocationResult } from '../../kinds/resource/allocation-shapes.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { LIMITS } from '../../lib/limits.ts'
import { Assertions } from '../../schema/assertions.ts'
import { outcomeUnknown } from '../../schema/status-error.ts'
import { MemoryStore } from '../../storage/memory.ts'
import { bytesOf, type Change, type Swap } from '../../storage/store.ts'
import { AllocationUndecided } from './claim-writer.ts'
import { clientDevices } from './client-devices.ts'

type Name = { namespace: string; name: string }

const result = { request: 'r', driver: 'd.example.com', pool: 'p', device: 'one' }
const allocation = { devices: { results: [result] } } as unknown as AllocationResult
const pod = { metadata: { namespace: 'default', name: 'p', uid: 'uid-p' } } as unknown as Pod

async function open(t: TestContext, store = new MemoryStore()) {
  const { client } = await openControllerBench(t, [Pod, ResourceClaim], { now: () => new Date(), store })
  const claims = client.of(ResourceClaim)
  const made = async (name: string) => {
    const written = await claims.create({
      metadata: { namespace: 'default', name },
      spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] } },
    })
    return written!.object
  }
  const problems: string[] = []
  let freed = 0
  const assertions = new Assertions((_, problem) => problems.push(problem))
  const ending = new AbortController()
  t.after(() => ending.abort())
  const events = { event: () => {}, flushed: async () => {} }
  const { devices, cluster } = clientDevices({
    ...{ client, eventsOf: () => events, gate: () => true, assertions },
    onFreed: () => void freed++,
    signal: ending.signal,
  })
  const stop = new AbortController()
  t.after(() => stop.abort())
  await claims.watch(change => cluster.onClaim(change), stop.signal)
  return { claims, made, devices, problems, freed: () => freed }
}

/** A store that makes a write of a status when it is told to, and says meanwhile that nobody knows. */
class DoubtfulStore extends MemoryStore {
  isDoubtful = false
  late = () => Promise.resolve<unknown>(undefined)

  override swap(key: string, change: Change): Promise<Swap> {
    if (!this.isDoubtful || !change.value || !Buffer.from(bytesOf(change.value)).includes('"allocation"')) return super.swap(key, change)
    this.late = () => super.swap(key, change)
    return Promise.reject(outcomeUnknown('nobody knows'))
  }
}

test('a device that another claim has is not given again, and claims that share one all the same are counted', async t => {
  const { claims, made, devices, problems } = await open(t)
  const [first, second] = [await made('first'), await made('second')]
  await devices.writer.bind(first, consumerOf(pod), allocation)
  devices.usage.assume(second.metadata.uid!, [result])
  await assert.rejects(devices.writer.bind(second, consumerOf(pod), allocation), {
    code: 500,
    message: /assertion allocated_once failed: the device d.example.com\/p\/one would be given to the claim default\/second, too/,
  })
  assert.equal(claims.get({ namespace: 'default', name: 'second' })!.status.allocation, undefined)
  // Another scheduler does not ask.
  await claims.updateStatus({ ...second, status: { allocation } } as ResourceClaim)
  await new Promise(setImmediate)
  assert.match(problems[1]!, /the device d.example.com\/p\/one is given to the claim default\/second and to another/)
})

test('devices of an allocation that may still be written stay taken until the claim is written, by whomever', async t => {
  const store = new DoubtfulStore()
  const { claims, made, devices } = await open(t, store)
  const isTaken = () => devices.usage.of(deviceId(result)) !== undefined
  const claim = await made('first')
  const undecided = async () => {
    store.isDoubtful = true
    devices.usage.assume(claim.metadata.uid!, [result])
    await assert.rejects(devices.writer.bind(claims.get(claim.metadata as Name)!, consumerOf(pod), allocation), {
      name: 'AllocationUndecided',
      message: 'add allocation and reservation to claim default/first: Internal error occurred: nobody knows',
    })
    devices.usage.forget(claim.metadata.uid!)
    store.isDoubtful = false
  }
  await undecided()
  assert.equal(isTaken(), true)
  await claims.patch(claim.metadata as Name, { metadata: { labels: { other: 'write' } } })
  assert.deepEqual([isTaken(), await store.late().then((swap: any) => swap.ok)], [false, false])
  await undecided()
  await store.late()
  await becomes(() => claims.get(claim.metadata as Name)!.status.allocation, Boolean)
  assert.deepEqual([isTaken(), devices.usage.isAssumed(claim.metadata.uid!)], [true, false])
})

test('and they are free when it can no longer be written', async t => {
  const store = new DoubtfulStore()
  const { claims, made, devices, freed } = await open(t, store)
  const claim = await made('first')
  store.isDoubtful = true
  devices.usage.assume(claim.metadata.uid!, [result])
  t.mock.timers.enable({ apis: ['setTimeout'] })
  await assert.rejects(devices.writer.share(claims.get(claim.metadata as Name)!, consumerOf(pod), allocation), AllocationUndecided)
  t.mock.timers.tick(LIMITS.undecidedWriteMs - 1)
  assert.deepEqual([devices.usage.isAssumed(claim.metadata.uid!), freed()], [true, 0])
  t.mock.timers.tick(1)
  assert.deepEqual([devices.usage.isAssumed(claim.metadata.uid!), freed()], [false, 1])
})
