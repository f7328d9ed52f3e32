import assert from 'node:assert/strict'
import test from 'node:test'
import { formatFor, hasFormat } from './formats.ts'

const CASES: Readonly<Record<string, { yes: readonly string[]; no: readonly string[] }>> = {
  bsonobjectid: { yes: ['507f1f77bcf86cd799439011'], no: ['507f1f77bcf86cd79943901', 'zzzf1f77bcf86cd799439011'] },
  uri: {
    yes: ['http://a.example/x?y#z', '/path', 'urn:isbn:1', '*', 'http://[::1]:80/', 'https://u:p@h/'],
    no: ['', 'relative', 'http://a b/', '/%zz', 'http://h:port/', ':no', 'http://h#f', '/a\u0001', '#frag'],
  },
  email: {
    yes: ['a@b', 'A B <a@b.c>', '"q q"@d', 'a@[127.0.0.1]', 'a.b@c.d (note)', 'g: a@b;', '<a@b>', 'ä@ö.example'],
    no: ['', 'a', 'a@', '@b', 'a..b@c', '.a@b', 'a@b, c@d', 'a@[x]', '""@b', 'g: a@b, c@d;', 'g: ;', 'a <b@c', 'a@b (open'],
  },
  hostname: {
    yes: ['a', 'a-b', 'example.com', 'xn--x.example', '1a.example'],
    no: ['', '-a', 'a_b', 'a..b', 'a.b-', `${'a'.repeat(64)}.com`, 'a.c', 'x'.repeat(300)],
  },
  ipv4: { yes: ['1.2.3.4', '010.0.0.1'], no: ['1.2.3', '::1', '1.2.3.256', ''] },
  ipv6: { yes: ['::1', '2001:db8::', '::ffff:1.2.3.4'], no: ['1.2.3.4', '::g', 'fe80::1%eth0', ''] },
  cidr: { yes: ['10.0.0.0/8', '10.0.0.5/24', 'fd00::/8'], no: ['10.0.0.0', '10.0.0.0/33', '/8'] },
  mac: {
    yes: ['00:00:5e:00:53:01', '02-00-5e-10-00-00-00-01', '0000.5e00.5301', Array(20).fill('00').join(':')],
    no: ['00:00:5e:00:53', '00:00:5e-00:53:01', '0000.5e00', '00005e005301', ''],
  },
  uuid: { yes: ['123E4567-e89b-12d3-a456-426614174000', '123e4567e89b12d3a456426614174000'], no: ['123e4567'] },
  uuid3: { yes: ['bcd02e22-68f0-3046-a512-327cca9def8f'], no: ['bcd02e22-68f0-4046-a512-327cca9def8f'] },
  uuid4: { yes: ['025b0d74-00a2-4048-bf57-227c5111bb34'], no: ['025b0d74-00a2-3048-bf57-227c5111bb34'] },
  uuid5: { yes: ['886313e1-3b8a-5372-9b90-0c9aee199e5d'], no: ['886313e1-3b8a-5372-cb90-0c9aee199e5d'] },
  isbn: { yes: ['0321751043', '978-0321751041'], no: ['0321751044', '978-0321751042', ''] },
  isbn10: { yes: ['0321751043', '080442957X'], no: ['978-0321751041', '08044295XX'] },
  isbn13: { yes: ['978-0321751041'], no: ['0321751043'] },
  creditcard: { yes: ['4111-1111-1111-1111', '378282246310005'], no: ['4111-1111-1111-1112', '1', ''] },
  ssn: { yes: ['111-11-1111', '111 11 1111'], no: ['11111-1111', '111-11-111a'] },
  hexcolor: { yes: ['#FFF', 'ffffff'], no: ['#ffff', 'ggg'] },
  rgbcolor: { yes: ['rgb(255, 0,100)', 'rgb( 1 , 2 , 3 )'], no: ['rgb(256,0,0)', 'rgb(1,2)', 'rgb(1 2,3,4)', 'rgba(1,2,3)'] },
  byte: { yes: ['YWJj', 'YQ=='], no: ['', 'YQ', 'Y===', 'YW-j'] },
  password: { yes: ['', 'anything'], no: [] },
  date: { yes: ['2024-02-29', '0000-01-01'], no: ['2023-02-29', '2024-13-01', '2024-1-1', '2024-00-10'] },
  duration: { yes: ['1h30m', '22 ns', '2 hours and 5 minutes', '0', '3 weeks'], no: ['', '5', 'abc', '99999999999999999999 s'] },
  'date-time': {
    yes: ['2014-12-15T19:30:20.000Z', '2014-12-15t19:30:20+01:00'],
    no: ['2014-12-15', '2014-12-15T24:00:00Z', '2014-12-15T19:30:60Z', '2014-12-15T19:30Z', '2014-13-15T19:30:20Z'],
  },
  'k8s-short-name': { yes: ['a', 'a-1'], no: ['', 'A', 'a-', 'a.b', 'a'.repeat(64)] },
  'k8s-long-name': { yes: ['a.b-c', 'a'.repeat(253)], no: ['', 'a..b', 'A', 'a'.repeat(254)] },
}

for (const [format, { yes, no }] of Object.entries(CASES))
  test(`which texts are ${format}`, () => {
    for (const text of yes) assert.equal(hasFormat(format, text), true, text)
    for (const text of no) assert.equal(hasFormat(format, text), false, text)
  })

test('a format counts only for the type it belongs to', () => {
  assert.equal(formatFor('date-time', ['string']), 'date-time')
  assert.equal(formatFor('date', []), 'date')
  assert.equal(formatFor('ipv4', ['integer', 'string']), 'ipv4')
  assert.equal(formatFor('int32', ['integer']), 'int32')
  assert.equal(formatFor('int32', ['string']), '')
  assert.equal(formatFor('double', ['number']), 'double')
  assert.equal(formatFor('double', ['integer']), '')
  assert.equal(formatFor('date', ['object']), '')
  assert.equal(formatFor('semver', ['string']), '')
})

test('no format takes long on a hostile text', () => {
  const hostile = ['1'.repeat(200_000), '1 '.repeat(100_000), `a@${'('.repeat(100_000)}`, `${'"\\"'.repeat(50_000)}@`, '-'.repeat(200_000)]
  for (const format of Object.keys(CASES)) for (const text of hostile) assert.equal(typeof hasFormat(format, text), 'boolean')
})
