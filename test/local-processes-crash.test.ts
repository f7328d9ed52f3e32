// Local processes of a server that is killed.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { ask, eventually, patient, ROOT, startProcess } from './kit.ts'

const IMAGE = `example.com/program='${process.execPath}' '${join(ROOT, 'test/kits/local-program.mjs')}'`
const PODS = '/api/v1/namespaces/default/pods'

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('processes end with the server, however it ends, and are started again by the next one', patient, async t => {
  const started = await startProcess(t, { flags: ['--nodes', '1', '--local-image', IMAGE] })
  const body = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'example.com/program', args: ['stay'] }] } }
  assert.equal((await ask(started, PODS, { method: 'POST', body })).status, 201)
  const pidOf = (from: Parameters<typeof ask>[0]) =>
    eventually('the process', async () => Number(/pid (\d+)/.exec((await ask(from, `${PODS}/p/log`)).text)?.[1]) || undefined)
  const first = await pidOf(started)
  await started.stop('SIGKILL')
  await eventually('the end of the first process', () => (isAlive(first) ? undefined : true))
  const again = await startProcess(t, { flags: ['--nodes', '1', '--local-image', IMAGE], dataDir: started.dataDir })
  const second = await eventually('the second process', async () => {
    const pid = await pidOf(again)
    return pid === first ? undefined : pid
  })
  const [status] = (await ask(again, `${PODS}/p`)).json.status.containerStatuses
  assert.deepEqual([status.restartCount, status.lastState.terminated.reason], [1, 'ContainerStatusUnknown'])
  await again.stop('SIGTERM')
  assert.equal(isAlive(second), false)
})
