// A job whose server is killed again and again runs every pod that it needs, once, and counts each once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, eventually, patient, type ServerProcess, startProcess } from '../kit.ts'

const JOBS = '/apis/batch/v1/namespaces/default/jobs'
const COMPLETIONS = 24
const flags = ['--controllers=*', '--nodes=2']

const template = {
  metadata: { annotations: { 'sim.keelson.dev/run-time': '50ms' } },
  spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] },
}
const jobOf = (name: string, completionMode: string) => ({
  metadata: { name },
  spec: { completions: COMPLETIONS, parallelism: 4, completionMode, template },
})
const jobAt = async (server: ServerProcess, name: string) => (await ask(server, `${JOBS}/${name}`)).json as any

test('jobs count every pod once, however often the server is killed', patient, async t => {
  let server = await startProcess(t, { flags })
  const names = ['plain', 'indexed']
  for (const [i, mode] of ['NonIndexed', 'Indexed'].entries()) await ask(server, JOBS, { method: 'POST', body: jobOf(names[i]!, mode) })
  for (const reached of [3, 9, 15]) {
    await eventually(`${reached} pods`, async () => ((await jobAt(server, 'plain')).status?.succeeded >= reached ? true : undefined))
    await server.stop('SIGKILL')
    server = await startProcess(t, { dataDir: server.dataDir, flags })
  }
  for (const name of names) {
    const job = await eventually(`the end of ${name}`, async () => {
      const job = await jobAt(server, name)
      return job.status?.conditions?.some(({ type }: any) => type === 'Complete') ? job : undefined
    })
    const { json } = await ask(server, `/api/v1/namespaces/default/pods?labelSelector=job-name=${name}`)
    const pods = (json as any).items
    assert.deepEqual([job.status.succeeded, job.status.failed ?? 0, pods.length], [COMPLETIONS, 0, COMPLETIONS], name)
    assert.ok(pods.every(({ metadata }: any) => metadata.finalizers === undefined))
    if (name === 'indexed') assert.equal(job.status.completedIndexes, `0-${COMPLETIONS - 1}`)
  }
})
