// Faults over HTTP, as tests in other languages use them.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type RunningServer, start } from '../src/index.ts'
import { keelson, patient } from './kit.ts'

let server: RunningServer
before(async () => {
  server = await start({ controllers: ['none'], enableFaultInjection: true })
})
after(() => server.close())

const FAULTS = '/keelson/faults'
const MAPS = '/api/v1/namespaces/default/configmaps'

async function ask(method: string, path: string, body?: unknown, by: Pick<RunningServer, 'fetch'> = server) {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  const answer = await by.fetch(path, { method, ...(text !== undefined && { body: text }) })
  return { code: answer.status, body: (await answer.json()) as any }
}

test('faults are added, reported, replaced and taken away', patient, async () => {
  assert.deepEqual(await ask('GET', FAULTS), { code: 200, body: { seed: 1, faults: [] } })
  const fault = { verb: 'list', kind: 'ConfigMap', status: 503, times: 1 }
  const added = await ask('POST', FAULTS, fault)
  assert.deepEqual([added.code, added.body.fault, added.body.hits], [201, fault, 0])
  assert.deepEqual([(await ask('GET', MAPS)).code, (await ask('GET', MAPS)).code], [503, 200])
  const { id } = added.body
  assert.deepEqual(await ask('GET', `${FAULTS}/${id}`), { code: 200, body: { id, fault, seen: 2, hits: 1 } })
  assert.deepEqual(await ask('DELETE', `${FAULTS}/${id}`), { code: 200, body: { id, fault, seen: 2, hits: 1 } })
  assert.equal((await ask('GET', `${FAULTS}/${id}`)).code, 404)
  assert.equal((await ask('DELETE', `${FAULTS}/${id}`)).code, 404)

  const rounds: number[][] = []
  for (let round = 0; round < 2; round++) {
    const faults = [
      { verb: 'list', resource: 'configmaps', status: 500, probability: 0.5 },
      { verb: 'get', name: 'none', status: 410 },
    ]
    const replaced = await ask('PUT', FAULTS, { seed: 42, faults })
    assert.deepEqual([replaced.code, replaced.body.seed, replaced.body.faults.length], [200, 42, 2])
    const codes: number[] = []
    for (let i = 0; i < 12; i++) codes.push((await ask('GET', MAPS)).code)
    rounds.push(codes)
  }
  assert.deepEqual(rounds[0], rounds[1])
  assert.deepEqual([...new Set(rounds[0])].sort(), [200, 500])
  assert.deepEqual((await ask('DELETE', FAULTS)).body.faults, [])
  assert.deepEqual(server.faults.report(), [])
})

test('a fault that makes no sense is refused with the reason, and changes nothing', patient, async () => {
  const refused = async (body: unknown, method = 'POST') => {
    const { code, body: status } = await ask(method, FAULTS, body)
    assert.deepEqual([code, status.kind, status.reason], [400, 'Status', 'BadRequest'])
    return status.message as string
  }
  assert.match(await refused('{'), /^the body is not JSON: /)
  assert.match(await refused(''), /^the body is not JSON: /)
  assert.match(await refused([]), /^a fault is an object, not \[\]/)
  assert.match(await refused(null), /^a fault is an object, not null/)
  assert.match(await refused({}), /^a fault needs an effect: one of delayMs, status, /)
  assert.match(await refused({ disconnect: false }), /^a fault needs an effect/)
  assert.match(await refused({ verbs: 'get', status: 500 }), /^a fault has no "verbs"; did you mean verb\?$/)
  assert.match(await refused('{"__proto__":1,"status":500}'), /^a fault has no "__proto__"/)
  assert.match(await refused({ status: 200 }), /^status must be a code from 400 to 599, not 200/)
  assert.match(await refused({ status: '500' }), /^status must be a code from 400 to 599, not "500"/)
  assert.match(await refused({ verb: [], status: 500 }), /^verb must be one of get, list, .* or a list of them, not \[\]/)
  assert.match(await refused({ verb: { a: 1 }, status: 500 }), /^verb must be/)
  assert.match(await refused({ status: 500, probability: 2 }), /^probability must be a number from 0 to 1, not 2/)
  assert.match(await refused({ status: 500, times: -1 }), /^times must be a whole number, 0 or more, not -1/)
  assert.match(await refused({ delayMs: 1e12 }), /^delayMs must be a number of milliseconds, 3600000 at most/)
  assert.match(await refused({ restart: true }), /^restart must be "before" or "after", not true/)
  assert.match(await refused({ status: 500, downMs: 5 }), /^downMs says more about restart, which is not there/)
  assert.match(await refused({ events: { delayMs: 'long' } }), /^events must be drop, gone, end or \{ delayMs \}/)
  assert.match(await refused({ bytesPerSecond: 0 }), /^bytesPerSecond must be/)
  assert.match(await refused({ status: 500, name: 'x'.repeat(5000) }), /^name must be a string, not "x+…$/)
  assert.match(await refused([{ status: 500 }], 'PUT'), /^a PUT replaces all faults; its body is/)
  assert.match(await refused({ faults: [{ status: 500 }, {}] }, 'PUT'), /^a fault needs an effect/)
  assert.match(await refused({ faults: [], seed: 'x' }, 'PUT'), /^seed must be a whole number/)
  assert.match(await refused({ faults: new Array(1001).fill({ status: 500 }) }, 'PUT'), /^there are 1000 faults at most/)
  assert.equal((await ask('POST', FAULTS, `"${'x'.repeat(300_000)}"`)).code, 413)
  assert.equal((await ask('PATCH', FAULTS, {})).code, 405)
  assert.deepEqual(server.faults.report(), [])
})

test('only users with the right to do so may inject faults', patient, async () => {
  const jane = server.as('jane')
  for (const method of ['GET', 'POST', 'PUT', 'DELETE'])
    assert.equal((await ask(method, FAULTS, method === 'GET' ? undefined : { status: 500 }, jane)).code, 403)
  await server.apply(
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'breaker' },
      rules: [{ nonResourceURLs: ['/keelson/faults', '/keelson/faults/*'], verbs: ['get', 'post', 'delete'] }],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'breaker' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'breaker' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
    },
  )
  // Whatever fails, the way to undo it does not.
  const added = await ask('POST', FAULTS, { status: 500 }, jane)
  assert.equal(added.code, 201)
  assert.equal((await ask('GET', MAPS)).code, 500)
  assert.equal((await ask('GET', '/version')).code, 500)
  assert.equal((await ask('PUT', FAULTS, { faults: [] }, jane)).code, 403)
  assert.equal((await ask('DELETE', `${FAULTS}/${added.body.id}`, undefined, jane)).code, 200)
  assert.equal((await ask('GET', MAPS)).code, 200)
})

test('fault injection is off unless a flag turns it on', patient, async t => {
  const plain = await start({ controllers: ['none'] })
  t.after(() => plain.close())
  assert.equal((await plain.fetch(FAULTS)).status, 404)
  const script = `
    const { kubeconfig } = { kubeconfig: require('fs').readFileSync(process.env.KUBECONFIG, 'utf8') }
    const pem = name => Buffer.from(new RegExp(name + ': (\\\\S+)').exec(kubeconfig)[1], 'base64')
    const options = { ca: pem('certificate-authority-data'), cert: pem('client-certificate-data'), key: pem('client-key-data') }
    const ask = (method, path, body) => new Promise((resolve, reject) =>
      require('https').request(process.env.KEELSON_URL + path, { ...options, method, agent: false }, answer => { answer.resume(); resolve(answer.statusCode) }).on('error', () => resolve('cut')).end(body))
    ;(async () => {
      const codes = [await ask('POST', '/keelson/faults', '{"verb":"list","restart":"after","times":1}')]
      codes.push(await ask('GET', '${MAPS}'))
      for (let code = 'cut'; code === 'cut'; ) codes.push((code = await ask('GET', '${MAPS}')))
      console.log(codes.filter((code, i) => code !== codes[i - 1]).join())
    })()`
  const { stdout, stderr } = await keelson('run', '--controllers=none', '--enable-fault-injection', '--', process.execPath, '-e', script)
  assert.deepEqual([stdout, stderr], ['201,cut,200\n', ''])
})
