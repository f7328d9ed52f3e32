import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { becomes, openControllerBench } from '../../../test/kits/controllers.ts'
import { Secret } from '../../kinds/core/secret.ts'
import { ServiceAccount } from '../../kinds/core/serviceaccount.ts'
import { tokenController } from './controller.ts'
import { nextStep } from './reconcile.ts'

const type = 'kubernetes.io/service-account-token'
const asking = (name: string, account: string, more: object = {}) => ({
  metadata: { name, annotations: { 'kubernetes.io/service-account.name': account } },
  type,
  ...more,
})

async function open(t: TestContext) {
  const bench = await openControllerBench(t, [Secret, ServiceAccount])
  await bench.send('POST serviceaccounts', { metadata: { name: 'a' } })
  await bench.send('POST secrets', asking('before', 'a'))
  await bench.send('POST secrets', { metadata: { name: 'other' } })
  const sign = async (account: any, secret: any) => `token of ${account.metadata.name} in ${secret.metadata.name}`
  await bench.run(tokenController({ authority: 'PEM', sign })).idle()
  return bench
}

const decode = (base64: string) => Buffer.from(base64, 'base64').toString()

test('a secret for a token is filled, and filled again', async t => {
  const { send } = await open(t)
  const { body } = await send('GET secrets/before')
  const { uid } = (await send('GET serviceaccounts/a')).body.metadata
  assert.deepEqual(
    Object.entries(body.data)
      .map(([key, value]) => [key, decode(value as string)])
      .sort(),
    [
      ['ca.crt', 'PEM'],
      ['namespace', 'default'],
      ['token', 'token of a in before'],
    ],
  )
  assert.equal(body.metadata.annotations['kubernetes.io/service-account.uid'], uid)
  assert.equal((await send('GET secrets/other')).body.data, undefined)
  await send('PATCH secrets/before', { data: { token: null, 'ca.crt': 'eA==' } })
  const { body: again } = await becomes(
    () => send('GET secrets/before'),
    ({ body }) => body.data.token !== undefined && decode(body.data['ca.crt']) === 'PEM',
  )
  assert.equal(decode(again.data.token), 'token of a in before')
})

test('secrets are deleted with their account, and those without one at once', async t => {
  const { send } = await open(t)
  await send('POST secrets', asking('lost', 'nobody'))
  const gone = (name: string) =>
    becomes(
      () => send(`GET secrets/${name}`),
      ({ code }) => code === 404,
    )
  await gone('lost')
  await send('DELETE serviceaccounts/a')
  await gone('before')
  assert.equal((await send('GET secrets/other')).code, 200)
})

test('a token of an account of another time is not kept', () => {
  const secret = { kind: '', apiVersion: '', ...asking('s', 'a') } as never as Parameters<typeof nextStep>[0]
  secret.metadata.annotations!['kubernetes.io/service-account.uid'] = 'former'
  const account = { kind: '', apiVersion: '', metadata: { name: 'a', uid: 'now' } } as never
  assert.deepEqual(nextStep(secret, account, 'PEM'), { step: 'delete' })
  secret.metadata.deletionTimestamp = '2026-01-01T00:00:00Z'
  assert.equal(nextStep(secret, account, 'PEM'), undefined)
})
