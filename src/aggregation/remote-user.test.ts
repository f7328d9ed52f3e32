import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { remoteUserHeaders } from './remote-user.ts'

test('a user is told in headers, keys of extras escaped', () => {
  assert.deepEqual(
    remoteUserHeaders({
      name: 'jane',
      uid: '42',
      groups: ['a', 'b'],
      extra: { 'example.com/Credential-Id': ['x', 'y'], 'with space%': ['z'] },
    }),
    {
      'x-remote-user': 'jane',
      'x-remote-uid': '42',
      'x-remote-group': ['a', 'b'],
      'x-remote-extra-example.com%2Fcredential-id': ['x', 'y'],
      'x-remote-extra-with%20space%25': ['z'],
    },
  )
  assert.deepEqual(remoteUserHeaders({ name: 'anna', groups: [] }), { 'x-remote-user': 'anna' })
})

test('no name can add a header, and letters of all languages arrive as UTF-8', () => {
  assert.equal(
    remoteUserHeaders({ name: 'a\r\nx-remote-group: system:masters', groups: [] })['x-remote-user'],
    'a  x-remote-group: system:masters',
  )
  assert.equal(Buffer.from(String(remoteUserHeaders({ name: 'Jürgen 李', groups: [] })['x-remote-user']), 'latin1').toString(), 'Jürgen 李')
  assert.throws(() => remoteUserHeaders({ name: 'a\u0000b', groups: [] }), /invalid header field value for "X-Remote-User"/)
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (name, key) => {
      let headers: ReturnType<typeof remoteUserHeaders>
      try {
        headers = remoteUserHeaders({ name, groups: [name], extra: { [key]: [name] } })
      } catch {
        return
      }
      for (const [header, value] of Object.entries(headers)) {
        assert.match(header, /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/)
        for (const each of [value].flat()) assert.match(each, /^[\t\x20-\x7e\x80-\xff]*$/)
      }
    }),
  )
})
