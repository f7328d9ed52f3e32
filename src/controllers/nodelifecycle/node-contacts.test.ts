import assert from 'node:assert/strict'
import test from 'node:test'
import { nodeOf } from '../../../test/kits/scheduler.ts'
import type { Node } from '../../kinds/core/node.ts'
import { timestampOf } from '../../lib/time.ts'
import { NodeContacts } from './node-contacts.ts'

function open(renewTimes: Record<string, string> = {}) {
  let nowMs = 100_000
  const registered: string[] = []
  const contacts = new NodeContacts({
    now: () => nowMs,
    renewTimeOf: name => renewTimes[name],
    onRegistered: ({ metadata }) => void registered.push(metadata.name!),
  })
  return { contacts, registered, pass: (ms: number) => (nowMs += ms) }
}

/** A node that was created at second 40, with a heartbeat. */
function node(heartbeat?: string, uid = '1'): Node {
  const { metadata, ...others } = nodeOf('a')
  const conditions = heartbeat ? [{ type: 'Ready', status: 'True', lastHeartbeatTime: heartbeat }] : []
  return { ...others, metadata: { ...metadata, uid, creationTimestamp: timestampOf(40_000) }, status: { conditions } } as unknown as Node
}

test('silence begins with the first look at a node that has reported, and ends with its next heartbeat', () => {
  const { contacts, pass, registered } = open()
  assert.equal(contacts.silenceOf(node('first')), 0)
  pass(5000)
  assert.equal(contacts.silenceOf(node('first')), 5000)
  assert.equal(contacts.silenceOf(node('second')), 0)
  assert.deepEqual(registered, ['a'])
})

test('a node that has never reported is silent since its creation', () => {
  assert.equal(open().contacts.silenceOf(node()), 60_000)
})

test('a renewed lease ends the silence; an older renewal time does not', () => {
  const { contacts, pass } = open({ a: '2030-01-01T00:00:05.000000Z' })
  assert.equal(contacts.silenceOf(node()), 0)
  pass(5000)
  contacts.renewed('a', '2030-01-01T00:00:05.000000Z')
  assert.equal(contacts.silenceOf(node()), 5000)
  contacts.renewed('a', '2030-01-01T00:00:10.000000Z')
  assert.equal(contacts.silenceOf(node()), 0)
  contacts.renewed('unknown', '2030-01-01T00:00:10.000000Z')
})

test('a node that was created again starts anew, and one that was forgotten is registered again', () => {
  const { contacts, pass, registered } = open()
  contacts.silenceOf(node('first'))
  pass(5000)
  assert.equal(contacts.silenceOf(node('first', '2')), 0)
  contacts.forget('a')
  contacts.silenceOf(node('first', '2'))
  assert.deepEqual(registered, ['a', 'a'])
})
