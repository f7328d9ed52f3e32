import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Pod } from '../kinds/core/pod/pod.ts'
import { LIMITS } from '../lib/limits.ts'
import { resourceOf } from '../schema/resource.ts'
import { portableType } from './portable-type.ts'
import { toProtobuf } from './protobuf-encode.ts'
import { transcode } from './transcode.ts'
import { WorkerTranscoder } from './worker-transcoder.ts'

const NEVER = new AbortController().signal
const limit = LIMITS.values.other.decoded
const yaml = (text: string) => ({ format: 'yaml', bytes: Buffer.from(text), limit }) as const
/** More than a worker may spend: documents of nothing but tags. */
const EXPENSIVE = yaml('- !!str a\n'.repeat(240_000))

function open(t: TestContext): WorkerTranscoder {
  const transcoder = new WorkerTranscoder()
  t.after(() => transcoder[Symbol.asyncDispose]())
  return transcoder
}

test('a worker gives what the same job gives here', async t => {
  const transcoder = open(t)
  for (const job of [yaml('a: 1\nb: [x, 9007199254740993]\n'), yaml('a: 1\na: 2\n'), yaml('a: [')]) {
    const { outcome, ...rest } = await transcoder.transcode(job, { user: 'jane', signal: NEVER })
    const here = transcode(job)
    assert.equal(outcome, here.outcome)
    if (here.outcome === 'json') {
      const { json, strictError } = rest as typeof here
      assert.deepEqual([Buffer.from(json).toString(), strictError], [here.json.toString(), here.strictError])
    } else assert.deepEqual(rest, { message: here.message })
  }
})

test('types are sent along with messages', async t => {
  const { type } = resourceOf(Pod, 'k8s.io')
  const pod = { metadata: { name: 'a', labels: { b: 'c' } }, spec: { containers: [{ name: 'd', resources: { limits: { cpu: '1' } } }] } }
  const bytes = toProtobuf(type, pod)
  const answer = await open(t).transcode({ format: 'protobuf', bytes, limit, type: portableType(type) }, { user: 'jane', signal: NEVER })
  assert.equal(answer.outcome, 'json')
  assert.deepEqual(JSON.parse(Buffer.from((answer as { json: Uint8Array }).json).toString()).spec.containers[0].resources, {
    limits: { cpu: '1' },
  })
})

test('a body that costs too much is refused, and the next is read', async t => {
  const transcoder = open(t)
  const refused = await transcoder.transcode(EXPENSIVE, { user: 'eve', signal: NEVER })
  assert.equal(refused.outcome, 'too-large')
  assert.equal((await transcoder.transcode(yaml('a: 1'), { user: 'jane', signal: NEVER })).outcome, 'json')
})

test('users take turns, and one user may have so many bodies waiting', async t => {
  const transcoder = open(t)
  const done: string[] = []
  const send = (user: string) => transcoder.transcode(yaml('a: 1'), { user, signal: NEVER }).then(() => done.push(user))
  const many = Array.from({ length: LIMITS.transcoding.waitingPerUser }, () => send('eve'))
  const one = send('jane')
  await Promise.all(Array.from({ length: 3 }, () => many.push(send('eve').catch(error => done.push(String(error.code))) as never)))
  await Promise.all([...many, one])
  assert.ok(done.indexOf('jane') < 10, `jane was number ${done.indexOf('jane')}`)
  assert.ok(done.includes('429'))
})

test('workspaces take turns, however many users each has, and users of the same name are others', async t => {
  const transcoder = open(t)
  const done: string[] = []
  const send = (workspace: string, user: string) =>
    transcoder.transcode(yaml('a: 1'), { workspace, user, signal: NEVER }).then(() => done.push(`${workspace}/${user}`))
  const many = Array.from({ length: LIMITS.transcoding.waitingPerUser }, () => send('noisy', 'admin'))
  const others = Array.from({ length: 20 }, (_, i) => send('noisy', `user-${i}`))
  await Promise.all([...many, ...others, send('quiet', 'admin'), send('quiet', 'admin')])
  const last = done.lastIndexOf('quiet/admin')
  assert.ok(last < 10, `the last of the quiet workspace was number ${last}`)
  assert.ok(done.indexOf('noisy/user-0') < done.lastIndexOf('noisy/admin'), 'users of one workspace take turns')
})

test('a job whose client has gone is dropped, whether it waits or runs', async t => {
  const transcoder = open(t)
  const gone = new AbortController()
  const jobs = Array.from({ length: 4 }, () => transcoder.transcode(EXPENSIVE, { user: 'eve', signal: gone.signal }))
  gone.abort(new Error('gone'))
  for (const { status } of await Promise.allSettled(jobs)) assert.equal(status, 'rejected')
  assert.equal((await transcoder.transcode(yaml('a: 1'), { user: 'jane', signal: NEVER })).outcome, 'json')
})

test('nothing is read after the end', async () => {
  const transcoder = new WorkerTranscoder()
  const job = transcoder.transcode(EXPENSIVE, { user: 'eve', signal: NEVER })
  await Promise.all([assert.rejects(job, /closing/), transcoder[Symbol.asyncDispose]()])
  await assert.rejects(transcoder.transcode(yaml('a: 1'), { user: 'eve', signal: NEVER }), /closing/)
})
