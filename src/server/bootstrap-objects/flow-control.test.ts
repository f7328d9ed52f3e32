import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { clientsOver } from '../../../test/kits/controllers.ts'
import { openBench } from '../../../test/kits/registry.ts'
import { serverIdentity } from '../../client/identity.ts'
import { CustomResourceDefinition } from '../../kinds/apiextensions/customresourcedefinition.ts'
import { APIService } from '../../kinds/apiregistration/apiservice.ts'
import { ConfigMap } from '../../kinds/core/configmap.ts'
import { FlowSchema } from '../../kinds/flowcontrol/flowschema.ts'
import { PriorityLevelConfiguration } from '../../kinds/flowcontrol/prioritylevelconfiguration.ts'
import { ensureApiServices } from './api-services.ts'
import { ensureFlowControl } from './flow-control.ts'

async function open(t: TestContext) {
  const kinds = [FlowSchema, PriorityLevelConfiguration, APIService, CustomResourceDefinition, ConfigMap]
  const bench = await openBench(kinds)
  t.after(() => bench.close())
  const { clientFor, catalog } = clientsOver(bench, kinds)
  const parts = { caches: bench.caches, catalog, client: clientFor(serverIdentity()), groupDomain: 'k8s.io' }
  const ensure = () => Promise.all([ensureFlowControl(parts), ensureApiServices(parts)])
  await ensure()
  return { ...bench, ensure }
}

/** Whether an object is stored as a client would have stored it. */
async function assertCanonical(send: Awaited<ReturnType<typeof open>>['send'], plural: string): Promise<void> {
  const { items } = (await send(`GET ${plural}`)).body
  for (const item of items) {
    const { code, body } = await send(`PUT ${plural}/${item.metadata.name}`, item)
    assert.equal(code, 200, JSON.stringify(body))
    assert.equal(body.metadata.resourceVersion, item.metadata.resourceVersion, `${item.metadata.name} is written as it is`)
  }
}

test('the objects of the server are stored as clients would have stored them', async t => {
  const { send } = await open(t)
  const counts = await Promise.all(
    ['flowschemas', 'prioritylevelconfigurations'].map(async each => (await send(`GET ${each}`)).body.items.length),
  )
  assert.deepEqual(counts, [11, 8])
  for (const plural of ['flowschemas', 'prioritylevelconfigurations', 'apiservices']) await assertCanonical(send, plural)
})

test('a later start writes only what is missing or changed, and leaves what is marked as not managed', async t => {
  const { caches, ensure, send } = await open(t)
  const before = caches.revision
  await ensure()
  assert.equal(caches.revision, before)
  await send('DELETE flowschemas/probes')
  await send('PATCH flowschemas/system-nodes', { spec: { matchingPrecedence: 600 } })
  const own = { metadata: { annotations: { 'apf.kubernetes.io/autoupdate-spec': 'false' } }, spec: { matchingPrecedence: 700 } }
  await send('PATCH flowschemas/kube-scheduler', own)
  await send('DELETE apiservices/v1.')
  await send('PATCH apiservices/v1.flowcontrol.apiserver.k8s.io', { spec: { versionPriority: 3 } })
  await ensure()
  const precedence = async (name: string) => (await send(`GET flowschemas/${name}`)).body.spec.matchingPrecedence
  assert.deepEqual([await precedence('probes'), await precedence('system-nodes'), await precedence('kube-scheduler')], [2, 500, 700])
  const { items } = (await send('GET apiservices')).body
  assert.deepEqual(
    items.map(({ metadata, spec }: any) => `${metadata.name} ${spec.versionPriority}`),
    ['v1. 1', 'v1.apiextensions.k8s.io 15', 'v1.flowcontrol.apiserver.k8s.io 21'],
  )
})
