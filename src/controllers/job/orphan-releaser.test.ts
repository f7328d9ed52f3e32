import assert from 'node:assert/strict'
import test from 'node:test'
import { openJobParts, ownedBy } from '../../../test/kits/jobs.ts'
import { OrphanReleaser } from './orphan-releaser.ts'

async function open(t: Parameters<typeof openJobParts>[0]) {
  const parts = await openJobParts(t)
  const orphans = new OrphanReleaser(parts.client)
  /** Whether the finalizer is removed. */
  const isReleased = async (name: string) => {
    await orphans.release(parts.pod(name))
    return !parts.isTracked(name)
  }
  return { ...parts, orphans, isReleased }
}

test('a pod is released when its job is finished, gone or another one of the same name', async t => {
  const { addJob, addPod, finish, isReleased, jobs, job } = await open(t)
  await addPod('of-running', ownedBy(await addJob('running')))
  assert.equal(await isReleased('of-running'), false)
  await addPod('of-older', ownedBy(job('running'), { uid: 'older' }))
  assert.equal(await isReleased('of-older'), true)
  await finish('running')
  assert.equal(await isReleased('of-running'), true)
  await addPod('of-gone', ownedBy(await addJob('gone')))
  await jobs.delete(job('gone'), { propagationPolicy: 'Background' })
  assert.equal(await isReleased('of-gone'), true)
})

test('a pod of another controller or of a job that is managed elsewhere is left to them', async t => {
  const { addJob, addPod, isReleased } = await open(t)
  const elsewhere = await addJob('elsewhere', { managedBy: 'example.com/other' })
  await addPod('theirs', ownedBy(elsewhere))
  await addPod('set', ownedBy(elsewhere, { apiVersion: 'apps/v1', kind: 'ReplicaSet' }))
  assert.deepEqual([await isReleased('theirs'), await isReleased('set')], [false, false])
})

test('a pod without a controller keeps its finalizer only while a job is going to adopt it', async t => {
  const { addJob, addPod, isReleased, finish } = await open(t)
  const labels = (await addJob('adopter')).spec.selector!.matchLabels
  await addPod('stranger')
  await addPod('selected', { labels })
  assert.deepEqual([await isReleased('stranger'), await isReleased('selected')], [true, false])
  await finish('adopter')
  assert.equal(await isReleased('selected'), true)
})

test('all pods of a job are released together', async t => {
  const { addJob, addPod, finish, orphans, isTracked, job } = await open(t)
  const owner = ownedBy(await addJob('work'))
  for (const name of ['a', 'b']) await addPod(name, owner)
  await finish('work')
  await orphans.releaseAllOf(job('work').metadata.uid!)
  assert.deepEqual([isTracked('a'), isTracked('b')], [false, false])
  await orphans.release(undefined)
})
