import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../../test/kit.ts'
import { credentialsOfKubeconfig } from './webhook-kubeconfig.ts'

test('a webhook is called as the user that is named most like its address', t => {
  const folder = temporaryDirectory(t)
  const file = join(folder, 'kubeconfig')
  const users = ['a.example.com:8443', '*.example.com:8443', 'b.example.com', '*.svc', 'somebody']
  const list = users.map(name => `{ name: "${name}", user: { token: "${name}" } }`)
  const write = (more: string[] = []) => writeFileSync(file, `{ users: [${[...list, ...more].join(', ')}] }`)
  const asked = (address: string) => credentialsOfKubeconfig(file, () => 0)(address).headers?.['authorization']
  write()
  assert.equal(asked('a.example.com:8443'), 'Bearer a.example.com:8443')
  assert.equal(asked('x.y.example.com:8443'), 'Bearer *.example.com:8443')
  assert.equal(asked('b.example.com:443'), 'Bearer b.example.com')
  assert.equal(asked('hook.team.svc:443'), 'Bearer *.svc')
  assert.equal(asked('hook.team.svc:8443'), undefined)
  assert.equal(asked('a.example.com:443'), undefined)
  write(['{ name: "*", user: { username: u, password: p } }'])
  assert.equal(asked('elsewhere:443'), `Basic ${Buffer.from('u:p').toString('base64')}`)
  writeFileSync(file, `{ users: [${list}], contexts: [{ name: c, context: { user: somebody } }], current-context: c }`)
  assert.equal(asked('elsewhere:443'), 'Bearer somebody')
  write(['{ name: e, user: { exec: {} } }'])
  assert.throws(() => asked('a:1'), /does not call webhooks with exec credentials/)
})

test('a token that is in a file is read again, and kept while the file is not there', t => {
  const folder = temporaryDirectory(t)
  const [file, token] = [join(folder, 'kubeconfig'), join(folder, 'token')]
  writeFileSync(file, '{ users: [{ name: "*", user: { tokenFile: token } }] }')
  writeFileSync(token, 'first')
  let now = 0
  const credentials = credentialsOfKubeconfig(file, () => now)
  const asked = () => credentials('a:1').headers?.['authorization']
  writeFileSync(token, 'second')
  assert.equal(asked(), 'Bearer first')
  now = 10_000
  assert.equal(asked(), 'Bearer second')
  rmSync(token)
  now = 20_000
  assert.equal(asked(), 'Bearer second')
})
