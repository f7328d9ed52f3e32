// Permission to read pods' subresources must not be enough to run commands in them: exec, attach and port-forward over WebSocket need
// create.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { ask, patient, type Scope, startInProcess, type Target } from '../kit.ts'

const PODS = '/api/v1/namespaces/default/pods'
const PATHS = ['exec?command=ls&stdout=true', 'attach?stdout=true', 'portforward?ports=80']

async function open(t: Scope, options: { readonly featureGates?: string } = {}) {
  const server = await startInProcess(t, options)
  const make = async (path: string, body: object) => {
    const { status, text } = await ask(server, path, { method: 'POST', body })
    assert.equal(status, 201, text)
  }
  await make(PODS, { metadata: { name: 'web' }, spec: { containers: [{ name: 'main', image: 'x' }] } })
  const grant = async (user: string, verbs: string[]) => {
    const rules = [{ apiGroups: [''], resources: ['pods/exec', 'pods/attach', 'pods/portforward'], verbs }]
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default'
    await make(`${rbac}/roles`, { metadata: { name: user }, rules })
    await make(`${rbac}/rolebindings`, {
      metadata: { name: user },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: user },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    })
  }
  await grant('reader', ['get'])
  await grant('writer', ['get', 'create'])
  return server
}

/** The status and message with which a WebSocket is refused. */
const webSocket = (server: Target, path: string, user: string) =>
  new Promise<{ status: number; message: string }>((resolve, reject) => {
    const socket = new WebSocket(`${server.url.replace('https', 'wss')}${PODS}/web/${path}`, ['v5.channel.k8s.io'], {
      ...server.credentials,
      headers: { 'impersonate-user': user },
    })
    socket.on('unexpected-response', (_, answer) => {
      let text = ''
      answer
        .on('data', part => (text += part))
        .on('end', () => resolve({ status: answer.statusCode ?? 0, message: JSON.parse(text).message }))
    })
    socket.on('open', () => socket.terminate())
    socket.on('open', () => reject(new Error('the connection was opened')))
    socket.on('error', reject)
  })

test('get alone opens no exec, attach or port-forward, neither over WebSocket nor over SPDY', patient, async t => {
  const server = await open(t)
  for (const path of PATHS) {
    // At 6256f0f1 all of these got as far as the pod, which has no node yet: 400.
    assert.deepEqual(await webSocket(server, path, 'reader'), { status: 403, message: 'pods "web" is forbidden: ' }, path)
    for (const upgrade of [{}, { connection: 'Upgrade', upgrade: 'SPDY/3.1' }]) {
      const headers = { 'impersonate-user': 'reader', ...upgrade }
      assert.equal((await ask(server, `${PODS}/web/${path}`, { headers })).status, 403, path)
      assert.equal((await ask(server, `${PODS}/web/${path}`, { headers, method: 'POST' })).status, 403, path)
    }
    assert.notEqual((await webSocket(server, path, 'writer')).status, 403, path)
    assert.equal(
      (await ask(server, `${PODS}/none/${path}`, { headers: { 'impersonate-user': 'reader' } })).status,
      403,
      'nor tells what is there',
    )
  }
})

test('the gate AuthorizePodWebsocketUpgradeCreatePermission turns that off', patient, async t => {
  const server = await open(t, { featureGates: 'AuthorizePodWebsocketUpgradeCreatePermission=false' })
  for (const path of PATHS) assert.notEqual((await webSocket(server, path, 'reader')).status, 403, path)
})
