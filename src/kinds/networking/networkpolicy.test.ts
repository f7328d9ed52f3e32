import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, warnings, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { NetworkPolicy } from './networkpolicy.ts'

const from = (...peers: object[]) => ({ spec: { ingress: [{ from: peers }] } })
const ports = (...list: object[]) => ({ spec: { egress: [{ ports: list }] } })

test('a policy applies to ingress, and to egress if it has egress rules', () => {
  assert.deepEqual(withDefaults(NetworkPolicy, {}).spec, { podSelector: {}, policyTypes: ['Ingress'] })
  assert.deepEqual(withDefaults(NetworkPolicy, ports({ port: 80 })).spec.policyTypes, ['Ingress', 'Egress'])
  assert.deepEqual(withDefaults(NetworkPolicy, { spec: { policyTypes: ['Egress'] } }).spec.policyTypes, ['Egress'])
  assert.deepEqual(check(NetworkPolicy, { spec: { policyTypes: ['Both'] } }), [
    'spec.policyTypes[0]: Unsupported value: "Both": supported values: "Ingress", "Egress"',
  ])
  assert.deepEqual(check(NetworkPolicy, { spec: { policyTypes: ['Ingress', 'Egress', 'Ingress'] } }), [
    'spec.policyTypes: Invalid value: ["Ingress","Egress","Ingress"]: may not specify more than two policyTypes',
  ])
})

test('ports are numbers, names or ranges of numbers', () => {
  assert.equal(withDefaults(NetworkPolicy, ports({})).spec.egress[0].ports[0].protocol, 'TCP')
  assert.deepEqual(check(NetworkPolicy, ports({ port: 80, endPort: 90 }, { port: 'http' }, {})), [])
  assert.deepEqual(
    check(NetworkPolicy, ports({ port: 80, endPort: 70 }, { port: 'http', endPort: 1 }, { endPort: 1 }, { protocol: 'X' })),
    [
      'spec.egress[0].ports[0].endPort: Invalid value: 70: must be greater than or equal to `port`',
      'spec.egress[0].ports[1].endPort: Invalid value: 1: may not be specified when `port` is non-numeric',
      'spec.egress[0].ports[2].endPort: Invalid value: 1: may not be specified when `port` is not specified',
      'spec.egress[0].ports[3].protocol: Unsupported value: "X": supported values: "TCP", "UDP", "SCTP"',
    ],
  )
  assert.deepEqual(check(NetworkPolicy, ports({ port: 0 })), [
    'spec.egress[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
  ])
})

test('a peer is selected or has an address', () => {
  assert.deepEqual(check(NetworkPolicy, from({ podSelector: {}, namespaceSelector: {} }, { ipBlock: { cidr: '10.0.0.0/8' } })), [])
  assert.deepEqual(check(NetworkPolicy, from({}, { podSelector: {}, ipBlock: { cidr: '10.0.0.0/8' } })), [
    'spec.ingress[0].from[0]: Required value: must specify a peer',
    'spec.ingress[0].from[1]: Forbidden: may not specify both ipBlock and another peer',
  ])
})

test('IP blocks are CIDRs, and exceptions are strict subsets', () => {
  const block = (cidr: string, ...except: string[]) => from({ ipBlock: { cidr, except } })
  assert.deepEqual(check(NetworkPolicy, block('10.0.0.0/8', '10.1.0.0/16')), [])
  assert.deepEqual(check(NetworkPolicy, block('')), ['spec.ingress[0].from[0].ipBlock.cidr: Required value'])
  assert.deepEqual(check(NetworkPolicy, block('10.0.0.0/8', '10.0.0.0/8', '11.0.0.0/16')), [
    'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
    'spec.ingress[0].from[0].ipBlock.except[1]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`',
  ])
  assert.equal(check(NetworkPolicy, block('here')).length, 1)
  assert.deepEqual(check(NetworkPolicy, block('here'), { old: block('here') }), [])
  assert.equal(warnings(NetworkPolicy, block('10.0.0.1/8')).length, 1)
})

test('its table shows the pods', () => {
  assert.equal(cells(NetworkPolicy, { spec: { podSelector: { matchLabels: { a: 'b' } } } })['Pod-Selector'], 'a=b')
  assert.equal(cells(NetworkPolicy, {})['Pod-Selector'], '<none>')
})
