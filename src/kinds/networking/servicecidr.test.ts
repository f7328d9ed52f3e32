import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource } from '../../../test/kits/kinds/kinds.ts'
import { ServiceCIDR } from './servicecidr.ts'

const blocks = (...cidrs: string[]) => ({ spec: { cidrs } })

test('there are one or two blocks, of different families, in canonical form', () => {
  assert.deepEqual(check(ServiceCIDR, blocks('10.1.0.0/24', 'fd00::/112')), [])
  assert.deepEqual(check(ServiceCIDR, {}), ['spec.cidrs: Required value: at least one CIDR required'])
  assert.deepEqual(check(ServiceCIDR, blocks('10.1.0.0/24', 'fd00::/112', '10.2.0.0/24')), [
    'spec.cidrs: Invalid value: {"CIDRs":["10.1.0.0/24","fd00::/112","10.2.0.0/24"]}: may only hold up to 2 values',
  ])
  assert.deepEqual(check(ServiceCIDR, blocks('10.1.0.0/24', '10.2.0.0/24')), [
    'spec.cidrs: Invalid value: ["10.1.0.0/24","10.2.0.0/24"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
  ])
  assert.deepEqual(check(ServiceCIDR, blocks('10.1.0.0')), [
    'spec.cidrs[0]: Invalid value: "10.1.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
  ])
  assert.deepEqual(check(ServiceCIDR, blocks('10.1.0.5/24')), [
    'spec.cidrs[0]: Invalid value: "10.1.0.5/24": must not have bits set beyond the prefix length',
  ])
})

test('blocks do not change, but a second family may be added', () => {
  const old = blocks('10.1.0.0/24')
  assert.deepEqual(check(ServiceCIDR, blocks('10.2.0.0/24'), { old }), ['spec.cidrs[0]: Invalid value: "10.2.0.0/24": field is immutable'])
  assert.deepEqual(check(ServiceCIDR, blocks('10.1.0.0/24', 'fd00::/112'), { old }), [])
  assert.deepEqual(check(ServiceCIDR, {}, { old }), ['spec.cidrs: Invalid value: []: field is immutable'])
  assert.equal(check(ServiceCIDR, blocks('10.1.0.0/24', '10.3.0.0/24'), { old }).length, 1)
})

test('a status may say anything', () => {
  assert.deepEqual(checkSubresource(ServiceCIDR, 'status', { status: { conditions: [{ type: 'odd type' }] } }, blocks('10.1.0.0/24')), [])
})

test('its table shows the blocks', () => {
  assert.equal(cells(ServiceCIDR, blocks('10.1.0.0/24', 'fd00::/112'))['CIDRs'], '10.1.0.0/24,fd00::/112')
})
