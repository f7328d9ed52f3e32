import assert from 'node:assert/strict'
import test from 'node:test'
import { openControllerBench } from '../../../test/kits/controllers.ts'
import { consumerOf } from '../../devices/pod-claims.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import type { AllocationResult } from '../../kinds/resource/allocation-shapes.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { Assertions } from '../../schema/assertions.ts'
import { clientDevices } from './client-devices.ts'

const result = { request: 'r', driver: 'd.example.com', pool: 'p', device: 'one' }
const allocation = { devices: { results: [result] } } as unknown as AllocationResult
const pod = { metadata: { namespace: 'default', name: 'p', uid: 'uid-p' } } as unknown as Pod

test('a device that another claim has is not given again, and claims that share one all the same are counted', async t => {
  const { client } = await openControllerBench(t, [Pod, ResourceClaim], { now: () => new Date() })
  const claims = client.of(ResourceClaim)
  const made = async (name: string) => {
    const written = await claims.create({
      metadata: { namespace: 'default', name },
      spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] } },
    })
    return written!.object
  }
  const problems: string[] = []
  const assertions = new Assertions((_, problem) => problems.push(problem))
  const events = { event: () => {}, flushed: async () => {} }
  const { devices, cluster } = clientDevices({ client, eventsOf: () => events, gate: () => true, assertions })
  const abort = new AbortController()
  t.after(() => abort.abort())
  await claims.watch(change => cluster.onClaim(change), abort.signal)
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
