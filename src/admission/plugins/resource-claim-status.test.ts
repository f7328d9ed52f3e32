import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attributesOf, drive } from '../../../test/kits/admission.ts'
import { contextWith, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { waitFor } from '../../lib/step.ts'
import { resourceOf } from '../../schema/resource.ts'
import { StatusError } from '../../schema/status-error.ts'
import type { User } from '../../schema/user.ts'
import { resourceClaimStatus } from './resource-claim-status.ts'

const GATE = 'DRAResourceClaimGranularStatusAuthorization'
const resource = resourceOf(ResourceClaim, 'k8s.io')
const onNode = (name: string) => ({ nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }] }] })
const allocation = (node = 'n') => ({ devices: { results: [] }, nodeSelector: onNode(node) })
const device = (driver: string, device = 'd', more: object = {}) => ({ driver, pool: 'p', device, ...more })
const jane: User = { name: 'jane', groups: [] }
const driverOn = (node: string): User => ({
  name: 'system:serviceaccount:ns:driver',
  groups: [],
  extra: { 'authentication.kubernetes.io/node-name': [node] },
})

type Change = { readonly user?: User; readonly may?: readonly string[]; readonly verb?: string; readonly gates?: readonly string[] }

/** The permissions that a change asks for, and the errors that it is refused with. */
async function change(before: object, after: object, { user = jane, may = [], verb = 'update', gates = [GATE] }: Change = {}) {
  const asked: string[] = []
  const plugin = resourceClaimStatus({
    groupDomain: 'k8s.io',
    refusalOf(_, { verb, resource: r }) {
      asked.push(`${verb} ${r!.plural}/${r!.subresource} ${r!.namespace}/${r!.name}`)
      return waitFor(may.includes(asked.at(-1)!) ? undefined : 'no')
    },
  })
  const claim = (status: object) => ({ ...withDefaults(ResourceClaim, { metadata: { name: 'c' }, spec: {} }), status })
  const ctx = contextWith({ user, gates })
  const about = { operation: 'UPDATE', verb, subresource: 'status', namespace: 'ns', name: 'c', oldObject: claim(before), ctx } as const
  try {
    await drive(plugin.validate!(attributesOf(resource, claim(after), about)))
    return { asked, errors: [] }
  } catch (error) {
    assert.ok(error instanceof StatusError && error.code === 422)
    return { asked, errors: (error.details?.causes ?? []).map(({ field, message }) => `${field}: ${message}`) }
  }
}

test('writing allocation and reservations of a claim needs permission to update the binding', async () => {
  const needs = 'changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="patch" permission'
  assert.deepEqual(await change({}, { allocation: allocation() }, { verb: 'patch' }), {
    asked: ['patch resourceclaims/binding /'],
    errors: [`status.allocation: Forbidden: ${needs}: no`],
  })
  const may = ['update resourceclaims/binding /']
  assert.deepEqual((await change({}, { allocation: allocation(), reservedFor: [{ name: 'p' }] }, { may })).errors, [])
  assert.deepEqual((await change({ allocation: allocation() }, { allocation: allocation() })).asked, [])
})

test('writing device status needs permission for each driver whose devices changed', async () => {
  const before = { allocation: allocation(), devices: [device('a'), device('b'), device('c')] }
  const after = { allocation: allocation(), devices: [device('a'), device('b', 'd', { data: {} }), device('e')] }
  const { asked, errors } = await change(before, after, { may: ['arbitrary-node:update resourceclaims/driver ns/c'] })
  assert.deepEqual(
    asked,
    ['b', 'c', 'e'].map(driver => `arbitrary-node:update resourceclaims/driver ns/${driver}`),
  )
  const needs = 'changing status.devices requires resource="resourceclaims/driver", verb="[arbitrary-node:update]" permission'
  assert.deepEqual(errors, [`status.devices: Forbidden: ${needs}: no`, `status.devices: Forbidden: ${needs}: no`])
})

test('a driver may be allowed on the node of the claim only', async () => {
  const [before, after] = [{ allocation: allocation('n') }, { allocation: allocation('n'), devices: [device('a')] }]
  const may = ['associated-node:update resourceclaims/driver ns/a']
  assert.deepEqual((await change(before, after, { user: driverOn('n'), may })).errors, [])
  assert.equal((await change(before, after, { user: driverOn('m'), may })).errors.length, 1)
  assert.equal((await change(before, after, { user: { ...driverOn('n'), name: 'jane' }, may })).errors.length, 1)
  const needs = 'verb="[associated-node:update arbitrary-node:update]" permission'
  assert.ok((await change(before, after, { user: driverOn('n') })).errors[0]?.includes(needs))
})

test('nothing is checked where the gate is off, and device status is removed with the allocation', async () => {
  assert.deepEqual(await change({}, { allocation: allocation() }, { gates: [] }), { asked: [], errors: [] })
  const may = ['update resourceclaims/binding /']
  const gone = await change({ allocation: allocation(), devices: [device('a')] }, {}, { may })
  assert.deepEqual(gone, { asked: may, errors: [] })
})
