import assert from 'node:assert/strict'
import { test } from 'node:test'
import { authenticationOf } from './configuration.ts'

const ISSUER = { url: 'https://a.example.com', audiences: ['x'] }
const MAPPINGS = { username: { claim: 'sub', prefix: '' } }
const jwt = (more: object = {}) => ({ issuer: ISSUER, claimMappings: MAPPINGS, ...more })

/** The errors of a configuration. */
function wrong(configuration: object): readonly string[] {
  const rules = {
    ownIssuers: ['https://own.example.com'],
    certificateProblem: () => 'no certificate',
    signingAlgorithms: ['RS256'],
    takesEgress: true,
  }
  const found = authenticationOf(configuration as never, rules)
  return 'errors' in found ? found.errors : []
}
const wrongJwt = (more: object) => wrong({ jwt: [jwt(more)] })
const wrongIssuer = (more: object) => wrongJwt({ issuer: { ...ISSUER, ...more } })
const wrongMapping = (more: object) => wrongJwt({ claimMappings: { ...MAPPINGS, ...more } })

test('issuers are told apart by their addresses', () => {
  assert.deepEqual(wrong({ jwt: [jwt()] }), [])
  const discovering = (url: string) => jwt({ issuer: { ...ISSUER, url, discoveryURL: 'https://d.example.com' } })
  assert.deepEqual(wrong({ jwt: [jwt(), jwt()] }), ['jwt[1].issuer.url: Duplicate value: "https://a.example.com"'])
  assert.deepEqual(wrong({ jwt: [discovering('https://a'), discovering('https://b')] }), [
    'jwt[1].issuer.discoveryURL: Duplicate value: "https://d.example.com"',
  ])
  assert.deepEqual(wrongIssuer({ url: 'https://own.example.com' }), [
    'jwt[0].issuer.url: Invalid value: "https://own.example.com": URL must not overlap with disallowed issuers: [https://own.example.com]',
  ])
  assert.deepEqual(wrongIssuer({ url: 'http://u:p@a?b#c' }), [
    'jwt[0].issuer.url: Invalid value: "http://u:p@a?b#c": URL scheme must be https',
    'jwt[0].issuer.url: Invalid value: "http://u:p@a?b#c": URL must not contain a username or password',
    'jwt[0].issuer.url: Invalid value: "http://u:p@a?b#c": URL must not contain a query',
    'jwt[0].issuer.url: Invalid value: "http://u:p@a?b#c": URL must not contain a fragment',
  ])
  assert.deepEqual(wrongIssuer({ audiences: [] }), [
    'jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required',
  ])
  assert.deepEqual(wrongIssuer({ egressSelectorType: 'etcd', certificateAuthority: 'x' }), [
    'jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>": no certificate',
    'jwt[0].issuer.egressSelectorType: Invalid value: "etcd": egress selector must be either controlplane or cluster',
  ])
  assert.deepEqual(wrong({ jwt: Array.from({ length: 65 }, () => jwt()) }), ['jwt: Too many: 65: must have at most 64 items'])
})

test('rules about claims and users are each there once', () => {
  const claimValidationRules = [
    { claim: 'a', requiredValue: 'b', message: 'c' },
    { claim: 'a' },
    { claim: 'a', expression: 'true' },
    {},
    { expression: 'true', requiredValue: 'b' },
    { expression: 'true' },
    { expression: '1' },
  ]
  assert.deepEqual(wrongJwt({ claimValidationRules }), [
    'jwt[0].claimValidationRules[0].message: Invalid value: "c": may not be specified when claim is set',
    'jwt[0].claimValidationRules[1].claim: Duplicate value: "a"',
    'jwt[0].claimValidationRules[2]: Invalid value: "a": claim and expression can\'t both be set',
    'jwt[0].claimValidationRules[3]: Required value: claim or expression is required',
    'jwt[0].claimValidationRules[4].requiredValue: Invalid value: "b": may not be specified when expression is set',
    'jwt[0].claimValidationRules[5].expression: Duplicate value: "true"',
    'jwt[0].claimValidationRules[6].expression: Invalid value: "1": must evaluate to bool',
  ])
  assert.deepEqual(wrongJwt({ userValidationRules: [{ expression: 'true' }, { expression: 'true' }, {}] }), [
    'jwt[0].userValidationRules[1].expression: Duplicate value: "true"',
    'jwt[0].userValidationRules[2].expression: Required value',
  ])
})

test('extra values have names of a domain, and each name one', () => {
  const extra = (...keys: string[]) => wrongMapping({ extra: keys.map(key => ({ key, valueExpression: 'claims.a' })) })
  assert.deepEqual(extra('a.b/c', 'a.b/d'), [])
  assert.deepEqual(extra('', 'a', 'a.b/c', 'a.b/c', 'A.b/c', 'x.k8s.io/a'), [
    'jwt[0].claimMappings.extra[0].key: Required value',
    'jwt[0].claimMappings.extra[1].key: Invalid value: "a": must be a domain-prefixed path (such as "acme.io/foo")',
    'jwt[0].claimMappings.extra[3].key: Duplicate value: "a.b/c"',
    "jwt[0].claimMappings.extra[4].key: Invalid value: \"A.b\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    'jwt[0].claimMappings.extra[4].key: Invalid value: "A.b/c": must be lowercase',
    'jwt[0].claimMappings.extra[5].key: Invalid value: "x.k8s.io/a": k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use',
  ])
})

test('an e-mail address is a name only where it is looked at whether it was verified', () => {
  const named = (expression: string, more: object = {}) =>
    wrongJwt({ claimMappings: { username: { expression } }, ...more }).map(error => error.replace(/: Invalid value.*/, ''))
  const field = ['jwt[0].claimMappings.username.expression']
  assert.deepEqual(named('claims.email'), field)
  assert.deepEqual(named('claims.?email.orValue("a")'), field)
  assert.deepEqual(named('"claims.email"'), [])
  assert.deepEqual(named('claims.emails'), [])
  assert.deepEqual(named('claims.email + "claims.email_verified"'), field)
  assert.deepEqual(named('claims.email_verified ? claims.email : "a"'), [])
  assert.deepEqual(named('claims.email', { claimValidationRules: [{ expression: 'claims.?email_verified.orValue(false) == true' }] }), [])
})
