import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { FlowSchema } from './flowschema.ts'
import { PriorityLevelConfiguration as Level } from './prioritylevelconfiguration.ts'

const all = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }
const byGroup = (name: string) => ({ kind: 'Group', group: { name } })
const rule = { subjects: [byGroup('staff')], resourceRules: [all] }
const schema = (more: object = {}) => ({ spec: { priorityLevelConfiguration: { name: 'global' }, rules: [rule], ...more } })
const withRule = (more: object) => schema({ rules: [{ ...rule, ...more }] })

test('a schema has a matching precedence and names a priority level', () => {
  assert.equal(withDefaults(FlowSchema, schema()).spec.matchingPrecedence, 1000)
  assert.deepEqual(check(FlowSchema, schema()), [])
  assert.deepEqual(check(FlowSchema, schema({ matchingPrecedence: 1 })), [
    "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
  ])
  assert.deepEqual(check(FlowSchema, { spec: { matchingPrecedence: 10_001, distinguisherMethod: { type: 'ByName' } } }), [
    'spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000',
    'spec.distinguisherMethod.type: Unsupported value: {"Type":"ByName"}: supported values: "ByNamespace", "ByUser"',
    'spec.priorityLevelConfiguration.name: Required value: must reference a priority level',
  ])
})

test('rules have subjects and resources', () => {
  assert.deepEqual(check(FlowSchema, schema({ rules: [{}] })), [
    'spec.rules[0].subjects: Required value: subjects must contain at least one value',
    'spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty',
  ])
  assert.deepEqual(check(FlowSchema, withRule({ subjects: [{ kind: 'User', group: { name: 'g' } }, { kind: 'Robot' }] })), [
    "spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'",
    "spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
    'spec.rules[0].subjects[1].kind: Unsupported value: "Robot": supported values: "Group", "ServiceAccount", "User"',
  ])
  assert.deepEqual(check(FlowSchema, withRule({ subjects: [{ kind: 'ServiceAccount', serviceAccount: { name: '*' } }] })), [
    'spec.rules[0].subjects[0].serviceAccount.namespace: Required value: must specify namespace for service account',
  ])
})

test('a wildcard is the only item of its list', () => {
  const two = ['*', 'a']
  assert.deepEqual(check(FlowSchema, withRule({ resourceRules: [{ verbs: two, apiGroups: two, resources: two, namespaces: two }] })), [
    `spec.rules[0].resourceRules[0].verbs: Invalid value: ["*","a"]: if '*' is present, must not specify other verbs`,
    `spec.rules[0].resourceRules[0].apiGroups: Invalid value: ["*","a"]: if '*' is present, must not specify other api groups`,
    `spec.rules[0].resourceRules[0].resources: Invalid value: ["*","a"]: if '*' is present, must not specify other resources`,
    `spec.rules[0].resourceRules[0].namespaces: Invalid value: ["*","a"]: if '*' is present, must not specify other namespaces`,
  ])
})

test('paths are absolute, with a wildcard only at the end', () => {
  const paths = (...nonResourceURLs: string[]) => check(FlowSchema, withRule({ nonResourceRules: [{ verbs: ['get'], nonResourceURLs }] }))
  assert.deepEqual(paths('/', '/healthz', '/healthz/*'), [])
  assert.deepEqual(
    paths('', 'healthz', '/a b', '//', '/a*', '/*/a').map(e => e.split(': ').at(-1)),
    [
      'must not be empty',
      'must start with slash',
      'must not contain white-space',
      'must not contain double slash',
      'wildcard can only do suffix matching',
      'wildcard can only do suffix matching',
    ],
  )
})

test('the first and the last schema are what they are', () => {
  const everything = { resourceRules: [all], nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }] }
  const exempt = (subject: string) => ({
    metadata: { name: 'exempt' },
    spec: {
      priorityLevelConfiguration: { name: 'exempt' },
      matchingPrecedence: 1,
      rules: [{ subjects: [byGroup(subject)], ...everything }],
    },
  })
  assert.deepEqual(check(FlowSchema, exempt('system:masters')), [])
  const [error] = check(FlowSchema, exempt('staff'))
  assert.match(error!, /^spec: Invalid value: \{"PriorityLevelConfiguration":\{"Name":"exempt"\},"MatchingPrecedence":1,/)
  assert.match(error!, /spec of 'exempt' must equal the fixed value$/)
})

const level = (spec: object, name = 'mine') => ({ metadata: { name }, spec })
const queue = (queuing: object) => level({ type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing } } })

test('a level has shares and queues unless it says otherwise', () => {
  const { spec } = withDefaults(Level, queue({}))
  assert.deepEqual(spec.limited, {
    nominalConcurrencyShares: 30,
    limitResponse: { type: 'Queue', queuing: { queues: 64, handSize: 8, queueLengthLimit: 50 } },
    lendablePercent: 0,
  })
  assert.deepEqual(check(Level, queue({})), [])
  assert.equal(
    withDefaults(Level, level({ type: 'Limited', limited: { nominalConcurrencyShares: 0 } })).spec.limited.nominalConcurrencyShares,
    0,
  )
})

test('each type requires its own field', () => {
  assert.deepEqual(check(Level, level({})), ['spec.type: Required value'])
  assert.deepEqual(check(Level, level({ type: 'Limited', exempt: {} })), ['spec.exempt: Forbidden', 'spec.limited: Required value'])
  assert.deepEqual(check(Level, level({ type: 'Exempt' })), [
    "spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'",
  ])
  assert.deepEqual(check(Level, level({ type: 'Limited', limited: { limitResponse: { type: 'Queue' } } })), [
    'spec.limited.limitResponse.queuing: Required value',
  ])
  assert.deepEqual(check(Level, level({ type: 'Limited', limited: { limitResponse: { type: 'Reject', queuing: {} } } })), [
    'spec.limited.limitResponse.queuing: Forbidden',
  ])
  assert.deepEqual(check(Level, level({ type: 'Limited', limited: { lendablePercent: 101, borrowingLimitPercent: -1 } })), [
    'spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive',
    'spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer',
    'spec.limited.limitResponse.type: Required value',
  ])
})

test('hands are dealt fairly', () => {
  assert.deepEqual(check(Level, queue({ queues: 4 })), [
    'spec.limited.limitResponse.queuing.handSize: Invalid value: 8: should not be greater than queues (4)',
  ])
  assert.deepEqual(check(Level, queue({ queues: 1024 })), [
    'spec.limited.limitResponse.queuing.handSize: Invalid value: 8: required entropy bits of deckSize 1024 and handSize 8 should not be greater than 60',
  ])
  assert.deepEqual(check(Level, queue({ queues: -1, handSize: -1, queueLengthLimit: -1 })).length, 3)
})

test('the levels of the first and last schema are what they are', () => {
  assert.deepEqual(check(Level, level({ type: 'Exempt', exempt: { lendablePercent: 50 } }, 'exempt')), [])
  const limited = { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' } }
  assert.deepEqual(check(Level, level({ type: 'Limited', limited }, 'catch-all')), [])
  assert.match(
    check(Level, level({ type: 'Limited', limited: { ...limited, nominalConcurrencyShares: 6 } }, 'catch-all'))[0]!,
    /spec of 'catch-all' must equal the fixed value$/,
  )
})

test('conditions are about something, each about something else', () => {
  assert.deepEqual(
    checkSubresource(FlowSchema, 'status', { ...schema(), status: { conditions: [{ type: 'A' }, { type: 'A' }, {}] } }, schema()),
    ['status.conditions[1].type: Duplicate value: "A"', 'status.conditions[2].type: Required value'],
  )
})

test('their tables show levels and queues', () => {
  const { Age: _, ...shown } = cells(FlowSchema, schema())
  assert.deepEqual(shown, { PriorityLevel: 'global', MatchingPrecedence: 1000, DistinguisherMethod: '<none>', MissingPL: '?' })
  assert.equal(cells(Level, queue({}))['HandSize'], 8)
  assert.equal(cells(Level, level({ type: 'Exempt' }))['Queues'], '<none>')
})
