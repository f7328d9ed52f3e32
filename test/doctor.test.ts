// keelson doctor: says that a healthy server is well, names each thing that is wrong, and mends it when told to.
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { issueAuthority } from '../src/lib/x509/issue.ts'
import type { Report } from '../src/server/doctor/report.ts'
import { ask, CONFIG_MAPS, configMap, eventually, keelson, patient, serveHere, type Target, temporaryDirectory } from './kit.ts'
import { keelsonHere } from './kits/command-here.ts'
import { damageData } from './kits/damage.ts'
import { WIDGETS } from './samples.ts'

type Examined = {
  readonly code: number | null
  readonly report: Report & { readonly fixed?: readonly { isDone: boolean; text: string }[] }
}

async function examine(...args: string[]): Promise<Examined> {
  const { code, stdout, stderr } = await keelsonHere('doctor', '--output', 'json', ...args)
  assert.equal(stderr, '')
  return { code, report: JSON.parse(stdout) }
}

const found = ({ report }: Examined) => report.findings.map(({ check, subject, message }) => `${check}: ${subject}: ${message}`)

async function post(server: Target, path: string, body: object): Promise<any> {
  const answer = await ask(server, path, { method: 'POST', body })
  assert.equal(answer.status, 201, answer.text)
  return answer.json
}

const DAY = 24 * 3600_000
const authority = (days: number) =>
  issueAuthority('old-ca', { notBefore: new Date(Date.now() - 100 * DAY), notAfter: new Date(Date.now() + days * DAY) })

test('a healthy server and its directory are well', patient, async t => {
  const server = await serveHere(t)
  const online = await examine('--data-dir', server.dataDir)
  assert.deepEqual([online.code, found(online), online.report.isWell, online.report.skipped], [0, [], true, []])
  const { store, records, certificates, slowestRequests } = online.report
  assert.ok(store!.usedBytes! > 0 && store!.bytes! >= store!.usedBytes! && store!.freePages !== undefined && store!.quotaBytes! > 0)
  assert.ok(records!.checked > 100 && records!.unreadable.length === 0)
  assert.ok(records!.kinds[0]!.bytes >= records!.kinds[1]!.bytes)
  assert.ok(certificates.length >= 6 && Array.isArray(slowestRequests))
  const text = await keelson('doctor', '--data-dir', server.dataDir)
  assert.match(text.stdout, /^Examined https:[\s\S]*oldest reader +none[\s\S]*LARGEST KINDS[\s\S]*All is well\.\n$/)
  await server.stop()
  const before = readFileSync(join(server.dataDir, 'store', 'keelson.lmdb'))
  const offline = await examine('--data-dir', server.dataDir)
  assert.deepEqual([offline.code, found(offline)], [0, []])
  assert.ok(readFileSync(join(server.dataDir, 'store', 'keelson.lmdb')).equals(before), 'nothing changes')
})

test('what fails or is stuck in a running server is named with its reason', patient, async t => {
  const server = await serveHere(t)
  const hooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
  const rule = { apiGroups: ['example.com'], apiVersions: ['*'], operations: ['CREATE'], resources: ['*'] }
  const caBundle = Buffer.from(authority(10).cert).toString('base64')
  await post(server, hooks, {
    metadata: { name: 'guard' },
    webhooks: [
      {
        name: 'gone.example.com',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        rules: [rule],
        clientConfig: { service: { namespace: 'default', name: 'gone' }, caBundle },
      },
      {
        name: 'idle.example.com',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        rules: [{ ...rule, apiGroups: [''], resources: ['configmaps'] }],
        failurePolicy: 'Ignore',
        timeoutSeconds: 1,
        clientConfig: { service: { namespace: 'default', name: 'idle' } },
      },
    ],
  })
  await post(server, '/api/v1/namespaces/default/services', { metadata: { name: 'idle' }, spec: { ports: [{ port: 443 }] } })
  await post(server, '/apis/apiregistration.k8s.io/v1/apiservices', {
    metadata: { name: 'v1.things.example.org' },
    spec: {
      group: 'things.example.org',
      version: 'v1',
      groupPriorityMinimum: 100,
      versionPriority: 100,
      service: { namespace: 'default', name: 'nowhere' },
    },
  })
  // The webhook is called, and fails.
  await eventually('a failed call', async () => {
    await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap(`called-${Date.now()}`) })
    const { text } = await ask(server, '/metrics')
    return /webhook_fail_open_count\{[^}]*idle\.example\.com[^}]*\} [1-9]/.test(text) || undefined
  })
  await eventually('the APIService is looked at', async () => {
    const { json } = await ask(server, '/apis/apiregistration.k8s.io/v1/apiservices/v1.things.example.org')
    return json.status?.conditions?.some(({ status }: { status: string }) => status === 'False') || undefined
  })
  const all = found(await examine('--data-dir', server.dataDir))
  for (const expected of [
    /^webhooks: validatingwebhookconfiguration\/guard gone\.example\.com: the service default\/gone that it is at does not exist; requests .* are refused \(failurePolicy Fail\)/,
    /^webhooks: validatingwebhookconfiguration\/guard gone\.example\.com: the certificate of CN=old-ca expires in (9|10) days/,
    /^webhooks: .* idle\.example\.com: the service default\/idle that it is at has no endpoint that is ready; it is skipped/,
    /^webhooks: idle\.example\.com: calls of it have failed \d+ times/,
    /^apiservices: apiservice\/v1\.things\.example\.org: is not available: ServiceNotFound: /,
  ])
    assert.ok(
      all.some(line => expected.test(line)),
      `${expected} is in\n${all.join('\n')}`,
    )
  assert.equal(all.length, 5, all.join('\n'))
})

test('deletions that are stuck are named with what holds them', patient, async t => {
  const server = await serveHere(t)
  await post(server, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', WIDGETS)
  await eventually('widgets are served', async () =>
    (await ask(server, '/apis/example.com/v1/namespaces/default/widgets')).status === 200 ? true : undefined,
  )
  await post(server, '/apis/example.com/v1/namespaces/default/widgets', {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'held', finalizers: ['example.com/guard'] },
  })
  await post(server, '/api/v1/namespaces', { metadata: { name: 'going' } })
  await post(server, '/api/v1/namespaces/going/configmaps', configMap('kept', {}, { finalizers: ['example.com/keeper'] }))
  await ask(server, '/api/v1/namespaces/going', { method: 'DELETE' })
  await ask(server, `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${WIDGETS.metadata.name}`, { method: 'DELETE' })
  await eventually('the namespace says why', async () => {
    const { json } = await ask(server, '/api/v1/namespaces/going')
    return json.status?.conditions?.some((c: any) => c.type === 'NamespaceFinalizersRemaining' && c.status === 'True') || undefined
  })
  // Deletions that have just begun are none to speak of.
  assert.deepEqual(found(await examine('--data-dir', server.dataDir)), [])
  await server.stop()
  const { examineFolder } = await import('../src/server/doctor/report.ts')
  const later = new Date(Date.now() + 120_000)
  const { findings } = await examineFolder(server.dataDir, later, () => {})
  const lines = findings.map(({ subject, message }) => `${subject}: ${message}`)
  assert.equal(lines.length, 2, lines.join('\n'))
  assert.ok(
    lines.some(line => /^namespace\/going: is being deleted since .*example\.com\/keeper/.test(line)),
    lines.join('\n'),
  )
  assert.ok(
    lines.some(line =>
      /^customresourcedefinition\/widgets\.example\.com: .*1 of its objects are left, 1 with finalizers \(example\.com\/guard\), such as default\/held/.test(
        line,
      ),
    ),
    lines.join('\n'),
  )
})

test('damage in a directory is found and mended item by item, with confirmation where something is removed', patient, async t => {
  const server = await serveHere(t)
  await post(server, CONFIG_MAPS, configMap('broken', { text: 'the text that breaks' }))
  await post(server, CONFIG_MAPS, configMap('sound'))
  await server.stop()
  const { dataDir } = server
  damageData(dataDir, 'text that breaks')
  const { cert, key } = authority(5)
  writeFileSync(join(dataDir, 'pki', 'front-proxy-ca.pem'), cert + key, { mode: 0o600 })
  chmodSync(join(dataDir, 'pki', 'service-accounts.pem'), 0o644)
  mkdirSync(join(dataDir, 'store.restoring'))
  const first = await examine('--data-dir', dataDir)
  assert.equal(first.code, 3)
  const lines = found(first)
  for (const expected of [
    /^records: \/core\/configmaps\/default\/broken: .*does not match its checksum/,
    /^certificates: pki\/front-proxy-ca\.pem: the certificate of CN=old-ca expires in [45] days/,
    /^files: .*store\.restoring: is left over/,
    /^files: .*service-accounts\.pem: other users can read this key/,
  ])
    assert.ok(
      lines.some(line => expected.test(line)),
      `${expected} is in\n${lines.join('\n')}`,
    )
  assert.equal(lines.length, 4, lines.join('\n'))
  const asked = await keelsonHere('doctor', '--fix', '--data-dir', dataDir)
  assert.equal(asked.code, 3)
  assert.match(asked.stdout, /– \/core\/configmaps\/default\/broken was left: answer y, or run with --fix --yes/)
  assert.match(asked.stdout, /✓ renewed the certificates/)
  const sure = await examine('--fix', '--yes', '--data-dir', dataDir)
  assert.deepEqual([sure.code, sure.report.fixed!.map(({ text }) => text)], [0, ['removed /core/configmaps/default/broken']])
  assert.deepEqual(found(await examine('--data-dir', dataDir)), [])
  const again = await serveHere(t, { dataDir })
  assert.equal((await ask(again, `${CONFIG_MAPS}/sound`)).status, 200)
  assert.equal((await ask(again, `${CONFIG_MAPS}/broken`)).status, 404)
})

test('a running server tells of records that cannot be read, and removes them where that is allowed', patient, async t => {
  const first = await serveHere(t)
  await post(first, CONFIG_MAPS, configMap('broken', { text: 'the text that breaks' }))
  await first.stop()
  damageData(first.dataDir, 'text that breaks')
  const plain = await serveHere(t, { dataDir: first.dataDir, flags: ['--feature-gates', 'AllowUnsafeMalformedObjectDeletion=false'] })
  const refused = await examine('--fix', '--yes', '--data-dir', first.dataDir)
  assert.equal(refused.code, 3)
  assert.match(found(refused).join('\n'), /^records: \/core\/configmaps\/default\/broken: .*checksum/)
  assert.match(refused.report.fixed![0]!.text, /was not removed: .*AllowUnsafeMalformedObjectDeletion=true/)
  await plain.stop()
  await serveHere(t, { dataDir: first.dataDir })
  const mended = await examine('--fix', '--yes', '--data-dir', first.dataDir)
  assert.deepEqual([mended.code, mended.report.fixed!.map(({ isDone }) => isDone)], [0, [true]])
  assert.deepEqual(found(await examine('--data-dir', first.dataDir)), [])
})

test('a user without rights is told what could not be examined', patient, async t => {
  const server = await serveHere(t)
  const { stdout } = await keelsonHere('kubeconfig', '--user', 'bob', '--data-dir', server.dataDir)
  const kubeconfig = join(temporaryDirectory(t), 'bob')
  writeFileSync(kubeconfig, stdout, { mode: 0o600 })
  const { report } = await examine('--kubeconfig', kubeconfig)
  assert.match(report.skipped.map(({ reason }) => reason).join('\n'), /User "bob" cannot get path "\/keelson\/v1\/doctor"/)
  const text = await keelsonHere('doctor', '--kubeconfig', kubeconfig)
  assert.match(text.stdout, /Not examined\n {2}store, records[\s\S]*All that was examined is well/)
})
