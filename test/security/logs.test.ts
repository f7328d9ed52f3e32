// Logs: nothing that users or policies wrote is in them, and running out of file descriptors is.
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { ask, CONFIG_MAPS, configMap, eventually, KEELSON, patient, startProcess } from '../kit.ts'

const POLICIES = '/apis/admissionregistration.k8s.io/v1'
const policy = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: 'no-passwords' },
  spec: {
    matchConstraints: { resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }] },
    validations: [
      { expression: "!has(object.data) || !('password' in object.data)", messageExpression: "'must not hold ' + object.data['password']" },
    ],
  },
}
const binding = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name: 'no-passwords' },
  spec: { policyName: 'no-passwords', validationActions: ['Deny'] },
}

test('debug logs have the outcome of policies, not their messages, which may quote secrets', patient, async t => {
  const server = await startProcess(t, { flags: ['--log-level=debug'] })
  for (const [path, body] of [['validatingadmissionpolicies', policy] as const, ['validatingadmissionpolicybindings', binding] as const])
    assert.equal((await ask(server, `${POLICIES}/${path}`, { method: 'POST', body })).status, 201)
  await eventually('the policy', async () => {
    const { status, text } = await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('a', { password: 'hunter2' }) })
    if (status === 201) return void (await ask(server, `${CONFIG_MAPS}/a`, { method: 'DELETE' }))
    return /must not hold hunter2/.test(text) || undefined
  })
  await server.stop()
  // At 6256f0f1 the message was in the line of the request.
  assert.doesNotMatch(server.stderr(), /hunter2/)
  assert.match(server.stderr(), /"policy":"no-passwords","binding":"no-passwords","outcome":"rejected"/)
})

test('running out of file descriptors is logged and counted, and the server goes on when some are free', patient, async t => {
  const limited = ['sh', '-c', 'ulimit -n 64; exec "$0" "$@"', process.execPath, KEELSON] as const
  const server = await startProcess(t, { command: limited })
  const sockets: Socket[] = []
  t.after(() => sockets.forEach(socket => void socket.destroy()))
  for (let i = 0; i < 80; i++) sockets.push(connect(server.port, '127.0.0.1').on('error', () => {}))
  // At 6256f0f1 nothing was ever written.
  await eventually('the log', () => /no file descriptors are left/.test(server.stderr()) || undefined)
  for (const socket of sockets) socket.destroy()
  await eventually('the end of it', () => /file descriptors are free again/.test(server.stderr()) || undefined)
  const metrics = await ask(server, '/metrics')
  assert.match(metrics.text, /^keelson_file_descriptors_exhausted_total 1$/m)
  assert.match(metrics.text, /^process_max_fds 64$/m)
  assert.equal(server.stderr().match(/no file descriptors are left/g)?.length, 1)
})
