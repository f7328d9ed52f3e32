import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attributesOf, drive } from '../../../test/kits/admission.ts'
import { withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { resourceOf } from '../../schema/resource.ts'
import { StatusError } from '../../schema/status-error.ts'
import { Reinvocation } from '../reinvocation.ts'
import { serviceAccount } from './service-account.ts'

const PATH = '/var/run/secrets/kubernetes.io/serviceaccount'
const account = (name: string, more: object = {}): any => ({
  metadata: { name, namespace: 'ns', ...(more as any).metadata },
  ...more,
  ...{},
})

type Setup = { accounts?: any[]; appears?: { after: number; account: any } }
function plugin({ accounts = [account('default')], appears }: Setup = {}) {
  let pauses = 0
  const made = serviceAccount({
    reader: {
      list: () => [],
      get: (_, name, namespace) =>
        [...accounts, ...(appears && pauses >= appears.after ? [appears.account] : [])].find(
          ({ metadata }) => metadata.name === name && namespace === 'ns',
        ),
    },
    randomSuffix: () => 'abcde',
    pause: async () => void pauses++,
  })
  return { made, pauses: () => pauses }
}

type Sent = { spec?: object; metadata?: object; subresource?: string; operation?: 'CREATE' | 'UPDATE' }
async function admitted(
  made: ReturnType<typeof serviceAccount>,
  { spec = {}, metadata = {}, subresource = '', operation = 'CREATE' }: Sent = {},
) {
  const object = withDefaults(Pod, {
    metadata: { name: 'p', namespace: 'ns', ...metadata },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  })
  const attributes = attributesOf(resourceOf(Pod, 'k8s.io'), object, { operation, subresource, namespace: 'ns', name: 'p' })
  try {
    await drive(made.mutate?.(attributes, new Reinvocation()))
    await drive(made.validate?.(attributes))
    return object
  } catch (error) {
    if (error instanceof StatusError) return `${error.code} ${error.message}`
    throw error
  }
}

test('a pod runs as the default account, with a token in every container', async () => {
  const { made } = plugin()
  const { spec } = await admitted(made, { spec: { initContainers: [{ name: 'i', image: 'i' }] } })
  assert.deepEqual([spec.serviceAccountName, spec.serviceAccount], ['default', 'default'])
  const mount = { name: 'kube-api-access-abcde', readOnly: true, mountPath: PATH }
  assert.deepEqual([spec.initContainers[0].volumeMounts, spec.containers[0].volumeMounts], [[mount], [mount]])
  assert.deepEqual(spec.volumes, [
    {
      name: 'kube-api-access-abcde',
      projected: {
        sources: [
          { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
          { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
          { downwardAPI: { items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] } },
        ],
        defaultMode: 420,
      },
    },
  ])
})

test('the pod decides about the token before its account', async () => {
  const shy = plugin({ accounts: [account('default', { automountServiceAccountToken: false })] }).made
  assert.equal((await admitted(shy)).spec.volumes, undefined)
  assert.equal((await admitted(shy, { spec: { automountServiceAccountToken: true } })).spec.volumes.length, 1)
  assert.equal((await admitted(plugin().made, { spec: { automountServiceAccountToken: false } })).spec.volumes, undefined)
})

test('an existing mount at the path of the token is kept', async () => {
  const { made } = plugin()
  const volumes = [{ name: 'mine', emptyDir: {} }]
  const containers = [{ name: 'c', image: 'i', volumeMounts: [{ name: 'mine', mountPath: PATH }] }]
  const { spec } = await admitted(made, { spec: { volumes, containers } })
  assert.deepEqual([spec.volumes.length, spec.containers[0].volumeMounts.length], [1, 1])
  const own = await admitted(made, { spec: { volumes: [{ name: 'kube-api-access-mine', emptyDir: {} }] } })
  assert.equal(own.spec.volumes.length, 1)
  assert.equal(own.spec.containers[0].volumeMounts[0].name, 'kube-api-access-mine')
})

test('secrets for images come from the account unless the pod has some', async () => {
  const { made } = plugin({ accounts: [account('default', { imagePullSecrets: [{ name: 'r' }] })] })
  assert.deepEqual((await admitted(made)).spec.imagePullSecrets, [{ name: 'r' }])
  assert.deepEqual((await admitted(made, { spec: { imagePullSecrets: [{ name: 'x' }] } })).spec.imagePullSecrets, [{ name: 'x' }])
})

test('an account that is not there refuses the pod; the default one is waited for', async () => {
  assert.equal(
    await admitted(plugin().made, { spec: { serviceAccountName: 'none' } }),
    '403 pods "p" is forbidden: error looking up service account ns/none: serviceaccount "none" not found',
  )
  const late = plugin({ accounts: [], appears: { after: 3, account: account('default') } })
  assert.equal((await admitted(late.made)).spec.serviceAccountName, 'default')
  assert.equal(late.pauses(), 3)
  const never = plugin({ accounts: [] })
  assert.match(String(await admitted(never.made)), /^403 .*serviceaccount "default" not found$/)
  assert.equal(never.pauses(), 9)
})

test('mirror pods may not reference service accounts, secrets or tokens', async () => {
  const metadata = { annotations: { 'kubernetes.io/config.mirror': 'x' } }
  const { made } = plugin({ accounts: [] })
  const told = async (spec: object) => {
    const answer = await admitted(made, { metadata, spec: { nodeName: 'n', ...spec } })
    return typeof answer === 'string' ? answer.replace(/^403 pods "p" is forbidden: /, '') : answer.spec.serviceAccountName
  }
  assert.equal(await told({}), undefined)
  assert.equal(await told({ serviceAccountName: 'a' }), 'a mirror pod may not reference service accounts')
  assert.equal(await told({ volumes: [{ name: 'v', secret: { secretName: 's' } }] }), 'a mirror pod may not reference secrets')
  const projected = { sources: [{ serviceAccountToken: { path: 't' } }] }
  assert.equal(await told({ volumes: [{ name: 'v', projected }] }), 'a mirror pod may not use ServiceAccountToken volume projections')
})

test('an account that lists its secrets lets pods use no others', async () => {
  const metadata = { name: 'default', namespace: 'ns', annotations: { 'kubernetes.io/enforce-mountable-secrets': 'true' } }
  const { made } = plugin({ accounts: [{ metadata, secrets: [{ name: 'ok' }], imagePullSecrets: [{ name: 'pull' }] }] })
  const told = async (spec: object, more: Partial<Sent> = {}) => {
    const answer = await admitted(made, { spec: { serviceAccountName: 'default', ...spec }, ...more })
    return typeof answer === 'string' ? answer.replace(/^403 pods "p" is forbidden: /, '') : 'fine'
  }
  const why = 'is not allowed because service account default does not reference that'
  const env = (name: string) => [{ name: 'E', valueFrom: { secretKeyRef: { name, key: 'k' } } }]
  const container = (more: object) => [{ name: 'c', image: 'i', ...more }]
  assert.equal(await told({ containers: container({ env: env('ok'), envFrom: [{ secretRef: { name: 'ok' } }] }) }), 'fine')
  assert.equal(await told({ volumes: [{ name: 'v', secret: { secretName: 'no' } }] }), `volume with secret.secretName="no" ${why} secret`)
  assert.equal(
    await told({ containers: container({ env: env('no') }) }),
    `container c with envVar E referencing secret.secretName="no" ${why} secret`,
  )
  assert.equal(
    await told({ initContainers: [{ name: 'i', image: 'i', envFrom: [{ secretRef: { name: 'no' } }] }] }),
    `init container i with envFrom referencing secret.secretName="no" ${why} secret`,
  )
  assert.equal(await told({ imagePullSecrets: [{ name: 'x' }] }), `imagePullSecrets[0].name="x" ${why} imagePullSecret`)
  const ephemeral = { ephemeralContainers: container({ env: env('no') }) }
  assert.equal(
    await told(ephemeral, { operation: 'UPDATE', subresource: 'ephemeralcontainers' }),
    `ephemeral container c with envVar E referencing secret.secretName="no" ${why} secret`,
  )
  assert.equal(await told({ containers: container({ env: env('no') }) }, { operation: 'UPDATE' }), 'fine')
})
