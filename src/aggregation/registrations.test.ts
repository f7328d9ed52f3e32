import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from '../client/client.ts'
import { type RegistrationParts, Registrations } from './registrations.ts'

type Handler = (change: { type: string; current: { name: string; object: object } }) => void

/** Registrations that follow APIServices which the test writes. */
async function following() {
  let handler: Handler = () => {}
  const watch = async (given: Handler) => void (handler = given)
  const client = { of: () => ({ watch }) } as unknown as Client
  const registrations = new Registrations({} as RegistrationParts, 'k8s.io')
  await registrations.follow(client, new AbortController().signal, () => {})
  const name = 'v1.fish.example.com'
  const write = (type: string, available: string, versionPriority = 15) =>
    handler({
      type,
      current: {
        name,
        object: {
          metadata: { name },
          spec: {
            group: 'fish.example.com',
            version: 'v1',
            groupPriorityMinimum: 1000,
            versionPriority,
            service: { namespace: 'a', name: 'b' },
          },
          status: { conditions: [{ type: 'Available', status: available }] },
        },
      },
    })
  return { registrations, write, named: () => registrations.named(name)! }
}

test('listeners are told when a server comes, is available or not, describes itself otherwise and goes', async () => {
  const { registrations, write, named } = await following()
  const listening = new AbortController()
  let told = 0
  registrations.onChange(() => told++, listening.signal)
  const toldBy = (change: () => void) => {
    told = 0
    change()
    return told
  }
  assert.equal(
    toldBy(() => write('added', 'False')),
    1,
  )
  assert.equal(
    toldBy(() => write('modified', 'False')),
    0,
  )
  assert.equal(
    toldBy(() => write('modified', 'True')),
    1,
  )
  assert.equal(
    toldBy(() => write('modified', 'True', 20)),
    1,
  )
  const discovery = { version: 'v1', freshness: 'Current' }
  assert.equal(
    toldBy(() => registrations.describe(named(), { discovery })),
    1,
  )
  assert.equal(
    toldBy(() => registrations.describe(named(), { discovery })),
    0,
  )
  assert.equal(
    toldBy(() => write('deleted', 'True')),
    1,
  )
  listening.abort()
  assert.equal(
    toldBy(() => write('added', 'True')),
    0,
  )
})
